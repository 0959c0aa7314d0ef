"""The role colors keep their promises to readers who see fewer colors, and to the page below them."""

from itertools import combinations

import numpy as np
import pytest

from shared.colours import NEUTRALS, ROLES

PAGES = ("#ffffff", "#14181e")  # the site's page, light and dark

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHT = {
    "all cones": np.eye(3),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
}  # fmt: skip
RGB_TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip


def linear(colour: str) -> np.ndarray:
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def cielab(rgb: np.ndarray) -> np.ndarray:
    xyz = RGB_TO_XYZ @ rgb / (RGB_TO_XYZ @ np.ones(3))
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a: str, b: str) -> float:
    low, high = sorted(float(RGB_TO_XYZ[1] @ linear(c)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def mixed(over: str, under: str, share: float) -> str:
    """A color laid over another with this share."""
    top, below = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in (over, under))
    return "#" + "".join(f"{c:02x}" for c in np.round(share * top + (1 - share) * below).astype(int))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_roles_stay_apart(theme, sight):
    for a, b in combinations(ROLES, 2):
        seen = [cielab(np.clip(SIGHT[sight] @ linear(ROLES[r][theme]), 0, 1)) for r in (a, b)]
        distance = np.linalg.norm(seen[0] - seen[1])
        assert distance >= 15, f"{a} and {b} look alike with {sight}: distance {distance:.1f}"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_in_every_colour_reads_on_the_page(theme):
    for name, pair in (ROLES | NEUTRALS).items():
        if name in ("paper", "grid"):  # a surface and a hairline carry no text
            continue
        assert contrast(pair[theme], PAGES[theme]) >= 4.5, f"{name} is too faint on {PAGES[theme]}"
