"""Claims about every self-check: it survives whatever the reader's code does, and says what that was."""

import dataclasses
import os
import random
import subprocess
import sys
import textwrap
import time
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from shared.check import exercise, run
from shared.check.exercise import Case, Exercise, Verdict, draw
from shared.check.mistakes import edit
from shared.check.run import Wrong


def twice(x):
    return x + x


def by_loops(x):
    return torch.tensor([2 * number for number in x.flatten().tolist()], dtype=x.dtype).reshape(x.shape)


double = Exercise(
    twice,
    cases=[Case({"x": draw(3, 2)}), Case({"x": draw(5)})],
    truth=by_loops,
    see="Lab 1, “Tokens”",
    mistakes=[
        edit("squared", "x + x", "x * x", say="You squared x."),
        edit("times its transpose", "x + x", "x @ x", see="Lab 3, “The layer”", say="You multiplied matrices."),
    ],
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
    mistakes=[edit("doubled", "return self", "return 2 * self", say="Twice.")],
    tried="one batch",
    see="Lab 1, “Tokens”",
    parts=("project",),
    widths=lambda dim, key_dim: {"project": (dim, key_dim)},
)


def ends(answer, exercise=double, within=10.0) -> Verdict:
    """The verdict on an answer, which must come in time."""
    begin = time.monotonic()
    verdict = exercise(answer)
    assert time.monotonic() - begin < within, "the check took too long"
    assert isinstance(verdict, Verdict)
    return verdict


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


def test_a_mistake_that_raises_is_named_when_the_answer_raises_alike():
    assert double(lambda x: torch.matmul(x, x)).mistake == "times its transpose"


def test_an_unknown_mistake_says_where_and_by_how_much():
    def answer(x):
        result = 2 * x
        result.view(-1)[-1] += 0.5
        return result

    verdict = double(answer)
    assert (verdict.state, verdict.mistake) == ("wrong", "other numbers")
    assert "1 of 6" in repr(verdict) and "by up to 0.5" in repr(verdict) and "[2, 1]" in repr(verdict)
    assert "trial 1 (x (3, 2))" in repr(verdict)


def test_an_answer_that_is_right_in_one_trial_only_is_wrong():
    assert double(lambda x: 2 * x if x.dim() == 2 else 3 * x).mistake == "other numbers"


def test_numbers_that_the_truth_leaves_open_are_not_compared_but_must_be_numbers():
    def truth(x):
        return (x + x).index_fill(0, torch.tensor([0]), torch.nan)

    lenient = dataclasses.replace(double, truth=truth)
    assert lenient(lambda x: (2 * x).index_fill(0, torch.tensor([0]), 7.0))
    assert lenient(lambda x: (2 * x).index_fill(0, torch.tensor([0]), torch.nan)).mistake == "not a number"
    assert not lenient(lambda x: (2 * x).index_fill(0, torch.tensor([1]), 7.0))
    assert lenient(lambda x: (x * x).index_fill(0, torch.tensor([0]), 7.0)).mistake == "squared"


def test_a_failure_that_shows_in_the_shape_is_told_before_one_in_numbers():
    verdict = double(lambda x: 3 * x + 1 if x.dim() == 2 else x[:2])
    assert verdict.mistake == "wrong shape" and "trial 2" in repr(verdict)


@pytest.mark.parametrize(
    "answer, mistake",
    [
        (lambda x: -2 * x, "the sign turned round"),
        (lambda x: 7 * x, "wrong by a factor"),
        (lambda x: 2 * x[None], "an axis too many"),
        (lambda x: 2 * x[0], "an axis is missing"),
        (lambda x: 2 * x.T if x.dim() == 2 else 2 * x, "axes in the wrong order"),
        (lambda x: x @ torch.ones(7, 7), "sizes that do not fit"),
        (lambda x: x.sum(dim=5), "an axis that is not there"),
        (lambda x: draw(3, 2), "an argument is not used"),
        (lambda x: 2 * x + GLOBAL, "a global in place of the argument"),
    ],
)
def test_what_is_wrong_in_general_has_a_name(answer, mistake):
    assert double(answer).mistake == mistake


