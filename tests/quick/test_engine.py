"""Claims about the engine of the checks: it survives whatever the reader's code does, and says what that was."""

import contextlib
import dataclasses
import random
import sys
import time

import numpy as np
import pytest
import torch
from torch import nn

import checks
from checks import engine
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw


def squared(x):
    """You squared x."""
    return x * x


double = Check(
    reference=lambda x: 2 * x,
    cases=[Case({"x": draw(3, 2)}), Case({"x": draw(5)})],
    mistakes=[squared],
    section="Keys, “The task”",
    needs_gradient=("x",),
    forbidden=("lerp",),
)


class Layer(nn.Module):
    """The right answer to `linear`, a reader's."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.project = nn.Linear(d_in, d_out)

    def forward(self, x, mask):
        return self.project(x) * mask[:, None]


class OfTheCourse(Layer):
    """The same, the course's."""


def doubled(x, mask, project):
    """You doubled it."""
    return 2 * project(x) * mask[:, None]


def case(mask, seed=0, **sizes):
    return Case({"x": draw(len(mask), 3, seed=seed), "mask": torch.tensor(mask)}, sizes or {"d_in": 3, "d_out": 5})


linear = Check(
    reference=lambda x, mask, project: project(x) * mask[:, None],
    solution=OfTheCourse,
    parts=("project",),
    cases=[case([True, False]), case([False, True], 1), case([True], d_in=3, d_out=2)],
    mistakes=[doubled],
    section="Keys, “The task”",
)


def layer(forward=None, init=None):
    """The right layer with another `forward`, or with more in its `__init__`."""

    class Answer(Layer):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            if init:
                init(self)

    if forward:
        Answer.forward = forward
    return Answer


