"""Figures have room for their labels in any font that a reader is likely to have."""

import pytest
from fontTools.ttLib import TTFont
from site_in_browser import FONTS, font_files

from shared.figures import svg


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("fonts", FONTS)
def test_no_character_is_wider_than_a_figure_takes_it_to_be(fonts, bold):
    sans = FONTS[fonts][1][1].replace(" ", "")
    wanted = (f"{sans}-Bold",) if bold else (sans, f"{sans}-Regular")
    files = [path for path in font_files(fonts) if path.stem in wanted]
    if not files:
        pytest.skip(f"{fonts} is not installed here")
    font = TTFont(files[0])
    advance, names, em = font["hmtx"], font.getBestCmap(), font["head"].unitsPerEm
    letters = [c for c in map(chr, range(0x20, 0x100)) if c.isprintable() and ord(c) in names]
    signs = [c for c in svg.WIDTHS[bold] if ord(c) in names]
    wider = [c for c in {*letters, *signs} if advance[names[ord(c)]][0] / em > svg.width(c, 1, bold) + 0.001]
    assert wider == []
