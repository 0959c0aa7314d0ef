"""Finds words that the course does not use: phrases that nobody can look up, and words in a sense
for which the field has another word. `prose.toml` lists them.

It reads pages and labs without their code, comments and texts of two words or more in Python and
JavaScript, and the names of variables.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LISTS = Path(__file__).with_suffix(".toml")
NO_PROSE = re.compile(  # in Markdown: settings above the text, mathematics, code, addresses, tags
    r"(?s)\A---\n.*?\n---\n|\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]+`|(?<=\]\()[^)\s]+|https?://\S+|<[^<>]+>|"
    r"^\[.+\]: \S+$",
    re.MULTILINE,
)
FENCE = re.compile(r"(?ms)^(`{3,})[^\n]*\n(.*?)^\1 *$")
IN_CODE = re.compile(  # comments and texts of Python and JavaScript
    r"""(?<![^\s;])(?:\#|//)[^\n]*|(?s:/\*.*?\*/|\"{3}.*?\"{3})|`(?:[^`\\]|\\.)*`"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
)
NEAR = 6  # words of the same sentence: so near a word of `sense` has to be to one of `beside`


def blank(code: str) -> str:
    """Return as many characters and lines, so that what is found in the rest has its line."""
    return re.sub(r"\S", "\0", code)


def prose_of_code(code: str) -> str:
    """Return the sentences in code, with all else blank, and so is the code in the braces of a
    template.
    """
    parts, end = [], 0
    for found in IN_CODE.finditer(code):
        text = found[0] if re.search(r"\w\s+\w", found[0]) else blank(found[0])
        text = re.sub(r"\{[^{}]*\}", lambda braces: blank(braces[0]), text)
        parts += [blank(code[end : found.start()]), text]
        end = found.end()
    return "".join([*parts, blank(code[end:])])


def prose_of(name: str, text: str) -> str:
    """Return the sentences of a page, a lab or a program, with all else blank."""
    if not name.endswith(".md"):
        return prose_of_code(text)
    text = FENCE.sub(lambda fence: prose_of_code(fence[0].replace("`", " ")), text)
    return NO_PROSE.sub(lambda found: blank(found[0]), text)


def phrase(words: str) -> re.Pattern:
    """Return the pattern of a phrase, which may go on in the next line, behind the sign of a
    comment.
    """
    return re.compile(r"\b(?:" + words.replace(" ", r"[\s#>*/]+") + r")\b", re.IGNORECASE)


def near(prose: str, found: re.Match) -> str:
    """Return the words around a phrase in its sentence."""
    before = re.split(r"[.:;?!\0]\s", prose[: found.start()][-300:])[-1].split()[-NEAR:]
    after = re.split(r"[.:;?!\0](?:\s|$)", prose[found.end() :][:300])[0].split()[:NEAR]
    return " ".join([*before, "|", *after])


def findings(name: str, text: str, lists: dict) -> Iterator[tuple[int, str, str]]:
    """Yield line, words and what to write instead, for each phrase of the lists in the text of a
    file.
    """
    prose = prose_of(name, text)
    spared = [span.span() for words in lists["exceptions"] for span in re.finditer(words, prose)]
    rules = [(words, "", write) for words, write in lists["forbidden"].items()]
    rules += [(rule["word"], rule["beside"], rule["write"]) for rule in lists["sense"]]
    for words, beside, write in rules:
        for found in phrase(words).finditer(prose):
            is_meant = not beside or phrase(beside).search(near(prose, found))
            if is_meant and not any(start <= found.start() < end for start, end in spared):
                yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), write
    variable = (
        rf"(?m)^[ \t]*(?:const |let |for )?(?:[\w.]+, )*\b({'|'.join(lists['names'])}) (?:=|in) "
    )
    for found in re.finditer(variable, text):
        yield (
            text.count("\n", 0, found.start(1)) + 1,
            found[1],
            "a noun for what the variable holds",
        )


def main(names: list[str]) -> int:
    """Print what is found in these files, or in all; return the exit status."""
    lists = tomllib.loads(LISTS.read_text("utf-8"))
    listed = subprocess.check_output(
        ["git", "ls-files", "*.md", "*.py", "*.js"], cwd=ROOT, text=True
    ).split()
    count = 0
    for name in names or [
        name for name in listed if name not in lists["never"] and (ROOT / name).is_file()
    ]:
        for line, words, write in sorted(findings(name, (ROOT / name).read_text("utf-8"), lists)):
            print(f"{name}:{line}: “{words}”: write {write}")
            count += 1
    print(
        f"{count} phrases to change; tools/prose.toml says why."
        if count
        else "The words are the field's."
    )
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
