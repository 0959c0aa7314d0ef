"""Writes what benchmarks/results.json holds as a section of the page of costs: tables, and growth as a figure."""

import html
import math

COLOURS = {"query": "#0250d5", "value": "#128257", "ink": "#1b1f24", "grid": "#c3c9d0"}
WIDTH, HEIGHT, LEFT, BOTTOM = 360, 210, 52, 40  # of one panel, in pixels


def section(found: dict | None) -> str:
    """The section, in Markdown; parts that nobody has measured are said to be not measured."""
    found = found or {}
    return "\n\n".join(
        [
            "## Against a textbook pipeline",
            "How many times better the course's pipeline is than `benchmarks/textbook.py`, which joins texts, makes "
            "four substitutions, keeps lists of ids padded to 256, shuffles them into batches of 1,024 and masks "
            "nothing. Both ran in turns, each in a process of its own; the ratio is taken round by round. Given are "
            "the median and, in brackets, the smallest and the largest.",
            *_part(found.get("text"), _ratios, "From text to batches", "25,000 reviews, alone and with a distractor."),
            *_part(found.get("training"), _ratios, "Training self-attention", "Two cores, float32, Adam."),
            *_part(found.get("accuracy"), _accuracies, "What it learns", "Test reviews, the same epochs for all."),
            *_part(found.get("growth"), _growth, "As the work grows", "Made reviews with the lengths of Yelp's."),
            *_part(found.get("epoch"), _epoch, "The size of Yelp", "One epoch of self-attention with one thread."),
        ]
    )


def _part(part: dict | None, body, title: str, what: str) -> list[str]:
    if not part:
        return [f"### {title}", "Not measured yet."]
    where = (
        f"*Measured on {part['date']}, commit {part['commit']}: {part['machine']}, Python {part['python']}, "
        f"PyTorch {part['torch']}, NumPy {part['numpy']}, Arrow {part['pyarrow']}; load before: {part['load_before']}.*"
    )
    return [f"### {title}", what, body(part["each"]), where]


def _table(heads: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(heads) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, rule, *rows])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _spread(values: list[float]) -> str:
    middle, low, high = map(_number, values)
    return f"{middle} ({low} to {high})"


def _ratios(lines: list[dict]) -> str:
    rows = []
    for line in lines:
        target = ""
        if line["target"]:
            target = f"{line['target']}, " + ("kept" if line["times_better"][0] >= line["target"] else "**not kept**")
        name = f"{line['figure']} ({line['unit']})"
        rows.append([name, *(_spread(line[key]) for key in ("textbook", "ours", "times_better")), target])
    return _table(["What", "Textbook", "Course", "Times better", "At least"], rows)


def _accuracies(lines: list[dict]) -> str:
    rows = [
        [line["model"], *("{:.3f} ({:.3f} to {:.3f})".format(*line[kind]) for kind in ("plain", "distracted"))]
        for line in lines
    ]
    return _table(["Pipeline", "Plain", "Distracted"], rows)


def _growth(lines: list[dict]) -> str:
    heads = {
        "examples": "Examples",
        "prepared_seconds": "Seconds to prepare",
        "opened_seconds": "Seconds to open again",
        "examples_a_second": "Trained a second",
        "prepared_peak_megabytes": "MB, preparing",
        "training_peak_megabytes": "MB, training",
    }
    rows = [[f"{line[key]:,}" for key in heads] for line in lines]
    return _table(list(heads.values()), rows) + "\n\n" + growth_figure(lines)


def _epoch(lines: list[dict]) -> str:
    line = lines[0]
    return (
        f"{line['examples']:,.0f} examples: prepared in {line['prepared_seconds']:.0f} seconds, trained in "
        f"{line['seconds'] / 60:.1f} minutes, {line['peak']:,.0f} MB of resident memory at the peak (the limit is "
        f"3,000). Accuracy on made reviews that it had not seen: {line['accuracy']:.3f}."
    )


def growth_figure(lines: list[dict]) -> str:
    """Two panels, examples a second and resident memory against the number of examples, as SVG in HTML."""
    sizes = [line["examples"] for line in lines]
    speed = [("query", "trained a second", [line["examples_a_second"] for line in lines])]
    room = [
        ("query", "MB, training", [line["training_peak_megabytes"] for line in lines]),
        ("value", "MB, preparing", [line["prepared_peak_megabytes"] for line in lines]),
    ]
    told = "; ".join(
        f"{size:,} examples: {line['examples_a_second']:,} a second, {line['training_peak_megabytes']:,} MB training, "
        f"{line['prepared_peak_megabytes']:,} MB preparing"
        for size, line in zip(sizes, lines, strict=True)
    )
    panels = [_panel(sizes, curves) for curves in (speed, room)]
    return (
        f'<div role="img" aria-label="{html.escape("Cost against the number of examples. " + told)}" '
        f'style="display:flex;flex-wrap:wrap;gap:1rem">{"".join(panels)}</div>'
    )


def _colour(name: str) -> str:
    return f"var(--role-{name}, {COLOURS[name]})"


def _panel(sizes: list[int], curves: list[tuple[str, str, list[float]]]) -> str:
    """One panel: the number of examples on a logarithmic axis, values from 0 on an even one."""
    top = _round_up(max(max(values) for _, _, values in curves))
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])

    def x(size: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 24) * (math.log10(size) - low) / (high - low or 1), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 30) * value / top, 1)

    parts = []
    for tick in (0, top / 2, top):
        parts.append(f'<path d="M{LEFT} {y(tick)}H{WIDTH - 12}" stroke="{_colour("grid")}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4}" text-anchor="end">{tick:,.0f}</text>')
    for size in sizes:
        name = f"{size / 1e6:.2f}M" if size >= 1e6 else f"{size / 1e3:.0f}k"
        parts.append(f'<text x="{x(size)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{name}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 6}" text-anchor="middle">examples</text>')
    for at, (role, name, values) in enumerate(curves):
        dash = ' stroke-dasharray="5 4"' if at else ""
        points = " ".join(f"{x(size)},{y(value)}" for size, value in zip(sizes, values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_colour(role)}" stroke-width="2"{dash}/>')
        for size, value in zip(sizes, values, strict=True):
            parts.append(f'<circle cx="{x(size)}" cy="{y(value)}" r="3" fill="{_colour(role)}"/>')
        begin = LEFT + 150 * at
        parts.append(f'<path d="M{begin} 12h18" stroke="{_colour(role)}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{begin + 24}" y="16">{name}</text>')
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%;height:auto" aria-hidden="true" '
        f'font-size="12" fill="{_colour("ink")}">{"".join(parts)}</svg>'
    )


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 5, 10, 20, ... so that half of it reads well too."""
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value)
