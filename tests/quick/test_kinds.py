"""Claims about checks/kinds.py: what an error or a wrong result tells without the exercise's own known mistakes."""

import numpy as np
import pytest
import torch
from torch import nn

from checks import engine, kinds
from checks.engine import Case, Check
from checks.trials import draw
from shared.input_errors import check_inputs

engine.SECONDS = 120.0  # the machine that runs the tests may be busy


def weights_of(x, mask):
    return x.masked_fill(~mask[:, None, :], -99.0).softmax(-1)


def batch(texts, tokens, seed=0):
    mask = torch.arange(tokens) < torch.tensor([tokens, *[2] * (texts - 1)])[:, None]
    return Case({"x": draw(texts, 4, tokens, seed=seed), "mask": mask})


def check(reference, *cases):
    return Check(reference=reference, cases=cases, mistakes=[], section="Keys, “The task”")


rows = check(weights_of, batch(3, 5), batch(2, 3, 1), batch(5, 6, 2))
pair = check(lambda x: (x.sum(1), x.sum(0)), *(Case({"x": draw(*shape)}) for shape in ((3, 5), (4, 2), (3, 3))))
loss = check(lambda x: x.mean(), *(Case({"x": draw(n, seed=n)}) for n in (3, 5, 8)))
count = check(lambda ids: ids.cumsum(0), *(Case({"ids": torch.arange(3, 3 + n)}) for n in (5, 7)))
either = check(
    lambda mask: mask | mask.flip(0), Case({"mask": torch.arange(6) < 2}), Case({"mask": torch.arange(5) < 2})
)
product = check(lambda first, second: first - 2 * second,
                *(Case({"first": draw(n), "second": draw(n, seed=1)}) for n in (3, 4)))  # fmt: skip
table = check(lambda x: {"mean": (x.mean(), x.std())}, Case({"x": draw(5)}), Case({"x": draw(4)}))
power = check(
    lambda x, n, eps: x**n + eps, Case({"x": draw(3), "n": 3, "eps": 0.5}), Case({"x": draw(4), "n": 4, "eps": 0.1})
)


@pytest.mark.parametrize(
    ("check", "answer", "mistake"),
    [
        (rows, weights_of, ""),
        (rows, lambda x, mask: weights_of(x, mask).mean(1), "ReducedTooMuch"),
        (rows, lambda x, mask: weights_of(x, mask)[:, -1], "PartOfTheResult"),
        (rows, lambda x, mask: weights_of(x, mask).mT, "AxesExchanged"),
        (rows, lambda x, mask: weights_of(x, mask).unsqueeze(1), "AxisOfLengthOne"),
        (rows, lambda x, mask: weights_of(x, mask).square(), "AnotherFunction"),
        (rows, lambda x, mask: weights_of(x, mask).log(), "FunctionMissing"),
        (rows, lambda x, mask: -weights_of(x, mask), "AnotherSign"),
        (rows, lambda x, mask: weights_of(x, ~mask), "ArgumentChanged"),
        (rows, lambda x, mask: x.softmax(-1), "ArgumentChanged"),
        (rows, lambda x, mask: x, "ReturnsItsInput"),
        (rows, lambda x, mask: x.masked_fill(~mask[:, None, :], -99.0).softmax(0), "SumsToOneElsewhere"),
        (rows, lambda x, mask: weights_of(x, mask).sort(-1).values, "InOtherPlaces"),
        (rows, lambda x, mask: (weights_of(x, mask), mask), "TooManyResults"),
        (pair, lambda x: x.sum(1), "TooFewResults"),
        (pair, lambda x: (x.sum(0), x.sum(1)), "ResultsInAnotherOrder"),
        (pair, lambda x: (100 * x.sum(1), 100 * x.sum(0)), "AnotherFactor"),
        (pair, lambda x: (x.sum(1) + 1, x.sum(0) + 1), "AnotherConstant"),
        (loss, lambda x: x.sum(), "TimesACount"),
        (loss, lambda x: 2 * x - x.mean(), "NotReduced"),
        (loss, lambda x: x.mean() / len(x), "DividedByACount"),
        (count, lambda ids: ids.cumsum(0) + 1, "AnotherConstant"),
        (count, lambda ids: ids.cumsum(0).flip(0), "Backwards"),
        (count, lambda ids: ids.cumsum(0).roll(1), "Moved"),
        (count, lambda ids: ids.cumsum(0).double(), "ValuesOfAnotherKind"),
        (either, lambda mask: ~(mask | mask.flip(0)), "Inverted"),
        (product, lambda first, second: second - 2 * first, "ArgumentsExchanged"),
        (product, lambda first, second: first - 2 * first, "AnotherArgument"),
        (product, lambda first, second: first, "ArgumentChanged"),
        (table, lambda x: {"mean": x.mean()}, "TooFewResults"),
        (table, lambda x: {"Mean": (x.mean(), x.std())}, "OtherKeys"),
        (power, lambda x, n, eps: x ** (n - 1) + eps, "ArgumentChanged"),
        (power, lambda x, n, eps: x**n + eps**2, "ArgumentChanged"),
    ],
)  # fmt: skip
def test_what_was_done_to_the_right_result_has_a_name(check, answer, mistake):
    assert check(answer).mistake == mistake


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (rows, lambda x, mask: weights_of(x, mask) ** 1.1),
        (pair, lambda x: (x.sum(1) + x.mean(), x.sum(0))),
        (loss, lambda x: x.median()),  # three numbers have three ratios
        (count, lambda ids: ids * 2 + ids.cumsum(0)),
        (table, lambda x: {"mean": (x.mean(), x.var())} if len(x) == 5 else {"mean": (x.std(), x.std())}),
        (power, lambda x, n, eps: x * n + eps),
    ],
)  # fmt: skip
def test_what_holds_in_one_case_alone_has_none(check, answer):
    assert check(answer).mistake == "OtherNumbers"


