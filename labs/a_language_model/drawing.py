"""Who may attend to whom in a language model, and what each position predicts."""

from shared.colours import css_colour
from shared.figures import svg
from shared.figures.drawings import SIZE, Drawing, arrow, drawing
from shared.figures.svg import GRID, MUTED, PAPER


def shift_and_causal_mask() -> Drawing:
    """Each position's input, the positions that it may attend to, and the word that it has to
    predict: the next one.
    """
    inputs, targets = ["this", "film", "is", "very"], ["film", "is", "very", "good"]
    left, top, cell = 60, 44, 36
    right = left + cell * len(inputs)
    lines = [
        svg.text(left + cell * len(inputs) / 2, 16, "attends to", 12, colour=MUTED),
        svg.text(left - 8, top - 8, "input", 12, anchor="end", colour=MUTED),
        svg.text(right + 30, top - 8, "target", 12, anchor="start", colour=MUTED),
    ]
    for column, word in enumerate(inputs):
        lines.append(svg.text(left + cell * (column + 0.5), top - 8, word, 12))
    for row, (word, target) in enumerate(zip(inputs, targets, strict=True)):
        y, middle = top + cell * row, top + cell * (row + 0.5)
        lines.append(svg.text(left - 8, middle + 5, word, SIZE, anchor="end"))
        for column in range(len(inputs)):
            allowed = column <= row
            look = svg.fill("weight", 0.6) if allowed else f'fill="{PAPER}" stroke-dasharray="3 3"'
            edge = css_colour("weight") if allowed else GRID
            lines.append(
                svg.box(
                    left + cell * column + 2,
                    y + 2,
                    cell - 4,
                    cell - 4,
                    f'rx="4" stroke="{edge}" {look}',
                )
            )
        lines.append(arrow([(right + 4, middle), (right + 26, middle)]))
        lines.append(svg.text(right + 30, middle + 5, target, SIZE, anchor="start", bold=True))
    alt = (
        "A square table for the text “this film is very good”. Rows and columns are the inputs, "
        "this, film, is, very. "
        "In each row the cells up to its own column are filled: the position may attend to itself "
        "and to earlier ones. "
        "The cells to the right are empty: they are masked. An arrow leads from each row to its "
        "target, the next word: "
        "film, is, very, good."
    )
    return drawing(296, top + cell * len(inputs) + 6, lines, alt)
