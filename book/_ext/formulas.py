"""Formulas become MathML when the book is built: no script, no other host, and the colors of the course's roles.

It also stops the build (warnings are errors) where a formula would show as an error.
"""

import re
from pathlib import Path

from built import after_pages
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.nodes import get_node_source

from shared.colours import ROLES, role_css

logger = logging.getLogger(__name__)
# A formula names a role's light color, `\textcolor{#0250d5}{Q}`: every reader of LaTeX knows that. On the site the
# color becomes a class, so that it follows the theme.
ROLE_OF_COLOUR = {light.lower(): role for role, (light, _) in ROLES.items()}
# In a lab these letters have no other meaning, so they get their color without a command: see book/notation.md.
ROLE_OF_LETTER = {"Q": "query", "K": "key", "V": "value", "S": "score", "A": "weight"}


def to_mathml(latex: str, display: bool, letters_have_roles: bool = False) -> str:
    """The MathML of a LaTeX formula; ValueError with a sentence where it cannot be drawn."""
    # TeX sets a function off from the letters beside it; the library does not.
    spaced = re.sub(r"(?<=[\w}])\s*(?=\\(?:exp|ln|log|sin|cos)\b)", r"\\,", latex)
    spaced = re.sub(r"(\\(?:exp|ln|log|sin|cos)\b)\s*(?=\w)", r"\1\\,", spaced)
    try:
        markup = convert(spaced, display="block" if display else "inline")
    except Exception as error:  # the library raises a class of its own for every kind of slip
        raise ValueError(f"the formula {latex!r} is not understood ({type(error).__name__}: {error})") from error
    # A minus behind a sign, as in W = -1, belongs to its number; a browser sees that only at the beginning of a row.
    behind_sign = r"(<mo[^>]*>(?!&#x000(?:21|29|7C|7D);|])[^<]*</mo>)<mo>(?=&#x02212;</mo>)"  # but for ! ) | } ]
    markup = re.sub(behind_sign, r'\1<mo form="prefix">', markup)
    unknown = re.search(r"<m[io]>(\\\w*|&)</m[io]>", markup)
    if unknown:
        raise ValueError(
            f"the formula {latex!r} holds {unknown[1]!r}, which the site cannot draw; "
            "use plain LaTeX, and `pmatrix` or `align*` for what needs columns"
        )

    def role_class(match: re.Match) -> str:
        role = ROLE_OF_COLOUR.get(match[1].lower())
        if role is None:
            known = ", ".join(f"{colour} ({role})" for colour, role in ROLE_OF_COLOUR.items())
            raise ValueError(f"the formula {latex!r} has the color {match[1]}, which is no role; use one of {known}")
        return f'class="role-{role}"'

    if letters_have_roles:
        for letter, role in ROLE_OF_LETTER.items():
            named = rf"<(?:msub(?:sup)?(?=><mi>W</mi><mi>{letter}<)|mi(?=>{letter}<))"
            markup = re.sub(named, rf'\g<0> class="role-{role}"', markup)
    return re.sub(r'mathcolor="([^"]*)"', role_class, markup)


def visit_math(self, node) -> None:
    display = isinstance(node, nodes.math_block)
    try:
        markup = to_mathml(node.astext(), display, letters_have_roles="/labs/" in (get_node_source(node) or ""))
    except ValueError as error:
        logger.warning(str(error), location=node)
        markup = f"<code>{self.encode(node.astext())}</code>"
    self.body.append(f'<div class="math">{markup}</div>' if display else markup)
    raise nodes.SkipNode


def write_colours(app: Sphinx, static: Path) -> None:
    sheet = role_css() + "".join(f".role-{role} {{ color: var(--role-{role}); }}\n" for role in ROLES)
    (static / "roles.css").write_text(sheet, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    after_pages(app, write_colours)
