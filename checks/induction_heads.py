"""The checks of *Induction heads*: a score for heads, a game with a leak, a layer ablated at some positions."""

import copy
from functools import partial

import torch
from torch import Tensor, nn

from checks.compare import WrongShape, WrongType
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw
from shared.model import MultiHeadSelfAttention, causal_mask

GAME = "Induction heads, “A game of pairs”"


# --- follow_score --------------------------------------------------------------------------------------------------


def by_a_dictionary(weights, ids):
    """The mean weight on the token that followed the last time."""
    last, total, count = {}, 0.0, 0
    for t, letter in enumerate(ids.tolist()):
        if letter in last:
            total, count = total + weights[t, last[letter] + 1].item(), count + 1
        last[letter] = t
    return total / max(count, 1)


def after_the_last(weights, t, earlier):
    return [weights[t, max(earlier) + 1]]


def mean_weight(weights, ids, pick=after_the_last, candidates=range, divide=lambda found, ids: sum(found) / len(found)):
    """The right way, one step of which a known mistake exchanges; `candidates(t)` are the positions looked through."""
    found = []
    for t in range(len(ids)):
        if earlier := [s for s in candidates(t) if 0 <= s < len(ids) - 1 and s != t and ids[s] == ids[t]]:
            found += pick(weights, t, earlier)
    return divide(found, ids) if found else 0.0


def first_time(weights, t, earlier):
    """s is the first earlier position with the letter. Take the last one: `max`."""
    return [weights[t, min(earlier) + 1]]


def letter_itself(weights, t, earlier):
    """The weight is that on the letter's last position. Take the position after it, column s + 1."""
    return [weights[t, max(earlier)]]


def letter_before(weights, t, earlier):
    """The weight is that on the position before s. What followed is in column s + 1."""
    return [weights[t, max(earlier) - 1]]


def rows_and_columns_exchanged(weights, t, earlier):
    """Rows and columns of the weights are exchanged. The query token t is the row, the key token s + 1 the column."""
    return [weights[max(earlier) + 1, t]]


def all_earlier_times(weights, t, earlier):
    """All earlier positions with the letter count. Take only the last one."""
    return [weights[t, s + 1] for s in earlier]


def previous_token(weights, t, earlier):
    """The weight is that on the token before t. Find where the letter was last, at s, and take column s + 1."""
    return [weights[t, t - 1]]


def last_but_one_at_latest(t):
    """A letter twice in a row is left out. There s is t - 1, so look through `range(t)`."""
    return range(t - 1)


def later_positions_too(t):
    """Later positions with the letter count, too. s comes before t: look through `range(t)`."""
    return range(100)  # of which those of the text are looked through


def divided_by_all_positions(found, ids):
    """The sum is divided by the length of the text. Divide by the number of weights that are in it."""
    return sum(found) / len(ids)


def sum_of_weights(found, ids):
    """The weights are summed. Return their mean."""
    return sum(found)


def text(*ids, seed=0):
    weights = (2 * draw(len(ids), len(ids), seed=seed)).softmax(dim=1)
    return Case({"weights": weights, "ids": torch.tensor(ids)})


follow_score = Check(
    reference=by_a_dictionary,
    cases=[
        text(3, 1, 4, 1, 5, 3, 1, 6), text(2, 2, 7, 2, 9, 7, seed=1), text(0, 1, 2, 3, seed=2), text(5, 6, 5, seed=3),
        text(4),
    ],
    mistakes=[
        *(changed(mean_weight, pick=step) for step in (
            first_time, letter_itself, letter_before, rows_and_columns_exchanged, all_earlier_times, previous_token)),
        *(changed(mean_weight, candidates=step) for step in (last_but_one_at_latest, later_positions_too)),
        *(changed(mean_weight, divide=step) for step in (divided_by_all_positions, sum_of_weights)),
    ],
    section="Induction heads, “Exercise 12.1 (build): the induction score”",
)  # fmt: skip


# --- fix_the_game --------------------------------------------------------------------------------------------------


