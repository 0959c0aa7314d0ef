"""The course's vocabulary of mistakes, and the notation in which an exercise lists those that it knows.

`sentences.txt` is the one list of names, with what the reader hears. A mistake is an edit of the solution, and a table
has a line for each:

    name: old => new                     a text of the solution, and what stands in its place
    name: => body                        the whole body, of a function or of a class's last method
    name: old => new && other => new     both at once
    name: old => new || newer || other => new     ways to make one mistake; a way without an arrow edits the same text
    Lab 3, “The layer”                   the section that explains the mistakes below; the exercise's own at first

A line indented deeper continues the one above. `name [which]` picks one of the sentences that a name has.
"""

import inspect
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from .words import _

_LINES = Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines()
SENTENCES = dict(line.split(": ", 1) for line in _LINES if line and not line.startswith("#"))


class Wrong(Exception):
    """The answer is wrong: a name in `sentences.txt`, where to read again, and the words its sentence leaves open."""

    def __init__(self, name: str, /, see: str | None = None, **words: object):
        self.mistake = name.split(" [")[0]
        sentence = _(SENTENCES[name]).format(**words)
        self.sentence = read_again(sentence, see) if see else sentence
        super().__init__(self.sentence)


def read_again(sentence: str, see: str) -> str:
    """A sentence and the section to read again, `Lab 3, “The layer”`, whose heading the catalogue may have."""
    if section := re.fullmatch("Lab (.+?), “(.+)”", see):
        see = _("Lab {number}, “{heading}”").format(number=section[1], heading=_(section[2]))
    return _("{sentence} Read again: {section}.").format(sentence=sentence, section=see)


class NotDone(Exception):
    """The answer is still the starting cell."""


@dataclass(frozen=True)
class Mistake:
    """One way to make a mistake: what is replaced in the solution, and the section that explains it."""

    key: str
    pairs: tuple[tuple[str, str], ...]
    see: str | None = None

    @property
    def name(self) -> str:
        return self.key.split(" [")[0]

    def edited(self, source: str) -> str:
        """The solution with this mistake. Raises ValueError when what should be replaced is not in it."""
        for old, new in self.pairs:
            if old not in source:
                raise ValueError(f"{self.name}: `{old}` does not stand in the solution.")
            source = source.replace(old, new) if old else _with_body(source, new)
        return source


def _with_body(source: str, body: str) -> str:
    """A function, or the last method of a class, with another body below its first line and its docstring."""
    head = list(re.finditer(r'( *)def .*\n(?: *""".*"""\n)?', source))[-1]
    return source[: head.end()] + textwrap.indent(body, head[1] + "    ") + "\n"


def edits(table: str) -> list[Mistake]:
    """The mistakes in a table, written as this file's first lines say."""
    found, see = [], None
    for entry in re.split(r"\n+(?=\S)", textwrap.dedent(table).strip()):
        if entry.startswith("Lab "):
            see = entry
            continue
        key, _, ways = entry.partition(":")
        text = ""  # what a way without an arrow edits
        for way in ways.split("||"):
            pairs = [pair.partition("=>") for pair in (way if "=>" in way else f"{text} => {way}").split("&&")]
            pairs = tuple((old.strip(), inspect.cleandoc(new).rstrip()) for old, _, new in pairs)
            text = pairs[0][0]
            found.append(Mistake(key, pairs, see))
    return found
