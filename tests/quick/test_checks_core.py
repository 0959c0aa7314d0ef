"""Claims about every self-check: it survives whatever the reader's code does, and says what that was."""

import dataclasses
import os
import random
import subprocess
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from shared.check import run
from shared.check.exercise import Case, Exercise, draw
from shared.check.mistakes import Wrong, edits

ROOT = Path(__file__).resolve().parents[2]


def twice(x):
    return x + x


double = Exercise(
    twice,
    cases=[Case({"x": draw(3, 2)}), Case({"x": draw(5)})],
    truth=lambda x: torch.tensor([2 * n for n in x.flatten().tolist()], dtype=x.dtype).reshape(x.shape),
    see="Lab 1, “Tokens”",
    mistakes=edits("""
        squared: x + x => x * x
        Lab 3, “The layer”
        times its transpose: x + x => x @ x
    """),
    say={"squared": "You squared x.", "times its transpose": "You multiplied matrices."},
    tried="two tensors of different shape",
)


class Layer(nn.Module):
    """The right answer to `linear`, from which the tests derive others."""

    def __init__(self, dim, key_dim):
        super().__init__()
        self.project = nn.Linear(dim, key_dim)

    def forward(self, features):
        return self.project(features), features.sum()


linear = Exercise(
    Layer,
    cases=[Case({"features": draw(2, 4, 3)}, sizes=(3, 5))],
    truth=lambda features, project: (project(features), features.sum()),
    mistakes=edits("doubled: return self => return 2 * self"),
    say={"doubled": "Twice."},
    tried="one batch",
    see="Lab 1, “Tokens”",
    parts=("project",),
    widths=lambda dim, key_dim: {"project": (dim, key_dim)},
)


def layer(edit: str):
    """The layer with an edit: old => new && other => new."""
    return linear.compiled(edits(f"edited: {edit}")[0].edited(linear.source))


TWICE = layer("return self => return 2 * self")
START = layer("return self => raise NotImplementedError; return self")


# --- verdicts ----------------------------------------------------------------------------------------------------


def test_a_right_answer_is_correct_and_hears_what_was_tried():
    verdict = double(lambda x: 2 * x)
    assert verdict and verdict.state == "correct" and verdict.mistake is None
    assert repr(verdict) == "Correct. Tried on two tensors of different shape."


def test_a_known_mistake_is_named_with_its_paragraph():
    verdict = double(lambda x: x**2)
    assert not verdict and (verdict.state, verdict.mistake) == ("wrong", "squared")
    assert repr(verdict) == "You squared x. Read again: Lab 1, “Tokens”."


def test_a_notebook_shows_the_sentence_as_a_paragraph_and_code_as_code():
    shown = double(lambda x: x["<b>"])._repr_html_()
    assert shown.startswith("<p>Your code raises") and shown.endswith("</p>")
    assert "<code>shown = double(lambda x: x[&quot;&lt;b&gt;&quot;])._repr_html_()</code>" in shown


