"""Earlier runs of the models on reviews, with one change each."""

import numpy as np

from shared.stored_runs import TABLE, read


def earlier_ablations() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Earlier runs of the first task with one change each, and the same model without it: (seeds,) and (seeds,)."""
    rows: dict[tuple[str, str], list[float]] = {}
    for run in read(TABLE)["earlier"]["results"]:
        rows.setdefault((run["model"], run["variant"]), []).append(run["distracted"])
    found = {}
    for (name, variant), values in rows.items():
        if variant != "as taught" and not variant.startswith("all reviews") and (name, "as taught") in rows:
            found[f"{name}: {variant}"] = np.array(values), np.array(rows[name, "as taught"])
    return found
