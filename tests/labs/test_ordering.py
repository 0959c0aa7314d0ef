"""Line-ordering versions of exercises: right orders are right answers, and wrong lines make wrong ones."""

import ast
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
        own, late = ordering.orders(problem)
        for order in (own, late):
            assert ordering.is_right(problem, order)
            found = verdict(lab, exercise, answer(cell.source, problem["name"], [parts[n]["code"] for n in order]))
            assert found, f"{problem['name']}: {found}"
        for number, part in enumerate(parts):
            if "instead" in part:
                assert not ordering.is_right(problem, [number if n == part["instead"] else n for n in own])
                wrong = [part["code"] if n == part["instead"] else parts[n]["code"] for n in own]
                found = verdict(lab, exercise, answer(cell.source, problem["name"], wrong))
                assert not found, f"this line is as good as the right one: {part['code']}"


SOURCE = '''
class Layer:
    """A layer."""

    def forward(self, x, mask):
        """The output."""
        queries = self.W_query(x)  # (batch, tokens, d_k)
        keys = self.W_key(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[2] ** 0.5
        scores[:, 0] = 0
        weights = masked_softmax(
            scores, mask
        )
        return weights @ self.W_value(x), weights
'''


def test_a_line_comes_after_those_whose_results_it_uses_and_has_its_subgoals():
    (problem,) = ordering.problems(SOURCE)
    own = [part for part in problem["parts"] if "after" in part]
    assert [part["after"] for part in own] == [[], [], [0, 1], [2], [2, 3], [0, 1, 2, 3, 4]]
    labels = ["project", "project", "score, scale", "", "mask, softmax", "project, weighted sum"]
    assert [part["label"] for part in own] == labels
    assert own[4]["code"].split("\n") == ["weights = masked_softmax(", "    scores, mask", ")"]
    wrong = [part["code"] for part in problem["parts"] if "instead" in part]
    assert len(wrong) == 2 and not {ast.unparse(ast.parse(c)) for c in wrong if "return" not in c} & {
        *SOURCE.split("\n")
    }
    assert ordering.is_right(problem, [1, 0, 2, 3, 4, 5]) and not ordering.is_right(problem, [0, 2, 1, 3, 4, 5])
    assert not ordering.is_right(problem, [0, 1, 2, 3, 4]) and not ordering.is_right(problem, [0, 1, 2, 3, 4, 5, 6])


def test_a_function_of_one_statement_has_no_such_version():
    assert ordering.problems("def twice(x):\n    return 2 * x") == []
