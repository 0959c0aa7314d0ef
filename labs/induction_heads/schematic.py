"""Two heads that together copy what followed."""

from shared.figures.drawings import Box, Drawing, arrow, diagram


def induction_schematic(heads: bool = True) -> Drawing:
    """The game of pairs: the letters alone with the question, or with the two heads that answer
    it.
    """
    columns = {"k": 18, "R": 66, "c": 114, "B": 162, "...": 212, "c again": 266}
    boxes = {name: Box(x, 20, name.removesuffix(" again")) for name, x in columns.items()}
    if not heads:
        boxes["answer"] = Box(266, 80, "?", "output")
        alt = "The letters k R c B, some more, and c once more; below the last c a question mark: what comes next?"
        return diagram(boxes, [("c again", "answer")], alt)
    boxes |= {
        "first": Box(130, 90, "layer 1: one position back", "score"),
        "written": Box(162, 160, "B, after c", "value"),
        "second": Box(178, 230, "layer 2: what came after c?", "score"),
        "answer": Box(266, 300, "B", "output"),
    }
    arrows = [
        ("c", "first"),
        ("B", "first"),
        ("first", "written"),
        ("written", "second"),
        ("second", "answer"),
    ]
    down = arrow([(270, 35), (270, 215)])
    alt = (
        "The letters k R c B, some more, and c once more. In layer 1 a head at B attends one "
        "position back, to c, so "
        "that B carries the note: after c. In layer 2 a head at the last c attends to the token "
        "that came after c, "
        "which is B, and the answer is B."
    )
    return diagram(boxes, arrows, alt, more=down)
