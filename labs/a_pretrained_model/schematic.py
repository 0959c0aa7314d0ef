"""BERT's block."""

from shared.figures import svg
from shared.figures.drawings import Drawing, stack


def post_norm_schematic() -> Drawing:
    """The post-norm block of BERT: each part's output is added to its input, and the sum is
    normalized.
    """
    boxes = [
        ("x", "input"), ("multi-head attention", "score"), ("+", "output"), ("layer norm", "input"),
        ("feed-forward", "value"), ("+", "output"), ("layer norm", "input"),
        ("x for the next layer", "input"),
    ]  # fmt: skip
    alt = (
        "The post-norm block from top to bottom: x, multi-head attention, sum with x, layer norm; "
        "then feed-forward, "
        "sum with what went into it, layer norm; the result is x for the next layer. Both norms "
        "come after a sum, so "
        "no line leads past them."
    )
    title = svg.text(0, -8, "Post-norm: norms after the sums", 12, anchor="start", bold=True)
    return stack(boxes, [(0, 2), (3, 5)], 40, alt, more=title)
