"""Draws the welcome page's picture, `book/_static/course.svg`: one sentence on its way through self-attention.

The shades are the numbers of lab 5 (weights from seed 123), so the picture cannot say what the course does not.
Run it with `python -m tools.site_picture`; tests/browser/test_site.py checks that the file is what this script draws.
"""

from pathlib import Path

import torch

from shared.figures.colours import css_colour

PICTURE = Path(__file__).resolve().parents[1] / "book" / "_static" / "course.svg"
WORDS = ["Your", "journey", "starts", "with", "one", "step"]
FEATURES = [
    [0.43, 0.15, 0.89],
    [0.55, 0.87, 0.66],
    [0.57, 0.85, 0.64],
    [0.22, 0.58, 0.33],
    [0.77, 0.25, 0.10],
    [0.05, 0.80, 0.55],
]
FOLLOWED = 1  # the word whose row is framed: "journey"
CELL = 15


def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "ink", weight: int = 400) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{css_colour(colour)}" font-size="14"'
        f' font-weight="{weight}">{words}</text>'
    )


def matrix(name: str, role: str, values: torch.Tensor, x: float, y: float, rows: bool = False) -> list[str]:
    """The cells of a matrix, darker where its numbers are larger, with its name above and one row framed."""
    height, width = values.shape
    shades = 0.12 + 0.88 * (values - values.min()) / (values.max() - values.min())
    parts = [text(x + width * CELL / 2, y - 10, name, colour=role, weight=600)]
    for row in range(height):
        for column in range(width):
            parts.append(
                f'<rect x="{x + column * CELL:g}" y="{y + row * CELL:g}" width="{CELL}" height="{CELL}"'
                f' fill="{css_colour(role)}" fill-opacity="{shades[row, column]:.2f}"'
                f' stroke="{css_colour("paper")}"/>'
            )
        if rows:
            bold = 600 if row == FOLLOWED else 400
            colour = "ink" if row == FOLLOWED else "muted"
            parts.append(text(x - 8, y + row * CELL + 12, WORDS[row], "end", colour, bold))
    parts.append(
        f'<rect x="{x - 1:g}" y="{y + FOLLOWED * CELL - 1:g}" width="{width * CELL + 2}" height="{CELL + 2}"'
        f' fill="none" stroke="{css_colour("ink")}" stroke-width="2"/>'
    )
    return parts


def arrow(path: str, role: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{css_colour(role)}" stroke-width="2" marker-end="url(#tip-{role})"/>'


def tip(role: str) -> str:
    return (
        f'<marker id="tip-{role}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{css_colour(role)}"/></marker>'
    )


def picture() -> str:
    torch.manual_seed(123)
    features = torch.tensor(FEATURES)  # (tokens, d_in)
    queries, keys, values = (features @ torch.rand(3, 2) for _ in range(3))  # (tokens, d_out) each
    scores = queries @ keys.T  # (tokens, tokens)
    weights = torch.softmax(scores / keys.shape[1] ** 0.5, dim=-1)  # (tokens, tokens)
    outputs = weights @ values  # (tokens, d_out)

    parts = [f"<defs>{''.join(tip(role) for role in ('features', 'query', 'key', 'value', 'score', 'weight'))}</defs>"]
    parts += matrix("features", "features", features, 86, 36, rows=True)
    parts += matrix("queries", "query", queries, 214, 36)
    parts += matrix("keys", "key", keys, 294, 36)
    parts += matrix("values", "value", values, 374, 36)
    parts += matrix("scores", "score", scores, 150, 220, rows=True)
    parts += matrix("weights", "weight", weights, 320, 220)
    parts += matrix("outputs", "output", outputs, 350, 400, rows=True)
    parts += [arrow("M138 81H204", "features"), text(171, 72, "learned"), text(171, 100, "maps")]
    parts += [arrow("M229 132C229 168 187 162 187 194", "query"), arrow("M309 132C309 176 203 158 203 194", "key")]
    parts += [arrow("M246 265H312", "score"), text(279, 256, "softmax"), text(279, 284, "of rows")]
    parts += [arrow("M365 316V374", "weight")]
    parts += [arrow("M410 81H420Q432 81 432 93V433Q432 445 420 445H388", "value")]
    described = (
        "Six words, Your journey starts with one step, as a matrix of features. Learned maps make of it queries, keys "
        "and values. Queries meet keys in a six by six matrix of scores; a softmax of each row makes them weights; the "
        "weights mix the values into outputs, one for each word. The row of the word journey is framed all the way."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440 500" role="img" aria-label="{described}">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
