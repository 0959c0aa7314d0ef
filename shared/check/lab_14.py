"""The checks of lab 14: a score for heads, a game that gave its answers away, an experiment that leaves no trace."""

import copy

import torch
from torch import Tensor, nn

from ..model import MultiHeadSelfAttention, causal_mask
from .compare import check_shape
from .exercise import Case, Exercise, draw
from .mistakes import Wrong, edits

GAME = "Lab 14, “A game of pairs”"
AWAY = "Lab 14, “Take one away”"

# --- 14.1 --------------------------------------------------------------------------------------------------------


def follow_score(weights, ids):
    """The mean weight on the token that followed the last time."""
    found = []
    for t in range(len(ids)):
        earlier = [s for s in range(t) if ids[s] == ids[t]]
        if earlier:
            found.append(weights[t, max(earlier) + 1])
    return sum(found) / len(found) if found else 0.0


def by_a_dictionary(weights, ids):
    last, total, times = {}, 0.0, 0
    for t, letter in enumerate(ids.tolist()):
        if letter in last:
            total, times = total + weights[t, last[letter] + 1].item(), times + 1
        last[letter] = t
    return total / max(times, 1)


def text(*ids: int, seed: int = 0) -> Case:
    weights = draw(len(ids), len(ids), seed=seed).mul(2).softmax(dim=1)
    return Case({"weights": weights, "ids": torch.tensor(ids)})


AT = "weights[t, max(earlier) + 1]"

follow_score = Exercise(
    follow_score,
    cases=[
        text(3, 1, 4, 1, 5, 3, 1, 6),
        text(2, 2, 7, 2, 9, 7, seed=1),
        text(0, 1, 2, 3, seed=2),
        text(5, 6, 5, seed=3),
    ],
    truth=by_a_dictionary,
    tried="texts in which letters come once, twice and three times, also side by side",
    see="Lab 14, “Exercise 14.1 (build): what followed last time”",
    mistakes=edits(f"""
        the first time, not the last: max(earlier) => min(earlier)
        the token itself, not what followed: max(earlier) + 1 => max(earlier)
        what came before, not what followed: max(earlier) + 1 => max(earlier) - 1
        rows and columns exchanged: {AT} => weights[max(earlier) + 1, t]
        the same column for all: {AT} => weights[t, t - 1] || weights[t, t] || weights[t, 1]
        all earlier times: found.append({AT}) => found += [weights[t, s + 1] for s in earlier] ||
            found.append(sum(weights[t, s + 1] for s in earlier))
        the row before: {AT} => weights[t - 1, max(earlier) + 1]
        summed over the rows: sum(found) / len(found) => sum(found)
        two places later: max(earlier) + 1 => max(earlier) + 2
        not divided by how many there are: / len(found) => * len(found) ||
            sum(found) / len(found) => len(found) / sum(found) || sum(found) / len(found) => len(found)
        divided by all places [texts]: / len(found) => / len(ids)
        the last place alone [weights]: sum(found) / len(found) => found[-1]
        no answer where no token comes twice: return sum(found) / len(found) if found else 0.0 =>
            return sum(found) / len(found) || if found else 0.0 => if found else None || if found else torch.nan
        no letter is found again: => return 0.0
        a letter twice in a row left out: range(t) if => range(t - 1) if
        later places taken for earlier ones: range(t) if => range(len(ids) - 1) if s != t and
        other letters in place of the same: == ids[t] => != ids[t]
    """),
)

# --- 14.2 --------------------------------------------------------------------------------------------------------


def mend_the_game(num_texts, num_pairs, num_letters, random):
    """Texts of pairs shown and pairs asked, (num_texts, 4 num_pairs)."""
    first = torch.rand(num_texts, num_letters, generator=random).argsort(dim=1)[:, :num_pairs]
    second = torch.randint(num_letters, (num_texts, num_pairs), generator=random)
    shown = torch.stack([first, second], dim=2)  # (num_texts, num_pairs, 2)
    order = torch.rand(num_texts, num_pairs, generator=random).argsort(dim=1)  # (num_texts, num_pairs)
    asked = shown.gather(1, order[:, :, None].expand(-1, -1, 2))  # (num_texts, num_pairs, 2)
    return torch.cat([shown, asked], dim=1).flatten(1)


