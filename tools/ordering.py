"""Makes line-ordering versions (Parsons problems) of the exercises to build, of what the blanks leave out.

The rule: the statements of a function's body are shuffled with two that are wrong. Any order is right in which each
statement comes after those whose results it uses, or changes. A function of one statement has no such version, and
neither has one whose order is free. It reads code alone, so that the site needs no other tool.
"""

import ast
import random
import re
import textwrap
from collections.abc import Callable
from copy import deepcopy

FEWEST, WRONG = 2, 2
SUBGOALS = {  # what a line does, in the order of the formula, by how it is written
    "project": r"W_(?:query|key|value|output)\b",
    "score": r"@ keys|queries @|@ query|@ self\.query|scores =",
    "scale": r"/ math\.sqrt|/ .*\*\* 0\.5",
    "mask": r"masked_fill|\b(?:\w+_)?mask\b|\ballowed\b|masked_softmax",
    "softmax": r"softmax\(",
    "weighted sum": r"weights @|weighted_sum\(|softmax\(.*\) @",
    "concatenate": r"concatenated =|\.flatten\(|torch\.cat\(",
}


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
    """Return the place of the first statement that is left out: docstring and `super().__init__()` stay."""
    first = int(ast.get_docstring(function) is not None)
    return first + (ast.unparse(function.body[first:][:1]) == "super().__init__()")


def problems(source: str, only: list[str] | None = None) -> list[dict]:
    """Return the line-ordering versions of a cell, each with the function's name, its statements and an order to show.

    A statement has its `code`, its `label` and `after`: the numbers of those that come before it. Wrong ones come
    last; they have the number of the one that they replace, `instead`, and no `after`.
    """
    lines, found = source.split("\n"), []
    for function in blanked_functions(source, only):
        body = function.body[first_statement(function) :]
        codes = [textwrap.dedent("\n".join(lines[s.lineno - 1 : s.end_lineno])) for s in body]
        needed = dependencies(body)
        wrong = wrong_ones(body, codes)
        if len(body) < FEWEST or len(body) + len(wrong) < FEWEST + 1 or not any(needed):
            continue
        parts = [{"code": c, "label": label(c), "after": sorted(n)} for c, n in zip(codes, needed, strict=True)]
        parts += [{"code": code, "label": label(codes[n]), "instead": n} for n, code in wrong]
        order = list(range(len(parts)))
        random.Random(source).shuffle(order)
        found.append({"name": function.name, "parts": parts, "shown": order})
    return sorted(found, key=lambda problem: -len(problem["parts"]))  # the one to learn from comes first


def label(code: str) -> str:
    """Return the subgoals of a statement, the same words in every lab, or the empty text."""
    code = re.sub(r"#.*|check_inputs\(.*", "", code)
    return ", ".join(name for name, pattern in SUBGOALS.items() if re.search(pattern, code))