@pytest.mark.parametrize(
    "result", [torch.tensor(1j), "text", {1: {2}}, [None], np.array(["a"]), object(), torch.tensor([])]
)
@pytest.mark.parametrize("check", [rows, pair, loss, table])
def test_an_odd_result_is_refused_in_a_sentence(check, result):
    verdict = check(lambda *given: result)
    assert verdict.state == "wrong" and verdict.sentence


x = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("run", "meaning"),
    [
        (lambda: x @ x, "ProductDoesNotFit"),
        (lambda: torch.ones(2, 3, 4) @ torch.ones(2, 3, 4), "ProductDoesNotFit"),
        (lambda: nn.Linear(4, 2)(x), "ProductDoesNotFit"),
        (lambda: x + torch.ones(2), "AxesDoNotLineUp"),
        (lambda: np.ones(3) + np.ones(2), "AxesDoNotLineUp"),
        (lambda: torch.cat([x, torch.ones(2, 2)]), "JoinedAlongAnotherAxis"),
        (lambda: x[torch.tensor([True, False, True])], "TruthValuesOfAnotherAxis"),
        (lambda: torch.arange(3).topk(5), "MoreThanThereAre"),
        (lambda: torch.ones(2, 3, 4).mT.view(2, 12), "ViewNotPossible"),
        (lambda: nn.functional.cross_entropy(torch.ones(2, 3, 5), torch.ones(2, 3).long()), "TargetsOfAnotherShape"),
        (lambda: nn.Linear(2, 2).weight.copy_(torch.ones(2, 2)), "ParameterChangedInPlace"),
        (lambda: setattr(nn.Linear(2, 2), "weight", torch.ones(2, 2)), "NoParameterAssigned"),
        (lambda: 1 / 0, "DividesByZero"),
        (lambda: {}["word"], "KeyMissing"),
        (lambda: {[1]}, "ListAsAKey"),
        (lambda: (lambda a, b: 0)(*[one for one, _ in [1]]), "OneInPlaceOfSeveral"),
        (lambda: check_inputs(torch.ones(1, 2, 3), 3, torch.ones(2, 1) > 0), "MaskOfAnotherShape"),
        (lambda: check_inputs(torch.ones(1, 2, 3), 3, None, torch.zeros(2, 2) > 0), "NothingToAttendTo"),
        (lambda: 1 if x else 2, "OneTruthValue"),
        (lambda: unknown_name, "Raises"),  # noqa: F821
    ],
)  # fmt: skip
def test_an_error_has_a_meaning(run, meaning):
    with pytest.raises(Exception) as error:
        run()
    assert kinds.meaning_of(error.value).__name__ == meaning