def game_kept(given, num_texts, num_pairs, num_letters, random):
    """The rules of the game, one after the other; 1.0 when all are kept."""
    if not isinstance(given, Tensor):
        return given
    check_shape(given, (num_texts, 4 * num_pairs), "")
    shown, asked = given.view(num_texts, 2, num_pairs, 2).unbind(1)  # (num_texts, num_pairs, 2)
    if given.is_floating_point() or given.min() < 0 or given.max() >= num_letters:
        raise Wrong("no letters", GAME)
    same = asked[:, :, None, 0] == shown[:, None, :, 0]  # (num_texts, asked, shown)
    if (shown[:, :, None, 0] == shown[:, None, :, 0]).sum() > num_texts * num_pairs:
        raise Wrong("first letters that come twice", GAME)
    if (same.sum(2) != 1).any() or (same.sum(1) != 1).any():
        raise Wrong("not the pairs that were shown", GAME)
    order = same.int().argmax(2)  # (num_texts, num_pairs)
    if not torch.equal(asked[..., 1], shown[..., 1].gather(1, order)):
        raise Wrong("pairs torn apart", GAME)
    if (shown[..., 1] == shown[:1, :, 1]).all() or (shown[..., 0] == shown[:1, :, 0]).all():
        raise Wrong("all texts are alike", GAME)
    if (order == torch.arange(num_pairs)).all():
        raise Wrong("asked in the order of showing", GAME)
    if (order == order[:1]).all():
        as_given = torch.randperm(num_pairs, generator=torch.Generator().manual_seed(0))  # in the starting cell
        raise Wrong("one order for all texts" + " [drawn]" * (not torch.equal(order[0], as_given)), GAME)
    if ((order - order[:, :1]) % num_pairs == torch.arange(num_pairs)).all():
        raise Wrong("the order only turned round the circle", GAME)
    if (order[:, 0] == order[0, 0]).all() or (order[:, -1] == order[0, -1]).all():
        raise Wrong("a question at a fixed place", GAME)
    if ((shown[..., 1] - shown[..., 0]) % num_letters).unique().numel() < num_letters / 4:
        raise Wrong("the second letter follows from the first", GAME)
    return torch.tensor(1.0)


