"""The sentence that a reader types, as words."""


def words_of(sentence: str, followed: int) -> list[str]:
    """The words of a sentence. Raises ValueError if there is none, or none with the index `followed`."""
    words = sentence.split()
    if not words:
        raise ValueError("The sentence is empty: give at least one word.")
    if followed not in range(len(words)):
        raise ValueError(f"followed is {followed!r}; choose the index of a word, 0 to {len(words) - 1}.")
    return words
