"""Finds words that the course does not use: phrases that nobody can look up, and words in a sense for which the field
has another word. `prose.toml` lists them.

It reads pages and labs without their code, the sentences of Python and JavaScript (comments, docstrings, strings), and
the names of variables.
"""

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LISTS = Path(__file__).with_suffix(".toml")
NO_PROSE = re.compile(  # in Markdown: settings above the text, mathematics, code, addresses, tags
    r"(?s)\A---\n.*?\n---\n|\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]+`|(?<=\]\()[^)\s]+|https?://\S+|<[^<>]+>|^\[.+\]: \S+$",
    re.MULTILINE,
)
FENCE = re.compile(r"(?ms)^(`{3,})[^\n]*\n.*?^\1 *$")
IN_SCRIPTS = re.compile(  # comments and texts of JavaScript
    r"""//[^\n]*|(?s:/\*.*?\*/)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
)


def blank(code: str) -> str:
    """Return as many characters and lines, so that what is found in the rest has its line."""
    return re.sub(r"\S", "\0", code)


def without_code(text: str) -> str:
    """Return a template, of Python or JavaScript, without the code in its braces."""
    return re.sub(r"\{[^{}]*\}", lambda found: blank(found[0]), text)


def only(spans: Iterator[tuple[int, int]], text: str) -> str:
    """Return a text with all but these parts blank."""
    parts, end = [], 0
    for start, stop in spans:
        parts += [blank(text[end:start]), text[start:stop]]
        end = stop
    return "".join([*parts, blank(text[end:])])


def sentences_of_python(code: str) -> str:
    """Return comments, docstrings and strings of two words or more; all of it blank where it is no Python."""
    starts = [0, *(end.end() for end in re.finditer("\n", code))]
    spans = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            texts = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None))
            if token.type in texts and re.search(r"\w\s+\w", token.string):
                spans.append(tuple(starts[line - 1] + column for line, column in (token.start, token.end)))
    except (tokenize.TokenError, SyntaxError):  # a cell with a magic
        return blank(code)
    text = re.sub(r"""(?is)\br?f("{3}|'{3}|"|').*?\1""", lambda found: without_code(found[0]), only(iter(spans), code))
    return re.sub(r"(?m)^(\s*)#", r"\1 ", text)


def sentences_of_markdown(text: str) -> str:
    """Return the prose of a page or lab, and the sentences in its cells."""
    text = FENCE.sub(lambda fence: sentences_of_python(fence[0].replace("`", "#")), text)
    return NO_PROSE.sub(lambda found: blank(found[0]), text)


def sentences_of_scripts(code: str) -> str:
    """Return comments and texts of JavaScript, without the code in templates."""
    text = only((found.span() for found in IN_SCRIPTS.finditer(code)), code)
    return without_code(text)


READERS: dict[str, Callable[[str], str]] = {
    ".md": sentences_of_markdown,
    ".py": sentences_of_python,
    ".js": sentences_of_scripts,
}


def phrase(words: str) -> re.Pattern:
    """Return the pattern of a phrase, which may go on in the next line, behind the sign of a comment."""
    return re.compile(r"\b(?:" + words.replace(" ", r"[\s#>*/]+") + r")\b", re.IGNORECASE)


def findings(text: str, lists: dict) -> Iterator[tuple[int, str, str]]:
    """Yield line, words and what to write instead, for each phrase of the lists in a text that has sentences alone."""
    rules = [(phrase(words), None, write) for words, write in lists["forbidden"].items()]
    rules += [(phrase(rule["word"]), phrase(rule["beside"]), rule["write"]) for rule in lists["sense"]]
    spared = [span.span() for words in lists["exceptions"] for span in re.finditer(words, text)]
    for pattern, beside, write in rules:
        for found in pattern.finditer(text):
            before = re.split(r"[.:;?!\0]\s", text[: found.start()][-300:])[-1].split()[-lists["within"] :]
            after = re.split(r"[.:;?!\0](?:\s|$)", text[found.end() :][:300])[0].split()[: lists["within"]]
            near = " ".join([*before, "|", *after])
            if (beside is None or beside.search(near)) and not any(a <= found.start() < b for a, b in spared):
                yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), write


def misnamed(code: str, names: list[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the variables that have one of these names: where they get their value, or run through a loop."""
    assigned = rf"(?m)^[ \t]*(?:const |let |for )?(?:[\w.]+, )*\b({'|'.join(names)})\b(?:, [\w.]+)*(?:: \w+)? (?:=|in) "
    for found in re.finditer(assigned, code):
        yield code.count("\n", 0, found.start(1)) + 1, f"{found[1]} =", "a noun for what the variable holds"


def main(names: list[str]) -> int:
    """Print what is found in these files, or in all that have joined; return the exit status."""
    lists = tomllib.loads(LISTS.read_text("utf-8"))
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    count = 0
    for name in names or [
        name for name in listed if not any(Path(name).match(late) for late in lists["never"] + lists["not_yet"])
    ]:
        path = ROOT / name
        if path.suffix in READERS and path.is_file():
            text = path.read_text("utf-8")
            found = [*findings(READERS[path.suffix](text), lists), *misnamed(text, lists["names"])]
            for line, words, write in sorted(found):
                print(f"{name}:{line}: “{words}”: write {write}")
                count += 1
    print(f"{count} phrases to change; tools/prose.toml says why." if count else "The words are the field's.")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
