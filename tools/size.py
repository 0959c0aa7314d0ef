"""Prints how many lines of code each part of the project has; blank lines, comments and docstrings do not count."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {  # the first pattern that fits
    "checks": r"checks/.*\.py",
    "shared": r"shared/.*\.py",
    "tools": r"tools/.*\.py",
    "experiments": r"experiments/.*\.py",
    "extensions": r"book/_ext/.*\.py",
    "tests": r"tests/.*\.py",
    "JavaScript and CSS": r"(book|shared)/.*\.(js|css)",
}
SILENT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def python_lines(text: str) -> int:
    """Return how many lines hold a token that is no comment and no docstring."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def script_lines(text: str) -> int:
    """Return how many lines of JavaScript or CSS hold more than a comment."""
    text = re.sub(r"(?s)/\*.*?\*/|(?m:^\s*//[^\n]*$)", lambda comment: "\n" * comment[0].count("\n"), text)
    return sum(bool(line.strip()) for line in text.splitlines())


def main() -> int:
    """Print the table and return the exit status."""
    sizes = dict.fromkeys(ROOMS, 0)
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).splitlines():
        room = next((room for room, pattern in ROOMS.items() if re.fullmatch(pattern, name)), None)
        if room and (ROOT / name).is_file():
            text = (ROOT / name).read_text("utf-8")
            sizes[room] += python_lines(text) if name.endswith(".py") else script_lines(text)
    sizes["all Python"] = sum(sizes.values()) - sizes["JavaScript and CSS"]
    for room, lines in sizes.items():
        print(f"{room:<20}{lines:>7,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
