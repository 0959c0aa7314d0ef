"""Two heads that together copy what followed: as a drawing, as weights on the shown pairs, and as circuits."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.figures import STYLE, Plot, Tiles, svg
from shared.figures.chart import INK
from shared.figures.charts import colour_map
from shared.figures.drawings import Box, Drawing, arrow, diagram
from shared.figures.svg import MUTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def induction_schematic() -> Drawing:
    """The game of pairs with the two heads that answer it, from top to bottom."""
    boxes = {
        "c": Box(120, 20, "c"),
        "B": Box(192, 20, "B"),
        "...": Box(237, 20, "..."),
        "c again": Box(282, 20, "c"),
        "first": Box(91, 92, "previous-token head", "score"),
        "note": Box(180, 158, "B, note: after c", "value"),
        "second": Box(219, 230, "induction head", "score"),
        "answer": Box(224, 296, "prediction: B", "output"),
    }
    down = [("c", "first"), ("first", "note"), ("B", "note"), ("note", "second"), ("c again", "second")]
    down += [("second", "answer")]
    lines = []
    for above, below in down:
        x = boxes[{"first": "c", "note": "B", "second": "c again"}.get(above, above)].x
        lines.append(arrow([(x, boxes[above].y + 15), (x, boxes[below].y - 15)]))
    notes = [
        svg.text(-2, 68, "layer 1", 12, anchor="start", colour=MUTED),
        svg.text(-2, 124, "one position", 12, anchor="start", colour=MUTED),
        svg.text(-2, 138, "back", 12, anchor="start", colour=MUTED),
        svg.text(142, 226, "layer 2", 12, anchor="end", colour=MUTED),
        svg.text(142, 242, "what came after c?", 12, anchor="end", colour=MUTED),
    ]
    alt = (
        "The letters c B, some more, and c once more. In layer 1 a previous-token head at B attends one "
        "position back, to c, so that B carries the note: after c. In layer 2 an induction head at the last c "
        "looks for what came after c, finds B with its note, and predicts B."
    )
    return diagram(boxes, [], alt, more="".join([*lines, *notes]))