def draws_from_random(answer, go):
    """One seed gives one set of texts, and another seed other letters and other orders."""
    one, again, other = (go(answer, 20, 8, 52, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    if not torch.equal(one, again):
        raise Wrong("not drawn from random", GAME)
    shown = [given.view(20, 2, 8, 2)[:, 0] for given in (one, other)]  # (texts, num_pairs, 2)
    asked = [given.view(20, 2, 8, 2)[:, 1] for given in (one, other)]  # (texts, num_pairs, 2)
    orders = [(a[:, :, None, 0] == s[:, None, :, 0]).int().argmax(2) for a, s in zip(asked, shown, strict=True)]
    if torch.equal(*orders) or any(torch.equal(*(s[..., which] for s in shown)) for which in (0, 1)):
        raise Wrong("not drawn from random [same again]", GAME)


FIRST, ORDER, SECOND = (
    "torch.rand(num_texts, num_letters, generator=random).argsort(dim=1)[:, :num_pairs]",
    "torch.rand(num_texts, num_pairs, generator=random).argsort(dim=1)",
    "torch.randint(num_letters, (num_texts, num_pairs), generator=random)",
)

mend_the_game = Exercise(
    mend_the_game,
    cases=[
        Case(
            {"num_texts": texts, "num_pairs": pairs, "num_letters": letters, "random": torch.Generator().manual_seed(1)}
        )
        for texts, pairs, letters in ((200, 8, 52), (100, 5, 6))
    ],
    truth=lambda **_: torch.tensor(1.0),
    view=game_kept,
    also=draws_from_random,
    tried="200 texts of eight pairs and 100 of five",
    see=GAME,
    mistakes=edits(f"""
        one order for all texts [drawn]: {ORDER} => torch.randperm(num_pairs, generator=random).expand(num_texts, -1)
        asked in the order of showing: asked], => shown],
        the order only turned round the circle: {ORDER} =>
            (torch.arange(num_pairs) + torch.randint(num_pairs, (num_texts, 1), generator=random)) % num_pairs
        a question at a fixed place: {ORDER} => torch.cat([torch.zeros(num_texts, 1, dtype=torch.long),
            1 + torch.rand(num_texts, num_pairs - 1, generator=random).argsort(dim=1)], dim=1)
        pairs torn apart: [:, :, None].expand(-1, -1, 2) => [:, :, None].expand(-1, -1, 2).clone() &&
            return => asked[..., 1] = shown[..., 1]; return
        not the pairs that were shown: {ORDER} => torch.randint(num_pairs, (num_texts, num_pairs), generator=random)
        first letters that come twice: {FIRST} =>
            torch.randint(num_letters, (num_texts, num_pairs), generator=random)
        all texts are alike: {SECOND} => torch.arange(num_pairs).expand(num_texts, -1)
        the second letter follows from the first: {SECOND} => (first + 1) % num_letters
        no letters: dim=1).flatten(1) => dim=1).flatten(1) + num_letters
    """),
)

# --- 14.3 --------------------------------------------------------------------------------------------------------


def with_and_without(model, layer, places, measure):
    """What `measure` says of the model, and of the model with one layer silenced at some places."""
    before, changed = measure(model), copy.deepcopy(model)
    heard = ~places[:, None]  # (tokens, 1)
    changed.layers[layer].W_output.register_forward_hook(lambda part, given, added: heard * added)
    return before, measure(changed)


TEXTS = torch.tensor([[2, 0, 1, 3, 3], [1, 3, 0, 2, 1]])


class Model(nn.Module):
    """Adds what its layers say, as the lab's does, and gives the features."""

    def __init__(self, num_layers, dim):
        super().__init__()
        self.letters = nn.Embedding(4, dim)
        self.layers = nn.ModuleList(MultiHeadSelfAttention(dim, 1) for _ in range(num_layers))
        for number, parameter in enumerate(self.parameters()):
            parameter.data = draw(*parameter.shape, seed=number)

    def forward(self, ids):
        features, maps = self.letters(ids), []  # (batch, tokens, dim)
        for layer in self.layers:
            attended, weights = layer(features, attention_mask=causal_mask(ids.shape[1]))
            features = features + attended  # (batch, tokens, dim)
            maps.append(weights)
        return features, maps


def said(model):
    """A number in which each place of each text has its own share."""
    with torch.no_grad():
        return shares(model(TEXTS)[0])


def shares(features):
    squares = (features**2).sum(dim=2).flatten()
    return (squares * torch.arange(1, len(squares) + 1)).sum().item()


def said_by_layers(model, layer, places, measure):
    """Layer by layer, with zeros in what the silent one adds."""
    found = []
    for silent in (None, layer):
        features = model.letters(TEXTS)
        for number, one in enumerate(model.layers):
            added, _ = one(features, attention_mask=causal_mask(TEXTS.shape[1]))
            features = features + added.masked_fill((places & (number == silent))[:, None], 0.0)
        found.append(shares(features))
    return tuple(found)


def leaves_no_trace(answer, go):
    model, places = Model(2, 3), torch.tensor([True, False, True, True, False])
    whole = said(model)
    go(lambda: answer(model, 0, places, said))
    if said(model) != whole:
        raise Wrong("the model is left changed", AWAY)

    def fails_on_another(given):
        if said(given) != whole:
            raise ArithmeticError("measured on a silenced model")
        return whole

    go(lambda: answer(model, 0, places, fails_on_another))
    if said(model) != whole:
        raise Wrong("the model is left changed by a failure", AWAY)


def silencing(num_layers: int, layer: int, dim: int, *places: int) -> Case:
    marked = torch.isin(torch.arange(TEXTS.shape[1]), torch.tensor(places))
    return Case({"model": Model(num_layers, dim), "layer": layer, "places": marked, "measure": said})


WHERE, SILENT = "heard * added", "W_output.register_forward_hook(lambda part, given, added: heard * added)"
READS = "register_forward_pre_hook(lambda part, given: heard * given[0])"
ALL_OF_THEM = f"[one.{SILENT} for one in changed.layers"

with_and_without = Exercise(
    with_and_without,
    cases=[silencing(2, 0, 3, 1, 3), silencing(3, 2, 4, 0, 3, 4), silencing(4, 1, 5, 2), silencing(3, 1, 2, 0, 1)],
    truth=said_by_layers,
    also=leaves_no_trace,
    tried="models of 2, 3 and 4 layers, each silenced at other places, and a measure that fails",
    see=AWAY,
    mistakes=edits(f"""
        silent at all places: {WHERE} => 0 * added
        the other places silenced: ~places => places
        the neighbours silenced: ~places => ~places.roll(1) || ~places.roll(-1)
        one text silenced: {WHERE} => torch.cat([{WHERE}[:1], added[1:]]) || torch.cat([added[:1], {WHERE}[1:]])
        all layers silenced: changed.layers[layer].{SILENT} => {ALL_OF_THEM}]
        another layer silenced: changed.layers[layer] => changed.layers[layer - 1] || changed.layers[0] ||
            changed.layers[-1]
        all layers but this one: changed.layers[layer].{SILENT} =>
            {ALL_OF_THEM} if one is not changed.layers[layer]]
        the bias is left: {SILENT} => W_output.{READS}
        what the layer reads is silenced: {SILENT} => {READS}
        measured without a change [layer]: measure(changed) => measure(model)
        the difference alone: return before, measure(changed) => return before - measure(changed)
        results in the wrong order [before]: return before, measure(changed) => return measure(changed), before
        the difference in place of the second: before, measure(changed) => before, before - measure(changed)
        ones in place of zeros [layer]: {WHERE} => torch.where(heard, added, 1.0)
        added in place of multiplied: {WHERE} => heard + added
        no model is measured: measure(changed) => measure(layer) || changed = measure(model) => changed = measure(layer)
        no model is copied: copy.deepcopy(model) => copy.deepcopy(layer) || copy.deepcopy(before)
        measured after the change both times: return before, => return measure(changed),
    """),
)