def orders(ids):
    """The shown and the asked pairs, (num_texts, num_pairs, 2) each, and which shown pair each asked one is."""
    shown, asked = ids.reshape(len(ids), 2, -1, 2).unbind(1)
    same = asked[:, :, None, 0] == shown[:, None, :, 0]  # (num_texts, asked, shown)
    return shown, asked, same.int().argmax(2), bool((same.sum(2) == 1).all() and (same.sum(1) == 1).all())


def rules(ids, num_texts, num_pairs, num_letters, random):
    """Raise Wrong at the first rule of the game that some text breaks."""
    if not isinstance(ids, Tensor) or ids.is_floating_point():
        raise WrongType(own=f"a {type(ids).__name__} of numbers", right="a tensor of integers", where="the ids")
    if ids.shape != (num_texts, 4 * num_pairs):
        raise WrongShape(own=tuple(ids.shape), right=(num_texts, 4 * num_pairs), where="the ids")
    shown, asked, order, each_once = orders(ids)  # order (num_texts, num_pairs)
    first, second, several = shown[..., 0], shown[..., 1], num_texts > 1
    as_given = torch.randperm(num_pairs, generator=torch.Generator().manual_seed(0))
    known = any((order[:, n] == order[0, n]).all() for n in (0, -1))
    known = known or ((order - order[:, :1]) % num_pairs == torch.arange(num_pairs)).all()
    broken = [
        (ids.min() < 0 or ids.max() >= num_letters, "not_a_letter",
         "An id is not that of a letter: they are 0 to num_letters - 1."),
        (first.sort().values.diff().min() == 0, "first_letters_twice",
         "The first letters of a text are not all different, so a question has two answers."),
        (not each_once, "not_the_shown_pairs",
         "The second half does not ask for each of the shown pairs once. Change only their order."),
        (not asked[..., 1].equal(second.gather(1, order)), "pairs_torn_apart",
         "The letters of a pair are torn apart in the second half. One order must move both letters of a pair."),
        (several and ((first == first[0]).all() or (second == second[0]).all()), "texts_alike",
         "All texts have the same letters. Draw them for each text."),
        (several and (order == as_given).all(), "fault_left",
         "The fault is left: one order, drawn with a fixed seed, serves all texts of all calls. Draw an order for each "
         "text, from `random`."),
        (several and (order == order[0]).all(), "one_order_for_all_texts",
         "All texts of a call have the same order, so a head finds each answer by position. Draw one for each text."),
        (several and known, "order_partly_known",
         "A part of the order is known in advance: one question is fixed, or the others follow from it. Draw a whole "
         "permutation for each text."),
        (several and len(((second - first) % num_letters).unique()) < num_letters / 4, "second_from_first",
         "The second letter follows from the first, so a model can answer without looking back. Draw both."),
    ]  # fmt: skip
    for is_broken, name, sentence in broken:
        if is_broken:
            raise Wrong(sentence, name)
    return torch.tensor(1.0)


