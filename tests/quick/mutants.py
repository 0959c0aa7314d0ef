"""Mutants: a solution with one thing changed by a program: a name, an axis, an operator, a term, a call left out."""

import ast
import itertools
import random
from collections.abc import Iterator

OPERATORS = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.Eq: (ast.NotEq,),
}
TWINS = {"sum": ("mean", "amax"), "mean": ("sum", "amax", "max", "min", "std"), "exp": ("log",)}
TWINS |= {"tril": ("triu",), "ones": ("zeros",)}


def mutants(source: str, count: int = 20) -> list[str]:
    """Mutants of a function or class, all different, the same in every run; fewer if it has no more.

    They are drawn evenly from the kinds of change, so that a solution full of names is not only renamed. Rare kinds
    help out where a solution is short.
    """
    tree = ast.parse(source)
    original = ast.unparse(tree)
    kinds: dict[str, list[str]] = {}
    for kind, mutant in _changed(tree):
        if mutant not in {original, *sum(kinds.values(), [])}:
            kinds.setdefault(kind, []).append(mutant)
    for found in kinds.values():
        random.Random(0).shuffle(found)
    drawn, rare = [], kinds.pop("rare", [])
    while len(drawn) < count and any(kinds.values()):
        drawn += [found.pop() for found in kinds.values() if found]
    return [*drawn, *rare][:count]


def _changed(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each possible change: its kind, and the text that it makes of the tree."""
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        arguments = [a.arg for a in function.args.args if a.arg != "self"]
        made = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        for parent in ast.walk(function):
            for field, value in ast.iter_fields(parent):
                holder, places = (value, range(len(value))) if isinstance(value, list) else (vars(parent), [field])
                for place in places:
                    node = holder[place]
                    if isinstance(node, ast.AST):
                        before = [n.id for n in made if n.lineno < getattr(node, "lineno", 0)]
                        known = list(dict.fromkeys(arguments + before))
                        for kind, new in itertools.chain(_instead(node, known), _rarely_instead(node, known)):
                            holder[place] = new
                            text = ast.unparse(tree)
                            holder[place] = node
                            yield kind, text


def _instead(node: ast.AST, known: list[str]) -> Iterator[tuple[str, ast.AST]]:
    """What could stand in a node's place, with the kind of change."""
    match node:
        case ast.Name(ctx=ast.Load(), id=name) if name in known:
            for other in known:
                if other != name:
                    yield "name", ast.Name(other, ast.Load())
        case ast.Constant(value=bool(value)):
            yield "switch", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "axis", ast.Constant(value + 1)
            yield "axis", ast.Constant(value - 1)
        case ast.BinOp(left=left, op=operator, right=right):
            for other in OPERATORS.get(type(operator), ()):
                yield "operator", ast.BinOp(left, other(), right)
            yield "term", left
            yield "term", right
            if isinstance(operator, (ast.MatMult, ast.Sub, ast.Div)):
                yield "order", ast.BinOp(right, operator, left)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            for other in OPERATORS.get(type(operator), ()):
                yield "operator", ast.Compare(left, [other()], [right])
        case ast.UnaryOp(operand=operand):
            yield "sign", operand
        case ast.Attribute(value=value, attr="T" | "mT"):
            yield "call", value
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch" | "math" | "np" | "F")), args=[first, *_]):
            yield "call", first
        case ast.Call(func=ast.Attribute(value=value)) if not isinstance(value, ast.Name) or value.id in known:
            yield "call", value
        case ast.Tuple(elts=[*parts], ctx=ast.Load()) if len(parts) > 1:
            yield "order", ast.Tuple(parts[::-1], ast.Load())


def _rarely_instead(node: ast.AST, known: list[str]) -> Iterator[tuple[str, ast.AST]]:
    """What else: another reduction, new axes elsewhere, one row for all, a name with its sign turned or one more."""
    match node:
        case ast.Attribute(value=value, attr=attr) if attr in TWINS:
            yield from (("rare", ast.Attribute(value, twin, ast.Load())) for twin in TWINS[attr])
        case ast.Slice(lower=None, upper=None, step=None):
            yield "rare", ast.Constant(0)
        case ast.Tuple(elts=parts, ctx=ast.Load()):
            yield from (("rare", ast.Tuple(list(other), ast.Load())) for other in itertools.permutations(parts))
        case ast.Name(ctx=ast.Load(), id=name) if name in known:
            yield "rare", ast.UnaryOp(ast.USub(), node)
            yield "rare", ast.UnaryOp(ast.Invert(), node)
            yield from (("rare", ast.BinOp(node, sign, ast.Constant(1))) for sign in (ast.Add(), ast.Sub()))