class InEitherOrientation(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.project = nn.Parameter(torch.randn(*((d_out, d_in) if d_out == 5 else (d_in, d_out))))

    def forward(self, x, mask):
        return x @ (self.project if len(self.project) == 3 else self.project.T) * mask[:, None]


class WithoutSuper(nn.Module):
    def __init__(self, d_in, d_out):
        self.project = nn.Linear(d_in, d_out)

    def forward(self, x, mask):
        return self.project(x)


class OneUnderscore(nn.Module):
    def _init_(self, d_in, d_out):
        self.project = nn.Linear(d_in, d_out)


class WithoutSelf(Layer):
    def forward(x, mask):
        return x


def keeps_the_first_mask(self, x, mask):
    self.mask = getattr(self, "mask", mask)
    return self.project(x) * self.mask[: len(x), None]


def uses_dropout(self, x, mask):
    return nn.functional.dropout(self.project(x), training=self.training) * mask[:, None]


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


def not_done(x):
    raise NotImplementedError


def takes_for_ever(x):
    while True:
        try:
            x = x + 1
        except Exception:
            pass


def survives_one_alarm(x):
    with contextlib.suppress(BaseException):
        time.sleep(3)
    time.sleep(3)
    return 2 * x


def changes(x):
    x += x
    return x


an_alias = torch.lerp


def by_a_helper(x):
    return an_alias(x, 3 * x, 0.5)


class Empty(Layer):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.project.bias.data.fill_(torch.nan)


ANSWERS = [
    (double, lambda x: x + x, ""),
    (double, lambda x: 2 * x if x.requires_grad else (2 * x).numpy(), ""),  # NumPy will do
    (double, lambda x: x @ torch.eye(x.shape[-1], dtype=torch.float32) * 2, ""),  # single precision will do, too
    (double, lambda x: x**2, "squared"),
    (double, lambda x: 2.001 * x, "OtherNumbers"),
    (double, lambda x: (2 * x.float()).to(x.dtype), ""),  # single precision inside
    (double, lambda x: torch.randn(len(x)).sum() * 0 + 2 * x, ""),  # on the default device, whatever that is
    (double, lambda x: 2 * x if x.dtype == torch.float64 else torch.dot(x.sum(), x.double()), "Raises"),  # labs need it
    (double, not_done, "not done yet"),
    (double, takes_for_ever, "OutOfTime"),
    (double, survives_one_alarm, "OutOfTime"),
    (double, changes, "ChangesItsInput"),
    (double, lambda x: None, "ReturnsNothing"),
    (double, lambda x: (2 * x, x), "TooManyResults"),
    (double, lambda x: {1: 2 * x}, "WrongType"),
    (double, lambda x: 2 * x[None], "AxisOfLengthOne"),
    (double, lambda x: torch.cat([x, 2 * x]), "MoreThanTheResult"),
    (double, lambda x: x / 0 * 0, "NotANumber"),
    (double, lambda x: sys.exit(), "Raises"),
    (double, lambda x: x @ torch.ones(7, 2), "ProductDoesNotFit"),
    (double, lambda x: x + x if x > 0 else 2 * x, "OneTruthValue"),
    (double, lambda x: x.transpose(1, 2), "AxisCountedFromTheFront"),
    (double, lambda x: x[torch.tensor([9])], "IndexOfAnotherAxis"),
    (double, lambda x, y: x, "OtherArguments"),
    (double, lambda x: torch.lerp(x, 3 * x, 0.5), "ForbiddenName"),
    (double, lambda x: by_a_helper(x), "ForbiddenName"),
    (double, Layer, "NotTheThingItself"),
    (double, lambda x: (2 * x).detach(), "GradientCutOff"),
    (linear, Layer, ""),
    (linear, InEitherOrientation, ""),
    (linear, lambda x: x, "NotTheThingItself"),
    (linear, WithoutSuper, "SuperMissing"),
    (linear, Empty, "EmptyParameter"),
    (linear, OneUnderscore, "OtherArguments"),
    (linear, WithoutSelf, "OtherArguments"),
    (linear, layer(init=lambda self: setattr(self, "project", nn.Linear(3, 5))), "WrongWidth"),
    (linear, layer(init=lambda self: setattr(self, "blocks", [nn.Linear(3, 5)])), "PlainList"),
    (linear, layer(lambda self, x, mask: 2 * self.project(x) * mask[:, None]), "doubled"),
    (linear, layer(init=lambda self: delattr(self, "project")), "PartMissing"),
    (linear, layer(uses_dropout), "DiffersBetweenCalls"),
    (linear, layer(keeps_the_first_mask), "OtherNumbers"),
]


@pytest.mark.parametrize(("check", "answer", "mistake"), ANSWERS)
def test_what_can_be_wrong_in_any_exercise_has_a_sentence(check, answer, mistake, monkeypatch, capfd):
    monkeypatch.setattr(engine, "SECONDS", 0.5)
    begin, before = time.monotonic(), states()
    verdict = check(answer)
    assert (verdict.mistake or verdict.state) == (mistake or "correct"), verdict
    assert time.monotonic() - begin < 5 and capfd.readouterr() == ("", "")
    assert states() == before
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()


def test_an_error_comes_with_the_reader_s_own_line():
    def answer(x):
        twice = x + x
        return twice.view(7, 7)

    assert "in the line `return twice.view(7, 7)`: shape '[7, 7]' is invalid" in repr(double(answer))


def test_a_general_answer_says_how_many_numbers_differ_where_and_what_to_read():
    sentence = repr(double(lambda x: 2 * x + (x == x.flatten()[-1])))
    assert sentence.startswith("1 of 6 numbers differ, first at [2, 1]: your code gives ")
    assert sentence.endswith(": case 1 (x (3, 2)). Read again: Keys, “The task”.")


def test_an_answer_that_changes_its_input_leaves_the_cases_as_they_were():
    assert double(lambda x: x.mul_(2)).mistake == "ChangesItsInput"
    assert not double(lambda x: x.mul_(0)) and double.cases[0].inputs["x"].abs().min() > 0


def test_a_wrong_shape_is_told_before_numbers_and_a_few_integers_are_shown():
    pair = Check(lambda ids: (ids, ids), [Case({"ids": torch.tensor([2, 7])})], [], "Keys, “The task”")
    sentence = repr(pair(lambda ids: (ids + 1, ids[None])))
    assert sentence.startswith("The shape is (1, 2) instead of (2,): `result[1]` in case 1 (ids = [2, 7]).")


def test_a_notebook_shows_code_as_code_and_goes_on_with_the_course_s_until_the_answer_is_right(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    mine = layer()
    assert linear.use(mine) is mine and linear.use(None) is OfTheCourse
    assert shown[0]._repr_html_() == "<p>Correct in all 3 cases.<br>The lab goes on with yours.</p>"
    assert "<code>self</code>" in linear(WithoutSelf)._repr_html_()


def test_the_course_s_own_is_never_called_right_whatever_was_run_before(monkeypatch):
    monkeypatch.setattr("IPython.display.display", lambda verdict: None)
    name = linear.use(lambda x: x)
    for _ in range(2):
        verdict = linear(name)
        assert verdict.state == "not done yet" and "This is the course's class, not yours" in verdict.sentence
        name = linear.use(name)
    assert linear.use(layer()) is not name, "a cell that was run again counts"


@pytest.mark.parametrize("check", [checks.masked_softmax, checks.learned_query, checks.masked_mean], ids="fcr")
def test_what_shared_or_a_check_has_is_not_the_reader_s(check):
    course = check.solution or check.reference
    inherited = type("SelfAttention", (course,), {}) if isinstance(course, type) else course
    for lazy in (course, check.reference, inherited):
        assert check(lazy).state != "correct"
    assert "not yours" in check(inherited).sentence


def test_tables_can_say_whose_the_layer_is():
    assert (checks.whose(Layer), checks.whose(Layer, "yours")) == ("your", "yours")
    assert checks.whose(checks.learned_query.solution) == "the course's"


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_a_default_device_makes_no_difference(device):
    with torch.device(device):
        assert linear(layer()) and double(lambda x: 2 * x)


def test_a_notebook_that_has_switched_gradients_off_makes_no_difference():
    with torch.no_grad():
        assert linear(layer()) and double(lambda x: 2 * x)
        assert double(lambda x: (2 * x).detach()).mistake == "GradientCutOff"


def test_large_parameters_make_another_layer_even_of_equal_sizes():
    clamped = layer(lambda self, x, mask: self.project(x).clamp(-50, 50) * mask[:, None])
    large = dataclasses.replace(linear.cases[0], parameter_scale=1000.0)
    assert linear(clamped)
    assert dataclasses.replace(linear, cases=[*linear.cases, large])(clamped).mistake == "OtherNumbers"


def hooked(net):
    net.register_forward_hook(lambda part, inputs, output: 0 * output)
    return 0.0


def replaced(net):
    net.forward = lambda x: x
    return 0.0


@pytest.mark.parametrize("answer", [hooked, replaced])
def test_a_model_that_is_left_with_a_hook_or_another_method_is_changed(answer):
    leaves = Check(lambda net: 0.0, [Case({"net": nn.Linear(2, 2)})], [], "Keys, “The task”")
    assert leaves(answer).mistake == "ChangesItsInput"
    assert leaves(lambda net: 0.0 * net.eval()(torch.ones(2, dtype=net.weight.dtype)).sum().item())


def test_no_mistake_is_named_where_every_case_raises_or_has_no_number():
    def raises(x):
        """You raise."""
        raise RuntimeError("no")

    def nothing_but_nan(x):
        """You divide by 0."""
        return x / 0 * 0

    check = dataclasses.replace(double, mistakes=[raises, nothing_but_nan])
    assert check(lambda x: raises(x)).mistake == "Raises"
    assert check(lambda x: x * torch.nan).mistake == "NotANumber"


def test_a_mistake_with_some_nan_in_every_case_is_named():
    def without_the_first(x):
        """You divide the first one by 0."""
        return (2 * x).index_fill(0, torch.tensor([0]), torch.nan)

    check = dataclasses.replace(double, mistakes=[without_the_first])
    assert check(lambda x: without_the_first(x)).mistake == "without_the_first"


def test_two_known_mistakes_at_once_have_both_sentences():
    def compute(x, factor=lambda: 2, shift=lambda: 0):
        return factor() * x + shift()

    def three():
        """The factor is 3."""
        return 3

    def one():
        """One is added."""
        return 1

    mistakes = [changed(compute, factor=three), changed(compute, shift=one)]
    verdict = dataclasses.replace(double, mistakes=mistakes)(lambda x: 3 * x + 1)
    assert verdict.sentence.startswith("Two mistakes at once. The factor is 3. One is added.")


def test_a_dict_that_is_built_in_another_way_is_told_where():
    pairs = Check(lambda x: {1: (x, x), 2: (x, x)}, [Case({"x": draw(2)})], [], "Keys, “The task”")
    sentence = pairs(lambda x: {1: (x, x), 2: x[0]}).sentence
    assert "instead of 2 results, (·, ·): `result[2]` in case 1" in sentence


def test_when_the_time_is_up_the_best_verdict_so_far_counts(monkeypatch):
    def slow(x):
        """Slow."""
        time.sleep(5)

    monkeypatch.setattr(engine, "SECONDS", 1.0)
    verdict = dataclasses.replace(double, mistakes=[slow])(lambda x: 3 * x)
    assert verdict.mistake == "OtherNumbers"
    assert "busy" in double(takes_for_ever).sentence


def test_where_many_answers_are_right_a_canonical_form_is_compared():
    def in_order(result, x):
        if len(result) != len(x):
            raise Wrong("Give as many numbers as there are.", "too few")
        return sorted(result)

    ordered = Check(lambda x: [1, 2, 3], [Case({"x": [3, 1, 2]})], [], "Keys, “The task”", canonical=in_order)
    assert ordered(lambda x: x) and ordered(lambda x: np.array(x)) and ordered(lambda x: x[1:]).mistake == "too few"


def test_what_no_known_mistake_explains_leads_to_a_step_of_the_page_on_debugging():
    class Shifted(Layer):
        def forward(self, x, mask):
            return super().forward(x, mask) + x.mean()

    page = "of the page “A way to debug attention”."
    assert linear(Shifted).sentence.endswith(f"Read again: Keys, “The task”. Find it with step 6 {page}")
    assert page not in double(lambda x: 3 * x).sentence, "an exercise without attention"
