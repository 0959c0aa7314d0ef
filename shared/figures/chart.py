"""What every chart shares: type, colors, and how it becomes SVG for a page and PNG for a notebook
not yet run.

A chart is a value that says what is drawn; matplotlib draws it. On the site its letters are the
site's own and its colors follow the theme. JupyterLab shows no SVG of a notebook that is not
trusted, and takes the PNG.
"""

import base64
import io
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from shared.colours import NEUTRALS, ROLES, css_colour

from .svg import FONT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER, INK, MUTED, GRID = (NEUTRALS[name][0] for name in ("paper", "ink", "muted", "grid"))
WIDTH = 300  # pixels: what a phone has room for, so that letters of 11 pixels are nowhere smaller
# times its size where there is room: letters as large as those of the site's tables
ON_THE_PAGE = 1.2

# The look of all charts; a lab's own plot takes it on with `with plt.rc_context(figures.STYLE):`.
STYLE: dict[str, Any] = {
    "figure.dpi": 200,
    "figure.facecolor": PAPER,
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "font.size": 11.5,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    # letters stay letters: searched, read aloud, set in the font of the page
    "svg.fonttype": "none",
    "svg.hashsalt": "chart",  # the same names in every run
}


class Chart:
    """A value that shows itself; `figure` draws what its fields say, and `alt` says the same in
    words.
    """

    @property
    def attributes(self) -> str:
        """Of the SVG, for a script."""
        return ""

    @property
    def alt(self) -> str:
        raise NotImplementedError

    def figure(self) -> "Figure":
        raise NotImplementedError

    def drawn_in_style(self) -> "Figure":
        import matplotlib

        with matplotlib.rc_context(STYLE):
            return self.figure()

    def svg(self) -> str:
        return page_svg(self.drawn_in_style(), self.alt, self.attributes)

    def _repr_mimebundle_(self, **_) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
        from PIL import Image

        drawn, image, figure = io.BytesIO(), io.BytesIO(), self.drawn_in_style()
        figure.savefig(drawn, format="png", dpi=144 * ON_THE_PAGE)
        Image.open(drawn).quantize(64).save(image, "png", optimize=True)  # a fifth of the bytes
        png = base64.b64encode(image.getvalue()).decode()
        width, height = (round(72 * ON_THE_PAGE * inches) for inches in figure.get_size_inches())
        shown = {"image/svg+xml": self.svg(), "image/png": png, "text/plain": self.alt}
        return shown, {"image/png": {"width": width, "height": height}}

    def __repr__(self) -> str:
        return self.alt


@dataclass(frozen=True, repr=False)
class Plot(Chart):
    """A figure that a lab has drawn itself, with the words that say what it shows."""

    drawn: "Figure"
    words: str

    @property
    def alt(self) -> str:
        return self.words

    def figure(self) -> "Figure":
        return self.drawn


def new_axes(height: float) -> "tuple[Figure, Axes]":
    """A figure of this height in pixels, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 72, height / 72))
    return figure, figure.subplots()


def bare_axes(width: float, height: float, title: str = "") -> "tuple[Figure, Axes]":
    """A figure whose axes are not seen: a unit is a pixel, and y counts downwards. Its title is at
    the top left.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72))
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    if title:
        axes.text(2, 16, title, fontweight="bold")
    return figure, axes


def two_decimals(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 2):g}"


def page_svg(figure: "Figure", alt: str, attributes: str = "") -> str:
    """The figure as SVG for a page of the site: its letters, its theme, no name that another chart
    may have.
    """
    import matplotlib

    drawn = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(
            drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    opening, _, svg = drawn.getvalue().partition("<svg")[2].partition(">")
    svg = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<defs>\s*</defs>",
        "",
        svg,
        flags=re.DOTALL,
    )
    # Coordinates need two decimals; what is written keeps its own.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d{3,}", two_decimals, tag[0]), svg)
    svg = re.sub(r"(font-family:|font: (?:\w+ )*[\d.]+px) [^;\"]+", rf"\1 {FONT}", svg)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    # Names: those that a script looks for become classes, those that the drawing refers to are
    # numbered.
    svg = re.sub(r'\bid="part:([^"]*)"', r'class="\1"', svg)
    reference = r'(url\(#|href="#)([\w-]+)'
    referred = {
        found[1]: f"c{len(alt)}-{place}" for place, found in enumerate(re.findall(reference, svg))
    }
    svg = re.sub(
        r' id="([^"]*)"',
        lambda name: f' id="{referred[name[1]]}"' if name[1] in referred else "",
        svg,
    )
    svg = re.sub(reference, lambda found: found[1] + referred[found[2]], svg)
    for name, (light, _) in (ROLES | NEUTRALS).items():
        svg = svg.replace(light, css_colour(name))
    box = re.search(r'viewBox="([^"]*)"', opening)
    assert box
    wide = float(box[1].split()[2]) * ON_THE_PAGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{wide:.0f}" '
        f'viewBox="{box[1]}" role="img" aria-label="{escape(alt)}" {attributes}'
        f'style="display:block;height:auto;max-width:100%;stroke-linejoin:round">{svg.strip()}'
    )