def names(node: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names, `self.x` among them, that a statement reads and writes; a method call may write."""
    reads, writes = set(), set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            (writes if isinstance(part.ctx, ast.Store) else reads).add(part.id)
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            writes.add(ast.unparse(part))
        elif isinstance(part, ast.Attribute):
            reads.add(ast.unparse(part))
        if isinstance(part, ast.AugAssign | ast.Subscript) and isinstance(getattr(part, "ctx", ast.Store()), ast.Store):
            target = part.target if isinstance(part, ast.AugAssign) else part.value
            reads |= (changed := {n.id for n in ast.walk(target) if isinstance(n, ast.Name)})
            writes |= changed
    if isinstance(node, ast.Expr):  # such as `outputs.append(...)`
        writes |= {
            part.value.id
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
        }
    return reads, writes - {"self"}


def dependencies(body: list[ast.stmt]) -> list[set[int]]:
    """Return for each statement those before it: it reads or writes what they write, or writes what they read."""
    found: list[set[int]] = []
    for number, statement in enumerate(body):
        reads, writes = names(statement)
        ends = isinstance(statement, ast.Return)
        before = set()
        for other in range(number):
            earlier_reads, earlier_writes = names(body[other])
            guards = any(isinstance(part, ast.Raise | ast.Return) for part in ast.walk(body[other]))
            calls = isinstance(body[other], ast.Expr) and isinstance(statement, ast.Expr)
            if ends or guards or calls or (reads | writes) & earlier_writes or writes & earlier_reads:
                before.add(other)
        found.append(before)
    return found


def wrong_ones(body: list[ast.stmt], codes: list[str]) -> list[tuple[int, str]]:
    """Return two statements of the function, each with one change that makes it wrong, and their numbers."""
    found: list[tuple[int, str]] = []
    first = sorted(range(len(body)), key=lambda number: not label(codes[number]))
    for change in CHANGES:
        for number in first:
            code = changed(body[number], change)
            if code and "\n" not in codes[number] and code not in map(ast.unparse, body):
                comment = re.search(r"  #[^\"']*$", codes[number])
                found.append((number, code + (comment[0] if comment else "")))
                break
        if len(found) == WRONG:
            break
    return found


def changed(statement: ast.stmt, change: Callable[[ast.AST], bool]) -> str:
    """Return the code of a simple statement after the first change that applies, or the empty text."""
    if not isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign):
        return ""
    copy = deepcopy(statement)
    if not any(change(node) for node in ast.walk(copy)):
        return ""
    code = ast.unparse(copy)
    if isinstance(copy.value, ast.Tuple):  # written without parentheses
        code = re.sub(r"^(return|.* =) \((.*)\)$", r"\1 \2", code)
    return code


# Each changes a node, and says whether it did.


def swap_factors(node: ast.AST) -> bool:
    """`weights @ values` becomes `values @ weights`."""
    applies = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    if applies:
        node.left, node.right = node.right, node.left
    return applies


def change_axis(node: ast.AST) -> bool:
    """`dim=-1` becomes `dim=0`, and any other axis the one before it or 1."""
    applies = isinstance(node, ast.keyword) and node.arg == "dim"
    if applies:
        axis = ast.literal_eval(node.value)
        node.value = ast.Constant(axis - 1 if axis > 0 else 0 if axis < 0 else 1)
    return applies


def change_operator(node: ast.AST) -> bool:
    """A division becomes a product, a sum a difference, and `~mask` becomes `mask`."""
    others = {ast.Div: ast.Mult, ast.Add: ast.Sub, ast.Sub: ast.Add}
    if isinstance(node, ast.BinOp) and type(node.op) in others:
        node.op = others[type(node.op)]()
        return True
    for place, argument in enumerate(node.args if isinstance(node, ast.Call) else []):
        if isinstance(argument, ast.UnaryOp) and isinstance(argument.op, ast.Invert):
            node.args[place] = argument.operand
            return True
    return False


def change_transpose(node: ast.AST) -> bool:
    """`.transpose(1, 2)` becomes `.transpose(0, 1)`, and other pairs of axes `(1, 2)`."""
    applies = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "transpose"
    if applies:
        axes = (0, 1) if [ast.unparse(axis) for axis in node.args] == ["1", "2"] else (1, 2)
        node.args = [ast.Constant(axis) for axis in axes]
    return applies


def change_name(node: ast.AST) -> bool:
    """Keys take the place of queries or values, and the query projection that of the key projection."""
    others = {"queries": "keys", "values": "keys", "W_key": "W_query", "W_value": "W_key", "head_dim": "num_heads"}
    part = {ast.Name: "id", ast.Attribute: "attr"}.get(type(node))
    applies = part is not None and isinstance(node.ctx, ast.Load) and getattr(node, part) in others
    if applies:
        setattr(node, part, others[getattr(node, part)])
    return applies


def leave_out_call(node: ast.AST) -> bool:
    """`self.output(self.norm(x))` becomes `self.norm(x)`."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
            if re.fullmatch(r"self\.\w+", ast.unparse(value.func)):
                setattr(node, name, value.args[0])
                return True
    return False


def swap_targets(node: ast.AST) -> bool:
    """`d_in, d_out = W.shape` becomes `d_out, d_in = W.shape`."""
    applies = isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store) and len(node.elts) == 2
    if applies:
        node.elts.reverse()
    return applies


def change_number(node: ast.AST) -> bool:
    """A whole number that is an argument or an index becomes the next one."""
    places = node.args if isinstance(node, ast.Call) else [node.slice] if isinstance(node, ast.Subscript) else []
    for place in places:
        if isinstance(place, ast.Constant) and type(place.value) is int:
            place.value += 1
            return True
    return False


CHANGES = (
    swap_factors,
    change_axis,
    change_operator,
    change_transpose,
    change_name,
    leave_out_call,
    swap_targets,
    change_number,
)