def draws_from_random(answer):
    """One seed gives one set of texts, and another seed other letters and other orders."""
    one, again, other = (answer(20, 8, 52, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    (shown, _, order, _), (shown_other, _, order_other, _) = orders(one), orders(other)
    if not one.equal(again):
        raise Wrong("The same seed gives different texts, so something is not drawn from `random`. Write "
                    "`generator=random` in each call that draws.", "not_drawn_from_random")  # fmt: skip
    if order.equal(order_other) or any(shown[..., n].equal(shown_other[..., n]) for n in (0, 1)):
        raise Wrong("Another seed gives the same orders or letters, so something is drawn with a fixed seed. Write "
                    "`generator=random` in each call that draws.", "own_seed")  # fmt: skip


fix_the_game = Check(
    reference=lambda **_: torch.tensor(1.0),
    cases=[
        Case({"num_texts": n, "num_pairs": pairs, "num_letters": letters, "random": torch.Generator().manual_seed(1)})
        for n, pairs, letters in ((200, 8, 52), (100, 5, 6), (1, 3, 7))
    ],
    mistakes=[],
    section=GAME,
    canonical=rules,
    last_look=draws_from_random,
)  # fmt: skip


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


class Ablated(nn.Module):
    """A layer whose output is zero at some positions."""

    def __init__(self, layer, places):
        super().__init__()
        self.layer, self.places = layer, places

    def forward(self, x, attention_mask):
        output, weights = self.layer(x, attention_mask=attention_mask)
        return output.masked_fill(self.places[:, None], 0.0), weights


def by_a_module(model, layer, places, measure):
    changed = copy.deepcopy(model)
    changed.layers[layer] = Ablated(changed.layers[layer], places)
    return measure(model), measure(changed)


def ablated(model, layer, places, measure, edit=lambda output, places: output * ~places[:, None], choose=None):
    """The right way, one step of which a known mistake exchanges: what is done to an output, and in which layers."""
    changed = copy.deepcopy(model)
    for number, one in enumerate(changed.layers):
        if number in (choose(len(changed.layers), layer) if choose else [layer]):
            one.W_output.register_forward_hook(lambda part, inputs, output: edit(output, places))
    return measure(model), measure(changed)


def all_positions(output, places):
    """The layer is ablated at all positions. Set its output to zero only where `places` is True."""
    return 0 * output


def other_positions(output, places):
    """The layer is ablated where `places` is False. Set its output to zero where `places` is True."""
    return output * places[:, None]


def next_positions(output, places):
    """The positions are shifted by one. `places` says at which position the layer adds nothing."""
    return output * ~places.roll(1)[:, None]


def first_text_only(output, places):
    """The layer is ablated in the first text only. `places` holds for every text of the batch."""
    return torch.cat([output[:1] * ~places[:, None], output[1:]])


def all_layers(num_layers, layer):
    """All layers are ablated. Change only `model.layers[layer]`."""
    return range(num_layers)


def layer_before(num_layers, layer):
    """Another layer is ablated. Layers are counted from 0: `model.layers[layer]`."""
    return [(layer - 1) % num_layers]


def input_ablated(model, layer, places, measure):
    """The input of `W_output` is set to zero, so its bias is still added. Set its output to zero."""
    changed = copy.deepcopy(model)
    changed.layers[layer].W_output.register_forward_pre_hook(lambda part, inputs: inputs[0] * ~places[:, None])
    return measure(model), measure(changed)


def not_ablated(model, layer, places, measure):
    """Both numbers are those of the unchanged model. Measure the ablated one, too."""
    return (measure(model),) * 2


def difference_returned(model, layer, places, measure):
    """The second number is the difference. Return both measurements."""
    before, after = ablated(model, layer, places, measure)
    return before, before - after


def ablated_first(model, layer, places, measure):
    """The two numbers are in the wrong order. The unchanged model comes first."""
    return ablated(model, layer, places, measure)[::-1]


def leaves_no_trace(answer):
    """The model is what it was, even when the measure raises on the ablated one."""
    model, places = Model(2, 3), torch.tensor([True, False, True, True, False])
    whole = squares(model)

    def fails(changed):
        if squares(changed) != whole:
            raise ArithmeticError
        return whole

    for measure, when in ((squares, ""), (fails, " when `measure` raises")):
        try:
            answer(model, 0, places, measure)
        except ArithmeticError:
            pass
        if squares(model) != whole:
            raise Wrong(f"The model is still ablated after the call{when}. Change a copy (`copy.deepcopy`), or remove "
                        "the hook in a `finally`.", "model_left_ablated")  # fmt: skip


def ablation(num_layers, layer, d_model, *positions, measure=squares):
    places = torch.isin(torch.arange(TEXTS.shape[1]), torch.tensor(positions))
    return Case({"model": Model(num_layers, d_model), "layer": layer, "places": places, "measure": measure})


with_and_without = Check(
    reference=by_a_module,
    cases=[
        ablation(2, 0, 3, 1, 3), ablation(3, 2, 4, 0, 3, 4), ablation(4, 1, 5, 2), ablation(3, 1, 2, 0, 1),
        ablation(2, 1, 3, 2, 4, measure=partial(squares, texts=TEXTS[:1])),
    ],
    mistakes=[
        *(changed(ablated, edit=step) for step in (all_positions, other_positions, next_positions, first_text_only)),
        *(changed(ablated, choose=step) for step in (all_layers, layer_before)),
        input_ablated, not_ablated, difference_returned, ablated_first,
    ],
    section="Induction heads, “Ablate a head, then a single cell”",
    last_look=leaves_no_trace,
)  # fmt: skip
