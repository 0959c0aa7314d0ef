"""Line-ordering versions of exercises: right orders are right answers, and wrong lines make wrong ones."""

import textwrap

import exercises
import lab_code
import notebooks
import ordering
import pytest

import checks

BUILD = [
    pytest.param(lab, exercise, cell, id=exercise.name)
    for lab in notebooks.labs(lab_code.ROOT)
    for exercise in exercises.read(lab)
    for cell in notebooks.code_cells(notebooks.generate(lab))
    if exercise.kind == "build" and cell.id == exercise.start_id
]


def answer(source: str, function: str, statements: list[str]) -> str:
    """The cell with other statements in the body of a function."""
    lines = source.split("\n")
    node = next(node for node in ordering.blanked_functions(source) if node.name == function)
    first = node.body[ordering.first_statement(node)]
    body = textwrap.indent("\n".join(statements), " " * first.col_offset)
    return "\n".join([*lines[: first.lineno - 1], body, *lines[node.end_lineno :]])


def orders(problem: dict) -> tuple[list[int], list[int]]:
    """Two right orders: the function's own, and one with the statements as late as they may come."""
    own = [number for number, part in enumerate(problem["parts"]) if "after" in part]
    left, reverse = set(own), []
    while left:
        free = min(n for n in left if not any(n in problem["parts"][m]["after"] for m in left))
        reverse.append(free)
        left.remove(free)
    return own, reverse[::-1]


def verdict(lab, exercise, code: str):
    names = lab_code.imports(lab) | {"checks": checks}
    exec(code, names)
    return eval(exercise.verdict, names)


@pytest.mark.parametrize(("lab", "exercise", "cell"), BUILD)
def test_each_exercise_to_build_can_be_put_in_order_and_all_right_orders_are_right(lab, exercise, cell):
    only = cell.metadata.get("blank")
    problems = ordering.problems(cell.source, only)
    longest = max(len(f.body) - ordering.first_statement(f) for f in ordering.blanked_functions(cell.source, only))
    assert problems or longest < 2
    for problem in problems:
        parts = problem["parts"]
        assert sorted(problem["shown"]) == [*range(len(parts))]
        own, late = orders(problem)
        for order in (own, late):
            found = verdict(lab, exercise, answer(cell.source, problem["name"], [parts[n]["code"] for n in order]))
            assert found, f"{problem['name']}: {found}"
        for part in parts:
            if "instead" in part:
                wrong = [part["code"] if n == part["instead"] else parts[n]["code"] for n in own]
                found = verdict(lab, exercise, answer(cell.source, problem["name"], wrong))
                assert not found, f"this line is as good as the right one: {part['code']}"
