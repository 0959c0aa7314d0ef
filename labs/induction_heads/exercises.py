"""The checks of *Induction heads*: a score for heads, a game with a leak, a layer ablated at some positions."""

import copy
import math
from functools import partial

import torch
from torch import Tensor, nn

from checks.compare import WrongType, kind
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw, leaves_the_model
from shared.model import MultiHeadSelfAttention, causal_mask

# --- follow_score --------------------------------------------------------------------------------------------------


def after_the_last(weights, t, earlier):
    return [weights[t, max(earlier) + 1]]


def mean_of_those_found(found, ids):
    return sum(found) / len(found)


def before(t, length):
    return range(t)


def mean_weight(weights, ids, pick=after_the_last, divide=mean_of_those_found, places=before):
    """The right way, one step of which a known mistake exchanges; `earlier` are the letter's earlier positions."""
    found = []
    for t in range(len(ids)):
        if earlier := [s for s in places(t, len(ids)) if ids[s] == ids[t]]:
            found += pick(weights, t, earlier)
    return divide(found, ids) if found else 0.0


def first_time(weights, t, earlier):
    """s is the first earlier position with the letter. Take the last one: `max`."""
    return [weights[t, min(earlier) + 1]]


def letter_itself(weights, t, earlier):
    """This is the weight on the letter's last position. Take the position after it, column s + 1."""
    return [weights[t, max(earlier)]]


def rows_and_columns_exchanged(weights, t, earlier):
    """Rows and columns of the weights are swapped. The query token t is the row, the key token s + 1 the column."""
    return [weights[max(earlier) + 1, t]]


def row_of_the_next_letter(weights, t, earlier):
    """The row is one too far: the query is the letter itself, at t. Only the column is that of what followed, s + 1."""
    return [weights[t + 1, max(earlier) + 1]] if t + 1 < len(weights) else []


def all_earlier_times(weights, t, earlier):
    """All earlier positions with the letter are counted. Take only the last one."""
    return [weights[t, s + 1] for s in earlier]


def divided_by_all_positions(found, ids):
    """The sum is divided by the length of the text. Divide by the number of weights that are in it."""
    return sum(found) / len(ids)


def sum_of_weights(found, ids):
    """The weights are summed. Return their mean."""
    return sum(found)


def direct_repetitions_missed(t, length):
    """A letter that follows itself directly is missed. All positions before t count: `range(t)`, not `range(t - 1)`."""
    return range(t - 1)


def later_times(t, length):
    """Later positions with the letter are counted, too. Look only at those before t."""
    return [s for s in range(length - 1) if s != t]


def nan_without_repetition(weights, ids):
    """NaN: in a text where no letter occurs twice, there are no weights to average. Return 0 for it."""
    return mean_weight(weights, ids) if len(ids.unique()) < len(ids) else math.nan


def always_zero(weights, ids):
    """The score is always 0. Are tensors the keys of a dict? Equal ones are different keys: use `ids.tolist()`."""
    return 0.0


def text(*ids, seed=0):
    weights = (2 * draw(len(ids), len(ids), seed=seed)).softmax(dim=1)
    return Case({"weights": weights, "ids": torch.tensor(ids)})


follow_score = Check(
    reference=mean_weight,
    cases=[
        text(3, 1, 4, 1, 5, 3, 1, 6), text(2, 2, 7, 2, 9, 7, seed=1), text(0, 1, 2, 3, seed=2), text(5, 6, 5, seed=3),
        text(4),
    ],
    mistakes=[
        *(changed(mean_weight, pick=step)
          for step in (
              first_time, letter_itself, rows_and_columns_exchanged, row_of_the_next_letter, all_earlier_times)),
        changed(mean_weight, divide=divided_by_all_positions), changed(mean_weight, divide=sum_of_weights),
        changed(mean_weight, places=direct_repetitions_missed), changed(mean_weight, places=later_times),
        nan_without_repetition, always_zero,
    ],
    section="Induction heads, “Exercise 1 (build): the induction score”",
)  # fmt: skip