def test_a_lab_goes_on_with_what_the_reader_wrote_when_it_is_right_and_else_with_the_course_s(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    mine = layer("features.sum() => features.sum(dim=(0, 1, 2))")
    assert linear.use(mine) is mine and len(shown) == 1
    assert repr(shown[0]) == f"{linear(mine).sentence}\nThe lab goes on with your `Layer`."
    page = shown[0]._repr_html_()
    assert page.endswith("<br>The lab goes on with your <code>Layer</code>.</p>") and page.count("<p>") == 1
    for answer, says in ((TWICE, "Twice."), (START, "Not done yet: write your answer"), (None, "a class")):
        assert linear.use(answer) is Layer and says in repr(shown[-1])
        assert repr(shown[-1]).endswith("\nUntil it is right, the lab goes on with the course's `Layer`.")


def test_a_mistake_that_raises_is_named_when_the_answer_raises_alike():
    verdict = double(lambda x: torch.matmul(x, x))
    assert verdict.mistake == "times its transpose" and "Lab 3, “The layer”" in repr(verdict)


def test_an_error_of_that_kind_is_not_enough_beside_right_numbers():
    """PyTorch raises RuntimeError for all sorts of reasons."""
    rows = dataclasses.replace(double, mistakes=edits("squared: x + x => x + x.view(len(x))"))
    assert rows(lambda x: x + x.view(len(x))).mistake == "squared"
    assert rows(lambda x: 2 * x if x.dim() == 1 else x @ x).mistake == "sizes that do not fit"


def test_an_unknown_mistake_says_where_and_by_how_much():
    def answer(x):
        result = 2 * x
        result.view(-1)[-1] += 0.5
        return result

    words = "trial 1 (x (3, 2))", "1 of 6", "by up to 0.5", "[2, 1]"
    assert double(answer).mistake == "other numbers" and all(word in repr(double(answer)) for word in words)


half = Exercise(lambda x: 1 / x, [Case({"x": 2})], lambda x: 1 / x, [], tried="2", see="Lab 1")


def test_two_numbers_that_differ_are_told_with_digits_enough_to_see_it():
    assert "0.50001 instead of 0.5 " in repr(half(lambda x: 1 / x + 1.2e-5))
    assert "0.6667 instead of 0.5 " in repr(half(lambda x: 2 / 3 + 0 * x))


def test_numbers_that_the_truth_leaves_open_are_not_compared_but_must_be_numbers():
    def filled(value, at=0):
        return lambda x: (x + x).index_fill(0, torch.tensor([at]), value)

    lenient = dataclasses.replace(double, truth=filled(torch.nan))
    assert lenient(filled(7.0)) and not lenient(filled(7.0, at=1))
    assert lenient(filled(torch.nan)).mistake == "not a number"
    assert lenient(lambda x: (x * x).index_fill(0, torch.tensor([0]), 7.0)).mistake == "squared"


@pytest.mark.parametrize(
    "mistake, answer",
    [
        ("the sign turned round", lambda x: -2 * x),
        ("wrong by a factor", lambda x: 7 * x),
        ("other numbers", lambda x: 2 * x if x.dim() == 2 else 3 * x),
        ("wrong shape", lambda x: 3 * x + 1 if x.dim() == 2 else x[:2]),  # told before numbers that are wrong
        ("an axis too many", lambda x: 2 * x[None]),
        ("an axis is missing", lambda x: 2 * x[0]),
        ("axes in the wrong order", lambda x: 2 * x.T if x.dim() == 2 else 2 * x),
        ("sizes that do not fit", lambda x: x @ torch.ones(7, 7)),
        ("an axis that is not there", lambda x: x.sum(dim=5)),
        ("an argument is not used", lambda x: draw(3, 2)),
        ("a global in place of the argument", lambda x: 2 * x + GLOBAL),
        ("wrong type", lambda x: "a word"),
        ("wrong type", lambda x: (2 * x).numpy()),
        ("wrong type", lambda x: (2 * x).tolist()),
        ("wrong dtype", lambda x: (2 * x).long()),
        ("not a number", lambda x: x / 0 * 0),
        ("not a function", Layer(2, 2)(draw(2, 2).float())),
        ("changes its input", lambda x: (2 * x, x.zero_())[0]),
    ],
)
def test_what_is_wrong_in_general_has_a_name(mistake, answer):
    assert double(answer).mistake == mistake


GLOBAL = torch.ones(())


# --- what answers do ---------------------------------------------------------------------------------------------


def not_done(x):
    raise NotImplementedError  # your turn


@pytest.mark.parametrize("check, answer", [(double, not_done), (linear, START)])
def test_a_starting_cell_is_not_done_yet(check, answer):
    verdict = check(answer)
    assert (verdict.state, verdict.mistake) == ("not done yet", None) and not verdict
    assert "Not done yet" in repr(verdict)


def test_an_answer_that_raises_is_told_its_line_or_its_number_where_no_source_is_to_be_had():
    def raises(x):
        doubled = x + x
        return doubled["key"]

    assert 'in the line `return doubled["key"]`' in repr(double(raises))
    names = {}
    exec(compile("def answer(x):\n    y = x\n    return y + missing\n", "<nowhere>", "exec"), names)
    assert "NameError in line 3 of the cell" in repr(double(names["answer"]))


def descends(x):
    return descends(x) + 1


def lacks_a_kernel(x):
    raise NotImplementedError("no such kernel")  # with words it is no untouched cell


@pytest.mark.parametrize(
    "answer, words",
    [
        (lambda x: sys.exit(3), "SystemExit"),
        (descends, "RecursionError"),
        (lambda x, y: x, "missing 1 required"),
        (lacks_a_kernel, "no such kernel"),
    ],
)
def test_nothing_that_an_answer_raises_comes_through(answer, words):
    verdict = double(answer)
    assert verdict.mistake == "raises" and words in repr(verdict)


def spins_and_catches_everything(x):
    while True:
        try:
            time.sleep(10)
        except:  # noqa: E722
            pass


def spins_in_torch(x):
    while True:
        x = x + 1


def cleans_up_for_ever(x):
    try:
        while True:
            pass
    finally:
        time.sleep(10)


def prints_for_ever(x):
    while True:
        print("x" * 1_000_000)


@pytest.mark.parametrize("answer", [spins_and_catches_everything, spins_in_torch, cleans_up_for_ever, prints_for_ever])
def test_an_answer_that_never_ends_is_stopped(answer, monkeypatch):
    monkeypatch.setattr(run, "SECONDS", 0.3)
    begin = time.monotonic()
    assert double(answer).mistake == "never ends" and 0.2 < time.monotonic() - begin < 10
    time.sleep(0.2)  # an alarm left running would end this test
    assert sys.gettrace() is None or "coverage" in repr(sys.gettrace())


def test_without_alarms_the_check_goes_on_and_says_so(monkeypatch):
    monkeypatch.delattr("signal.SIGALRM")
    verdict = double(lambda x: 2 * x)
    assert verdict and "could not have been stopped" in repr(verdict)


def test_the_time_limit_leaves_no_module_half_imported(tmp_path, monkeypatch):
    lines = "import time", "for _ in range(14):", "    time.sleep(0.05)", "whole = True"
    (tmp_path / "slow_to_import.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(run, "SECONDS", 0.3)

    def answer(x):
        import slow_to_import

        return 2 * x if slow_to_import.whole else x

    assert double(answer)


def test_the_readers_own_interrupt_comes_through():
    def answer(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        double(answer)


def test_what_an_answer_prints_is_swallowed_and_its_warnings_are_no_errors(capfd):
    def answer(x):
        print("x" * 10_000_000)
        print("y", file=sys.stderr)
        warnings.warn("z", stacklevel=1)
        return 2 * x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert double(answer)
    assert capfd.readouterr() == ("", "")


def test_random_states_dtype_and_gradients_are_as_before():
    def answer(x):
        for module in (random, np.random):
            module.seed(5)
        torch.manual_seed(5)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float16)
        return 2 * x

    def state():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    before = state()
    assert double(answer) and linear(Layer)  # in single precision, or the next call, would not
    assert state() == before
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()


def test_one_call_of_the_readers_code_leaves_nothing_to_the_next():
    assert run.guarded(lambda: torch.set_default_dtype(torch.float16)) is None
    assert torch.get_default_dtype() == torch.float32


class Odd(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("leave me alone")


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: (2 * x).to(torch.complex128),
        lambda x: torch.empty(x.shape, device="meta"),
        lambda x: (2 * x).to_sparse(),
        lambda x: (2 * x).as_subclass(Odd),
        lambda x: (row for row in x),
        lambda x: double,
    ],
    ids=["complex", "meta", "sparse", "of its own kind", "a generator", "itself"],
)
def test_the_oddest_result_gets_a_verdict_that_says_what_it_is(answer):
    verdict = double(answer)
    assert verdict.mistake == "wrong type" and "asks for a torch tensor" in repr(verdict)


def test_a_case_is_told_without_its_place_in_memory():
    case = Case({"train": draw, "random": torch.Generator(), "seeds": [0, 1]})
    assert str(case) == "train = <function draw>, random = <torch._C.Generator object>, seeds = [0, 1]"


def test_numbers_of_every_kind_are_numbers():
    for value in (0.5, Fraction(1, 2), np.float32(0.5), np.array(0.5), torch.tensor(0.5)):
        assert half(lambda x, value=value: value)
    for value in (0.4999, True, "0.5", [0.5], np.array([0.5])):
        assert not half(lambda x, value=value: value)
    pair = dataclasses.replace(half, truth=lambda x: (1 / x, 2.0))
    for value in ((0.5, 2), [0.5, 2.0], np.array([0.5, 2]), torch.tensor([0.5, 2])):
        assert pair(lambda x, value=value: value)


# --- layers ------------------------------------------------------------------------------------------------------

LINEAR, PROJECT = "nn.Linear(dim, key_dim)", "self.project(features)"
PARAMETER = layer(f"{LINEAR} => nn.Parameter(torch.randn(dim, key_dim)) && {PROJECT} => features @ self.project")
LYING = layer(f"{LINEAR} => nn.Parameter(torch.randn(key_dim, dim)) && {PROJECT} => features @ self.project.T")
IN_SINGLE = layer("features.sum() => (torch.ones(8, dtype=torch.float32) @ features.flatten(0, 1)).sum()")


@pytest.mark.parametrize("sizes", [(3, 3), (3, 5)])
@pytest.mark.parametrize("answer", [PARAMETER, LYING, IN_SINGLE], ids=["parameter", "lying", "single precision"])
def test_a_layer_may_keep_its_matrix_either_way_round_and_be_in_single_precision(answer, sizes):
    assert dataclasses.replace(linear, cases=[Case({"features": draw(2, 4, 3)}, sizes)])(answer)


@pytest.mark.parametrize(
    "mistake, answer",
    [
        ("not a class", Layer(3, 5)),
        ("not a class", lambda dim, key_dim: Layer(dim, key_dim)),
        ("not a layer", dict),
        ("super().__init__() is missing", layer("super().__init__() => pass")),
        ("parameters created inside forward", layer("return self => self.__init__(3, 5); return self")),
        (
            "weights not registered",
            layer(f"nn.Linear => torch.randn && {PROJECT} => features @ self.project"),
        ),
        ("a linear map is missing", layer("self.project => self.other")),
        ("wrong width", layer(f"{LINEAR} => nn.Linear(dim, dim)")),  # told before anything that follows from it
        ("cut off from the gradient", layer(f"{PROJECT} => {PROJECT}.detach()")),
        ("doubled", TWICE),
        ("wrong type", layer(", features.sum() =>")),
    ],
)
def test_a_wrong_layer_is_named(mistake, answer):
    assert linear(answer).mistake == mistake


def test_an_exercise_may_ask_for_a_gradient_rule_out_a_function_and_refuse_by_a_view():
    learning = dataclasses.replace(double, learns=("x",))
    assert learning(twice) and learning(lambda x: 2 * x.detach()).mistake == "cut off from the gradient"
    by_hand = dataclasses.replace(double, without=("add",))
    assert by_hand(twice) and by_hand(lambda x: torch.add(x, x)).mistake == "the work left to another function"

    def view(given, x):
        raise Wrong("no nn.Linear")

    assert dataclasses.replace(double, view=view)(twice).mistake == "no nn.Linear"


# --- the package -------------------------------------------------------------------------------------------------


def test_the_package_is_quick_to_import():
    heavy = ("sklearn", "matplotlib", "pandas", "datasets", "transformers", "IPython", "sympy")
    code = f"import sys, shared.check; print([name for name in {heavy} if name in sys.modules])"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stdout + found.stderr


def test_a_mistake_that_does_not_fit_its_solution_says_so():
    with pytest.raises(ValueError, match="squared: `x [+] y` does not stand in the solution"):
        edits("squared: x + y => x * y")[0].edited(double.source)


def test_the_guide_s_exercise_works_as_the_guide_says(tmp_path, monkeypatch):
    """An instructor who types what stands in the guide has a check that knows its mistakes."""
    guide = (ROOT / "book/instructors.md").read_text()
    lines = guide.split("<!-- write shared/check/your_labs.py -->\n```python\n")[1].split("```")[0]
    (tmp_path / "your_labs.py").write_text(lines.replace("from .", "from shared.check."))
    monkeypatch.syspath_prepend(tmp_path)
    from your_labs import cosine_scores

    assert cosine_scores(cosine_scores.solution)
    for mistake, solution in cosine_scores.edited:
        assert cosine_scores(solution).mistake == mistake.name
    assert len(cosine_scores.edited) == 3
