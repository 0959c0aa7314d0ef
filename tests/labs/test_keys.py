"""*Keys*: the key with the question mark is one that no query finds, in whatever direction it points."""

import math

import numpy as np
import torch

from labs.keys.plane import key_plane


def test_no_query_finds_the_key_with_the_question_mark():
    angles = torch.arange(8) * math.pi / 4 + 0.1
    keys = torch.stack([3 * angles.cos(), 2 * angles.sin()], dim=1)  # (8, 2)
    axes = key_plane(keys, keys, list("ABCDEFGH"), inside=True).axes[0]
    *_, of_names, marked = axes.collections
    np.testing.assert_allclose(of_names.get_offsets(), keys, atol=1e-6)
    (key,) = marked.get_offsets()
    for degree in range(360):
        query = np.array([math.cos(math.radians(degree)), math.sin(math.radians(degree))])
        assert query @ key < (keys.numpy() @ query).max()
    assert "?" in [text.get_text() for text in axes.texts]