GLOBAL = torch.ones(())


# --- what answers do ---------------------------------------------------------------------------------------------


def not_done(x):
    raise NotImplementedError  # your turn


class NotDoneLayer(Layer):
    def forward(self, features):
        raise NotImplementedError  # your turn


@pytest.mark.parametrize("exercise, answer", [(double, not_done), (linear, NotDoneLayer)])
def test_a_starting_cell_is_not_done_yet(exercise, answer):
    verdict = exercise(answer)
    assert (verdict.state, verdict.mistake) == ("not done yet", None) and not verdict
    assert "Not done yet" in repr(verdict)


def raises(x):
    doubled = x + x
    return doubled["key"]


def test_an_answer_that_raises_is_told_its_line():
    verdict = double(raises)
    assert verdict.mistake in ("raises", "an axis that is not there")
    assert 'in the line `return doubled["key"]`' in repr(verdict)


def test_the_line_is_numbered_where_no_source_is_to_be_had():
    names = {}
    exec(compile("def answer(x):\n    y = x\n    return y + missing\n", "<nowhere>", "exec"), names)
    assert "NameError in line 3 of the cell" in repr(double(names["answer"]))


def test_a_kernel_that_torch_lacks_is_an_error_and_not_an_untouched_cell():
    def answer(x):
        raise NotImplementedError("no such kernel")

    assert double(answer).mistake == "raises"


def leaves(x):
    sys.exit(3)


def descends(x):
    return descends(x) + 1


def wrong_arguments(x, y):
    return x


@pytest.mark.parametrize(
    "answer, words", [(leaves, "SystemExit"), (descends, "RecursionError"), (wrong_arguments, "missing 1 required")]
)
def test_nothing_that_an_answer_raises_comes_through(answer, words):
    verdict = ends(answer)
    assert verdict.mistake == "raises" and words in repr(verdict)


def spins(x):
    while True:
        pass


def spins_and_catches_exceptions(x):
    while True:
        try:
            time.sleep(10)
        except Exception:
            pass


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


@pytest.mark.parametrize(
    "answer",
    [spins, spins_and_catches_exceptions, spins_and_catches_everything, spins_in_torch, cleans_up_for_ever],
)
def test_an_answer_that_never_ends_is_stopped(answer, monkeypatch):
    monkeypatch.setattr(run, "SECONDS", 0.3)
    assert ends(answer).mistake == "never ends"
    time.sleep(0.2)  # an alarm left running would end this test
    assert sys.gettrace() is None or "coverage" in repr(sys.gettrace())


def test_without_alarms_the_check_goes_on_and_says_so(monkeypatch):
    monkeypatch.delattr("signal.SIGALRM")
    verdict = double(lambda x: 2 * x)
    assert verdict and "could not have been stopped" in repr(verdict)


