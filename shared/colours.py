"""The course's colors: one for each role that a matrix plays, each for light and for dark pages.

Figures, formulas, tables, the interactive walk and the site's style sheet all read this one table.
"""

# role: (on a light page, on a dark page). The hues are those of Okabe and Ito (Color Universal
# Design, 2008), darkened or lightened until text in them reads at 4.5:1 on the page, and chosen so
# that no two collapse for a reader without red or green cones; test_colours.py measures both.
ROLES: dict[str, tuple[str, str]] = {
    "input": ("#4d5156", "#d9dbde"),
    "query": ("#0250d5", "#4e9bff"),
    "key": ("#c04a00", "#e08a35"),
    "value": ("#128257", "#1fe39a"),
    "score": ("#c22599", "#f263bd"),
    "weight": ("#4f3d00", "#f5d90a"),
    "output": ("#01385a", "#8fd3ff"),
}

# What is not a role: text, quieter text, lines between cells, the surface below a picture.
NEUTRALS: dict[str, tuple[str, str]] = {
    "ink": ("#1b1f24", "#eceff3"),
    "muted": ("#5a626c", "#a9b2bd"),
    "grid": ("#c3c9d0", "#474e58"),
    "paper": ("#ffffff", "#14181e"),
}

# lowest shade beside the highest: the darkest cell is never the least attended
LIGHTER = 0.4


def css_colour(name: str) -> str:
    """The CSS value of a role or a neutral color, `var(--role-query, #0250d5)`.

    Where a page brings `role_css()` the picture follows its theme. Where nothing does (JupyterLab,
    Colab, a saved file) every color falls back to its light form, the paper included: a legible
    light card on any theme.
    """
    table = ROLES | NEUTRALS
    if name not in table:
        raise ValueError(f"{name!r} is no colour of the course; choose one of {', '.join(table)}")
    return f"var(--role-{name}, {table[name][0]})"


def role_css() -> str:
    """The style sheet that sets `--role-query` and its sisters, for light and for dark pages."""
    lines = [
        f"  --role-{name}: light-dark({light}, {dark});"
        for name, (light, dark) in (ROLES | NEUTRALS).items()
    ]
    return "\n".join([":root {", "  color-scheme: light dark;", *lines, "}", ""])


def below_zero(role: str) -> str:
    """The role whose color, lightened, shades negative numbers: a sign shows as a second hue."""
    return "query" if role in ("key", "weight") else "key"