# --- fix_the_game --------------------------------------------------------------------------------------------------


def orders(ids):
    """The shown and the asked pairs, (num_texts, num_pairs, 2) each, and which shown pair each asked one is."""
    shown, asked = ids.reshape(len(ids), 2, -1, 2).unbind(1)
    same = asked[:, :, None, 0] == shown[:, None, :, 0]  # (num_texts, asked, shown)
    return shown, asked, same.int().argmax(2)


class NotTheLetters(Wrong):
    """The ids are those of letters, 0 to num_letters - 1, and the first letters of a text are all different."""


class NotTheShownPairs(Wrong):
    """The second half does not ask for each of the shown pairs once. One order moves both letters of a pair."""


class LettersNotDrawn(Wrong):
    """All texts have the same letters, or the second letter of a pair follows from the first. Draw both letters for
    each text."""


class BugLeft(Wrong):
    """The bug is left: one order, drawn with a fixed seed, serves all texts of all calls. Draw an order for each text,
    from `random`."""


class OrderKnown(Wrong):
    """The order, or a part of it, is the same in all texts of a call, so a head can find answers by position. Draw a
    whole permutation for each text.
    """


def rules(ids, num_texts, num_pairs, num_letters, random):
    """Raise Wrong at the first rule of the game that some text breaks."""
    shape = (num_texts, 4 * num_pairs)
    if not isinstance(ids, Tensor) or ids.is_floating_point() or ids.shape != shape:
        raise WrongType(own=kind(ids), right=f"integers in a tensor of shape {shape}", where="the ids")
    shown, asked, order = orders(ids)  # order (num_texts, num_pairs)
    first, second = shown[..., 0], shown[..., 1]
    if ids.min() < 0 or ids.max() >= num_letters or first.sort().values.diff().min() == 0:
        raise NotTheLetters
    each_once = order.sort().values.equal(torch.arange(num_pairs).expand(num_texts, -1))
    if not each_once or not asked.equal(shown.gather(1, order[:, :, None].expand(-1, -1, 2))):
        raise NotTheShownPairs
    if num_texts == 1:  # one text does not tell what is drawn
        return torch.tensor(1.0)
    same_in_all = (first == first[0]).all() or (second == second[0]).all()
    if same_in_all or len(((second - first) % num_letters).unique()) < num_letters / 4:
        raise LettersNotDrawn
    if (order == torch.randperm(num_pairs, generator=torch.Generator().manual_seed(0))).all():
        raise BugLeft
    often = (order[:, :, None] == torch.arange(num_pairs)).sum(dim=0).max()  # of one pair at one place
    expected, possible = num_texts / num_pairs, math.factorial(num_pairs)
    different = len(order.unique(dim=0)) / (possible * (1 - (1 - 1 / possible) ** num_texts))  # of those expected
    if often > expected + 7 * math.sqrt(expected) or different < 0.7:
        raise OrderKnown
    return torch.tensor(1.0)


class NotDrawnFromRandom(Wrong):
    """The same seed gives different texts, or another seed the same letters or orders, so something is not drawn from
    `random`. Write `generator=random` in each call that draws."""


