"""The pre-norm block."""

from shared.figures import svg
from shared.figures.drawings import Drawing, stack


def block_schematic() -> Drawing:
    """The pre-norm Transformer block, with the residual stream down its left side."""
    boxes = [
        ("x", "input"), ("layer norm", "input"), ("self-attention", "score"), ("+", "output"),
        ("layer norm", "input"),
        ("feed-forward", "value"), ("+", "output"), ("x for the next block", "input"),
    ]  # fmt: skip
    alt = (
        "The block from top to bottom: x, layer norm, self-attention, sum with x; then layer norm, "
        "feed-forward, sum "
        "with the first sum; the result is x for the next block. Two lines lead past the parts, "
        "one from x to the "
        "first sum and one from there to the second: the residual stream."
    )
    stream = "".join(
        svg.text(52, middle, "residual stream", 12, turn=-90, colour=svg.MUTED)
        for middle in (122, 302)  # of both lines
    )
    return stack(boxes, [(0, 3), (3, 6)], 60, alt, stream)
