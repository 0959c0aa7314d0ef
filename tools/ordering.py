"""Makes line-ordering versions (Parsons problems) of the exercises to build, of what the blanks
leave out.

The rule: the statements of a function's body are shuffled with two that are wrong. Any order is
right in which each statement comes after those whose results it uses, or changes. A function of one
statement has no such version, and neither has one whose order is free. It reads code alone, so that
the site needs no other tool.
"""

import ast
import random
import re
import textwrap

WRONG = 2  # lines that are not part of the function, at most
SUBGOALS = {  # what a line does, in the order of the formula, by how it is written
    "project": r"W_(?:query|key|value|output)\b",
    "score": r"@ keys|queries @|@ query|@ self\.query|scores =",
    "scale": r"/ math\.sqrt|/ .*\*\* 0\.5",
    "mask": r"masked_fill|\b(?:\w+_)?mask\b|\ballowed\b|masked_softmax",
    "softmax": r"softmax\(",
    "weighted sum": r"weights @|weighted_sum\(|softmax\(.*\) @",
    "concatenate": r"concatenated =|\.flatten\(|torch\.cat\(",
}
CHANGES = [  # what makes a line wrong, by how it is written, and what then takes its place
    (
        r"([\w.]+(?:\([-\d, ]+\))?) @ ([\w.]+(?:\([-\d, ]+\))?)",
        r"\2 @ \1",
    ),  # the factors change places
    (r"\b(dim|axis)=-?1\b", r"\1=0"),
    (r"\bdim=2\b", "dim=1"),
    (r" / ", " * "),
    (r"~mask", "mask"),
    (r" - ", " + "),
    (r" \+ ", " - "),
    (r"\.transpose\(1, 2\)", ".transpose(0, 1)"),
    (r"\.W_value\b", ".W_key"),
    (r"self\.\w+\((self\.\w+\(\w+\))\)", r"\1"),  # without the outer of two layers
    (r"(?<![\w.\[(])([\w.]+), ([\w.]+)(?= =|$)", r"\2, \1"),  # two targets or results change places
    (r"(?<=.)\bhead_dim\b(?! =)", "num_heads"),
    (r"\b1\b", "2"),
]


def blanked_functions(source: str, only: list[str] | None = None) -> list[ast.FunctionDef]:
    """Return the functions of a cell whose bodies a reader writes: all of them, or those named.

    Raises ValueError, the end of a sentence, where there is none.
    """
    inside: list[ast.stmt] = []
    for node in ast.parse(source).body:
        inside += node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [node for node in inside if isinstance(node, ast.FunctionDef)]
    chosen = [function for function in functions if not only or function.name in only]
    if not chosen:
        raise ValueError("has no function in its cell whose body a student could write.")
    return chosen


def first_statement(function: ast.FunctionDef) -> int:
    """Return the place of the first statement that is left out: docstring and `super().__init__()`
    stay.
    """
    first = int(ast.get_docstring(function) is not None)
    return first + (ast.unparse(function.body[first:][:1]) == "super().__init__()")


def problems(source: str, only: list[str] | None = None) -> list[dict]:
    """Return the line-ordering versions of a cell, each with the function's name, its statements
    and an order to show.

    A statement has its `code`, its `label` and `after`: the numbers of those that come before it.
    Wrong ones come last; they have the number of the one that they replace, `instead`, and no
    `after`.
    """
    lines, found = source.split("\n"), []
    for function in blanked_functions(source, only):
        body = function.body[first_statement(function) :]
        codes = [textwrap.dedent("\n".join(lines[s.lineno - 1 : s.end_lineno])) for s in body]
        needed = dependencies(body)
        parts = [
            {"code": c, "label": label(c), "after": after}
            for c, after in zip(codes, needed, strict=True)
        ]
        parts += [
            {"code": code, "label": label(codes[n]), "instead": n} for n, code in wrong_ones(codes)
        ]
        if not any(needed) or len(parts) < 3:
            continue
        order = list(range(len(parts)))
        random.Random(source).shuffle(order)
        found.append({"name": function.name, "parts": parts, "shown": order})
    return sorted(
        found, key=lambda problem: -len(problem["parts"])
    )  # the one to learn from comes first


def label(code: str) -> str:
    """Return the subgoals of a statement, the same words in every lab, or the empty text."""
    code = re.sub(r"#.*|check_inputs\(.*", "", code)
    return ", ".join(name for name, pattern in SUBGOALS.items() if re.search(pattern, code))


def names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names, `self.x` among them, that a statement uses, and those that it changes."""
    used, changed = set(), set()
    for part in ast.walk(statement):
        if isinstance(part, ast.Name | ast.Attribute):
            used.add(ast.unparse(part))
        if isinstance(getattr(part, "ctx", None), ast.Store):
            changed.add(ast.unparse(part.value if isinstance(part, ast.Subscript) else part))
        if isinstance(part, ast.Expr) and isinstance(
            part.value, ast.Call
        ):  # such as `outputs.append(...)`
            changed.add(ast.unparse(part.value.func).rpartition(".")[0])
    return used, changed


def dependencies(body: list[ast.stmt]) -> list[list[int]]:
    """Return for each statement those before it: one uses what the other changes, or one may end
    the function.
    """
    found: list[list[int]] = []
    for number, statement in enumerate(body):
        used, changed = names(statement)
        before = []
        for other, earlier in enumerate(body[:number]):
            earlier_used, earlier_changed = names(earlier)
            may_end = any(
                isinstance(part, ast.Raise | ast.Return) for part in [statement, *ast.walk(earlier)]
            )
            if may_end or used & earlier_changed or changed & (earlier_used | earlier_changed):
                before.append(other)
        found.append(before)
    return found


def wrong_ones(codes: list[str]) -> list[tuple[int, str]]:
    """Return two statements of the function, each with one change that makes it wrong, and their
    numbers.
    """
    found: list[tuple[int, str]] = []
    first = sorted(
        (number for number, code in enumerate(codes) if "\n" not in code),
        key=lambda n: not label(codes[n]),
    )
    for pattern, replacement in CHANGES:
        for number in first:
            code, mark, comment = codes[number].partition("  #")
            changed = re.sub(pattern, replacement, code, count=1) + mark + comment
            if changed not in codes:
                found.append((number, changed))
                break
    return found[:WRONG]