def draws_from_random(answer):
    """One seed gives one set of texts, and another seed other letters and other orders."""
    one, again, other = (answer(20, 8, 52, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    (shown, _, order), (shown_other, _, order_other) = orders(one), orders(other)
    repeated = order.equal(order_other) or any(shown[..., n].equal(shown_other[..., n]) for n in (0, 1))
    if repeated or not one.equal(again):
        raise NotDrawnFromRandom


fix_the_game = Check(
    reference=lambda **_: torch.tensor(1.0),
    cases=[
        Case({"num_texts": n, "num_pairs": pairs, "num_letters": letters, "random": torch.Generator().manual_seed(1)})
        for n, pairs, letters in ((200, 8, 52), (100, 5, 6), (1, 3, 7))
    ],
    mistakes=[],
    section="Induction heads, “A game of pairs”",
    canonical=rules,
    last_look=draws_from_random,
)


# --- with_and_without ----------------------------------------------------------------------------------------------


class Model(nn.Module):
    """Adds the outputs of its layers, as the lab's model does, and gives the hidden states."""

    def __init__(self, num_layers, d_model):
        super().__init__()
        self.letters = nn.Embedding(4, d_model)
        self.layers = nn.ModuleList(MultiHeadSelfAttention(d_model, 1) for _ in range(num_layers))
        for seed, parameter in enumerate(self.parameters()):
            parameter.data = draw(*parameter.shape, seed=seed)

    def forward(self, ids):
        x = self.letters(ids)  # (batch, tokens, d_model)
        for layer in self.layers:
            x = x + layer(x, attention_mask=causal_mask(ids.shape[1]))[0]
        return x


TEXTS = torch.tensor([[2, 0, 1, 3, 3], [1, 3, 0, 2, 1]])


@torch.no_grad()
def squares(model, texts=TEXTS):
    """A number to which each position of each text contributes in its own way."""
    lengths = (model(texts) ** 2).sum(dim=2).flatten()
    return (lengths * torch.arange(1, len(lengths) + 1)).sum().item()


def zero_at(output, places):
    return output * ~places[:, None]


def ablated(model, layer, places, measure, edit=zero_at):
    """The right way, or with another edit of what the layer adds."""
    changed = copy.deepcopy(model)
    changed.layers[layer].W_output.register_forward_hook(lambda part, inputs, output: edit(output, places))
    return measure(model), measure(changed)


def all_positions(output, places):
    """The layer is ablated at all positions. Set its output to zero only where `places` is True."""
    return 0 * output


def other_positions(output, places):
    """The layer is ablated where `places` is False. Set its output to zero where `places` is True."""
    return output * places[:, None]


def input_ablated(model, layer, places, measure):
    """The input of `W_output` is set to zero, so its bias is still added. Set its output to zero."""
    changed = copy.deepcopy(model)
    changed.layers[layer].W_output.register_forward_pre_hook(lambda part, inputs: zero_at(inputs[0], places))
    return measure(model), measure(changed)


def not_ablated(model, layer, places, measure):
    """Both numbers are those of the unchanged model. Measure the ablated one, too; a hook has to return the new
    output."""
    return (measure(model),) * 2


def matrix_of_zeros(model, layer, places, measure):
    """The matrix of `W_output` is zero, which ablates the layer at all positions, and its bias is still added. Set its
    output to zero where `places` is True, with a hook.
    """
    changed = copy.deepcopy(model)
    changed.layers[layer].W_output.weight.data.zero_()
    return measure(model), measure(changed)


def leaves_no_trace(answer):
    model, places = Model(2, 3), torch.tensor([True, False, True, True, False])
    leaves_the_model(lambda measure: answer(model, 0, places, measure), model, squares)


def ablation(num_layers, layer, d_model, *positions, measure=squares):
    places = torch.isin(torch.arange(TEXTS.shape[1]), torch.tensor(positions))
    return Case({"model": Model(num_layers, d_model), "layer": layer, "places": places, "measure": measure})


with_and_without = Check(
    reference=ablated,
    cases=[
        ablation(2, 0, 3, 1, 3), ablation(3, 2, 4, 0, 3, 4), ablation(4, 1, 5, 2), ablation(3, 1, 2, 0, 1),
        ablation(2, 1, 3, 2, 4, measure=partial(squares, texts=TEXTS[:1])),
    ],
    mistakes=[
        *(changed(ablated, edit=step) for step in (all_positions, other_positions)),
        input_ablated, not_ablated, matrix_of_zeros,
    ],
    section="Induction heads, “Paste, ablate, mask a single cell”",
    last_look=leaves_no_trace,
)  # fmt: skip
