"""The HTML that Sphinx wrote, as readers, their screen readers and their phones want it."""

import re
from html import unescape
from pathlib import Path

from pygments.formatters import HtmlFormatter
from pygments.token import STANDARD_TYPES
from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

FORMULA = r'<math [^>]*display="inline">(?:(?!</math>).)*</math>'
WITH_MARKS = re.compile(rf"[(“]{FORMULA}[,.;:?!)”]*|{FORMULA}[,.;:?!)”]+", re.DOTALL)
# Pygments' kinds of code that course.css colors: comments, words of Python, texts, numbers, names that are defined.
KINDS = {"c": "c c1 ch gp", "k": "k kc kn ow", "s": "s s1 s2 sa sb sd se si", "m": "m mf mh mi", "nf": "nf fm nb nc nd"}

SHORT_LINE, LONG_WORD = 34, 24  # letters of code, on a phone of 320 pixels


class FewElements(HtmlFormatter):
    """Highlighted code with an element for each run of one color: a span for every dot keeps a phone busy.

    A line that may wrap on a phone is an element, too: what follows stands in further than it began.
    """

    def _get_css_classes(self, ttype) -> str:
        kind = STANDARD_TYPES.get(ttype)
        return next((name for name, kinds in KINDS.items() if kind in kinds.split()), "")

    def wrap(self, source):
        return super().wrap((kind, may_wrap(line)) for kind, line in source)


def may_wrap(line: str) -> str:
    """A line of highlighted code; a long one with its indent, and a long word in it may break where a name ends."""
    text = unescape(re.sub("<[^>]*>", "", line)).rstrip()
    if len(text) <= SHORT_LINE:
        return line
    if max(map(len, text.split())) > LONG_WORD:
        line = re.sub(r"(?<=[(\[.,=])(?=[a-zA-Z_])(?![^<]*>)", "<wbr>", line)
    return f'<span class="long" style="--indent: {len(text) - len(text.lstrip())}ch">{line}</span>'


def finished(body: str, numbers: dict[str, str]) -> str:
    """The HTML that Sphinx wrote, as readers and their screen readers want it."""
    # docutils' role for an entry has been given up by ARIA; a list has items.
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    # What is heard is what is seen: "Show code cell source".
    body = body.replace(' aria-label="Toggle hidden content"', "")
    # The link beside a heading is for the mouse. It would be read out with each heading, and be a stop of the keyboard,
    # which has the same links in the contents.
    body = body.replace('<a class="headerlink"', '<a tabindex="-1" aria-hidden="true" class="headerlink"')
    # The corner of a table is a heading of nothing.
    for corner in ("<th></th>", '<th class="head"><p></p></th>'):
        body = body.replace(corner, "<td></td>")
    # A long name of a file breaks, on a phone, behind its strokes and dots.
    long_name = r'(?<=<span class="pre">)[^<&]{16,}(?=</span>)'
    body = re.sub(long_name, lambda name: re.sub(r"(?<=[\w][/_.])(?=\w)", "<wbr>", name[0]), body)
    # Where a list explains the labs, each has its number.
    lab = r'<dt>(?=<a [^>]*href="[^"]*(labs/\w+/\w+)\.html)'
    body = re.sub(lab, lambda entry: f'<dt><span class="number">{numbers[entry[1]]}</span> ', body)
    # No title breaks within a word: not "Self-" and then "Attention".
    whole = r'<span class="together">\g<0></span>'
    body = re.sub("<h1>[^<]*", lambda title: re.sub(r"\w+(?:-\w+)+", whole, title[0]), body)
    # No line ends with the sign before an interval; begins with the comma behind a formula, or ends with its bracket.
    body = re.sub(r"(?<=±) (?=[.\d])(?![^<]*</t[dh]>)", "\N{NO-BREAK SPACE}", body)
    return WITH_MARKS.sub(whole, body)


def drawn_late(body: str) -> str:
    """Each script of figures once, for course.js to run when a reader comes near the first of them.

    A notebook needs a script beside each figure. On a page they are the same text again, and drawing the 72 patterns of
    three figures keeps a phone from showing the first line.
    """
    scripts = dict.fromkeys(re.findall(r"(?<=</table></div>\n</div>\n)<script>.*?</script>", body, re.DOTALL))
    for script in scripts:
        body = body.replace(script, "")
    return body + "".join(
        script.replace("<script>", '<script type="text/plain" class="figures">') for script in scripts
    )


def make_lazy(app: Sphinx, body: str) -> str:
    """Figures come when the reader comes near them, into room that is kept for them."""
    sources = {name: Path(app.srcdir) / source for source, name in app.builder.images.items()}

    def sized(match: re.Match) -> str:
        size = get_image_size(sources[match[1]]) if match[1] in sources else None
        room = f'width="{size[0]}" height="{size[1]}" ' if size else ""
        return f'<img loading="lazy" {room}'

    return re.sub(r'<img (?=[^>]*src="[^"]*_images/([^"]+)")', sized, body)
