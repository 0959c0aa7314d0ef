"""Line-ordering versions of exercises: right orders are right answers, and wrong lines make wrong ones."""

import textwrap

import lab_code
import pytest

import checks
from tools import ordering

BUILD = [
    pytest.param(lab, exercise, id=exercise.name)
    for lab in lab_code.course()
    for exercise in lab.exercises
    if exercise.kind == "build"
]


def is_right(lab, exercise, function: str, statements: list[str]) -> bool:
    """What the check says of the solution with other statements in the body of a function."""
    lines = exercise.solution.split("\n")
    node = next(node for node in ordering.blanked_functions(exercise.solution) if node.name == function)
    first = node.body[ordering.first_statement(node)]
    lines[first.lineno - 1 : node.end_lineno] = [textwrap.indent("\n".join(statements), " " * first.col_offset)]
    names = lab_code.imports(lab)
    exec("\n".join(lines), names)
    return bool(getattr(checks, exercise.name)(names[exercise.answer]))


def as_late_as_possible(own: dict[int, dict]) -> list[int]:
    """Another right order of statements: each as late as it may come."""
    left, order = dict(own), []
    while left:
        last = min(n for n in left if not any(n in part["after"] for part in left.values()))
        order.insert(0, last)
        del left[last]
    return order


@pytest.mark.parametrize(("lab", "exercise"), BUILD)
def test_each_exercise_to_build_can_be_put_in_order_and_all_right_orders_are_right(lab, exercise):
    problems = ordering.problems(exercise.solution)
    functions = ordering.blanked_functions(exercise.solution)
    assert problems or max(len(function.body) - ordering.first_statement(function) for function in functions) < 2
    for problem in problems:
        name, parts = problem["name"], problem["parts"]
        assert sorted(problem["shown"]) == [*range(len(parts))]
        own = {number: part for number, part in enumerate(parts) if "after" in part}
        assert is_right(lab, exercise, name, [own[n]["code"] for n in as_late_as_possible(own)]), name
        for wrong in parts[len(own) :]:
            codes = [wrong["code"] if n == wrong["instead"] else part["code"] for n, part in own.items()]
            assert not is_right(lab, exercise, name, codes), f"this line is as good as the right one: {wrong['code']}"
