"""What truncation does to concatenated reviews."""

import numpy as np

from shared.data import Examples


def truncation_losses(examples: Examples, window: int = 256) -> dict[str, float]:
    """What happens to labelled reviews when the concatenated texts are truncated to `window` tokens, as fractions.

    Give it examples of whole reviews (`encode(..., max_tokens=None)`) with the distractor first.
    """
    labelled, distractor = examples.part_lengths
    left = np.clip(window - distractor, 0, labelled)  # (examples,) tokens of the labelled review that remain
    return {
        "lost": float(np.mean(left == 0)),
        "truncated": float(np.mean((left > 0) & (left < labelled))),
        "intact": float(np.mean(left == labelled)),
    }
