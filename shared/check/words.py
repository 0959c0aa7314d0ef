"""The sentences of the checks, in English."""


def _(text: str) -> str:
    return text


def ngettext(one: str, many: str, count: int) -> str:
    """One of two texts by a number."""
    return one if count == 1 else many