def test_the_readers_own_interrupt_comes_through():
    def answer(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        double(answer)


def test_what_an_answer_prints_is_swallowed(capfd):
    def answer(x):
        print("x" * 10_000_000)
        print("y", file=sys.stderr)
        warnings.warn("z", stacklevel=1)
        return 2 * x

    assert ends(answer)
    assert capfd.readouterr() == ("", "")


def test_warnings_are_no_errors_even_where_they_would_be():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert double(lambda x: warnings.warn("old", stacklevel=1) or 2 * x)


def test_one_call_of_the_readers_code_leaves_nothing_to_the_next():
    assert run.guarded(lambda: torch.set_default_dtype(torch.float16)) is None
    assert torch.get_default_dtype() == torch.float32


def test_endless_output_is_stopped_after_two_seconds():
    def answer(x):
        while True:
            print("x" * 1_000_000)

    begin = time.monotonic()
    assert ends(answer).mistake == "never ends"
    assert time.monotonic() - begin > 1.9


@pytest.mark.parametrize("change", ["add_", "zero_"])
def test_an_answer_that_changes_its_input_is_told_so(change):
    def answer(x):
        result = 2 * x
        getattr(x, change)(*([x] if change == "add_" else []))
        return result

    assert double(answer).mistake == "changes its input"


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
    assert double(answer)
    assert linear(Layer)
    assert state() == before
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()


WRONG_KINDS = {
    "returns nothing": lambda x: None,
    "wrong type": lambda x: "a word",
    "an axis too many": lambda x: (2 * x)[None],
    "wrong dtype": lambda x: (2 * x).long(),
    "not a number": lambda x: x / 0 * 0,
}


@pytest.mark.parametrize("name", WRONG_KINDS)
def test_a_wrong_kind_of_result_is_named(name):
    assert double(WRONG_KINDS[name]).mistake == name


def test_numpy_and_lists_are_no_tensors():
    for answer in (lambda x: (2 * x).numpy(), lambda x: (2 * x).tolist(), lambda x: 3):
        assert double(answer).mistake == "wrong type"
    assert "a numpy array" in repr(double(lambda x: (2 * x).numpy()))


class Odd(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("leave me alone")


ODD = {
    "complex": lambda x: (2 * x).to(torch.complex128),
    "meta": lambda x: torch.empty(x.shape, device="meta"),
    "sparse": lambda x: (2 * x).to_sparse(),
    "of its own kind": lambda x: (2 * x).as_subclass(Odd),
    "a generator": lambda x: (row for row in x),
    "itself": lambda x: double,
}


@pytest.mark.parametrize("name", ODD)
def test_the_oddest_result_gets_a_verdict_that_says_what_it_is(name):
    assert double(ODD[name]).mistake == "wrong type"
    assert "asks for a torch tensor" in repr(double(ODD[name]))


@pytest.mark.parametrize("answer", [Layer, None, "double", Layer(2, 2)(draw(2, 2).float()), nn.Module])
def test_what_is_no_function_is_no_answer(answer):
    assert double(answer).mistake == "not a function"


def test_what_is_no_class_is_no_layer():
    assert linear(lambda dim, key_dim: Layer(dim, key_dim)).mistake == "not a class"
    assert linear(Layer(3, 5)).mistake == "not a class"
    assert linear(dict).mistake == "not a layer"


# --- layers ------------------------------------------------------------------------------------------------------


class WithParameter(nn.Module):
    def __init__(self, dim, key_dim):
        super().__init__()
        self.project = nn.Parameter(torch.randn(dim, key_dim))

    def forward(self, features):
        return torch.einsum("btd,dk->btk", features, self.project), features.sum()


class InSinglePrecision(Layer):
    def forward(self, features):
        ones = torch.ones(features.shape[:2], dtype=torch.float32)
        return self.project(features), (ones.flatten() @ features.flatten(0, 1)).sum()


@pytest.mark.parametrize("answer", [Layer, WithParameter, InSinglePrecision])
def test_right_layers_of_several_styles_are_correct(answer):
    assert linear(answer), repr(linear(answer))


class WithoutSuper(nn.Module):
    def __init__(self, dim, key_dim):
        self.project = nn.Linear(dim, key_dim)


class MadeInForward(nn.Module):
    def __init__(self, dim, key_dim):
        super().__init__()
        self.sizes = dim, key_dim

    def forward(self, features):
        self.project = nn.Linear(*self.sizes)
        return self.project(features), features.sum()


class NotRegistered(WithParameter):
    def __init__(self, dim, key_dim):
        nn.Module.__init__(self)
        self.project = torch.randn(dim, key_dim)


class OtherName(nn.Module):
    def __init__(self, dim, key_dim):
        super().__init__()
        self.other = nn.Linear(dim, key_dim)

    def forward(self, features):
        return self.other(features), features.sum()


class Detached(Layer):
    def forward(self, features):
        return self.project(features).detach(), features.sum()


class Doubled(Layer):
    def forward(self, features):
        return 2 * self.project(features), features.sum()


class OneResult(Layer):
    def forward(self, features):
        return self.project(features)


WRONG_LAYERS = {
    "super().__init__() is missing": WithoutSuper,
    "parameters created inside forward": MadeInForward,
    "weights not registered": NotRegistered,
    "a linear map is missing": OtherName,
    "cut off from the gradient": Detached,
    "doubled": Doubled,
    "wrong type": OneResult,
}


@pytest.mark.parametrize("name", WRONG_LAYERS)
def test_a_wrong_layer_is_named(name):
    assert linear(WRONG_LAYERS[name]).mistake == name


class SquareAsLinearKeepsIt(nn.Module):
    def __init__(self, dim, key_dim):
        super().__init__()
        self.project = nn.Parameter(torch.randn(key_dim, dim))

    def forward(self, features):
        return features @ self.project.T, features.sum()


@pytest.mark.parametrize("sizes", [(3, 3), (3, 5)])
@pytest.mark.parametrize("answer", [SquareAsLinearKeepsIt, WithParameter])
def test_a_parameter_may_be_kept_either_way_round_even_where_that_does_not_show(answer, sizes):
    assert dataclasses.replace(linear, cases=[Case({"features": draw(2, 4, 3)}, sizes)])(answer)


def test_a_wrong_width_is_told_before_anything_that_follows_from_it():
    class Wide(Layer):
        def __init__(self, dim, key_dim):
            super().__init__(dim, dim)

    assert linear(Wide).mistake == "wrong width"


def test_a_function_whose_gradient_counts_must_not_cut_it():
    learning = dataclasses.replace(double, learns=("x",))
    assert learning(twice)
    assert learning(lambda x: 2 * x.detach()).mistake == "cut off from the gradient"


def test_an_exercise_may_rule_out_the_function_that_does_its_work():
    by_hand = dataclasses.replace(double, without=("add",))
    assert by_hand(twice)
    assert by_hand(lambda x: torch.add(x, x)).mistake == "the work left to another function"


def test_numbers_of_every_kind_are_numbers():
    half = Exercise(one_half, cases=[Case({"x": 2})], truth=lambda x: 1 / x, mistakes=[], tried="2", see="Lab 1")
    for value in (0.5, Fraction(1, 2), np.float32(0.5), np.array(0.5), torch.tensor(0.5)):
        assert half(lambda x, value=value: value)
    for value in (0.4999, True, "0.5", [0.5], np.array([0.5])):
        assert not half(lambda x, value=value: value)
    pair = dataclasses.replace(half, truth=lambda x: (1 / x, 2.0))
    for value in ((0.5, 2), [0.5, 2.0], np.array([0.5, 2]), torch.tensor([0.5, 2])):
        assert pair(lambda x, value=value: value)


def one_half(x):
    return 1 / x


# --- the package -------------------------------------------------------------------------------------------------


def test_the_time_limit_leaves_no_module_half_imported(tmp_path, monkeypatch):
    lines = "import time", "for _ in range(14):", "    time.sleep(0.05)", "whole = True"
    (tmp_path / "slow_to_import.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(run, "SECONDS", 0.3)

    def answer(x):
        import slow_to_import

        return 2 * x if slow_to_import.whole else x

    assert double(answer)


def test_the_package_is_quick_to_import():
    heavy = ("sklearn", "matplotlib", "pandas", "datasets", "transformers", "IPython")
    code = f"import sys, shared.check; print([name for name in {heavy} if name in sys.modules])"
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": str(root)}
    found = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stdout + found.stderr


def test_a_view_may_refuse_an_answer():
    def view(given, x):
        raise Wrong("refused", "No.")

    assert dataclasses.replace(double, view=view)(twice).mistake == "refused"


def test_the_guide_s_exercise_works_as_the_guide_says(tmp_path, monkeypatch):
    """An instructor who types what stands at the head of `exercise.py` has a check that knows its mistakes."""
    lines = exercise.__doc__.split("your_labs.py`:\n")[1].split("\nand in `__init__.py`")[0]
    (tmp_path / "your_labs.py").write_text(textwrap.dedent(lines).replace("from .", "from shared.check."))
    monkeypatch.syspath_prepend(tmp_path)
    from your_labs import cosine_scores

    assert cosine_scores(cosine_scores.solution)
    for mistake, solution in cosine_scores.edited:
        assert cosine_scores(solution).mistake == mistake.name
    assert len(cosine_scores.edited) == len(cosine_scores.mistakes) == 3
