"""Claims about *A language model*: the notepad's lowest loss, its tokens, stages, scores and stored runs."""

import copy
import json
import math
from collections import Counter
from itertools import permutations, product

import pytest
import torch
from matplotlib.patches import PathPatch
from torch import nn
from torch.nn.functional import cross_entropy

from labs.a_language_model import notepad, results
from labs.a_language_model.patterns import ArcsOfDrinks, NumberedArcs, attention_patterns
from labs.a_language_model.reviews_as_tokens import TOKENS, random_windows, tokenizer_with
from labs.a_language_model.stages import (
    BATCH,
    CONTROLS,
    SHORT_CONTEXT,
    STAGES,
    Muon,
    Stage,
    Training,
    make_model,
    orthogonal,
    token_losses,
)
from labs.a_language_model.writing import write
from shared.language_model import LanguageModel
from shared.review_writer import START, TOKENIZER, RotarySelfAttention

# --- the waiter's notepad ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guests, orders, names, drinks", [(2, 2, 3, 2), (2, 3, 2, 3), (3, 3, 3, 2)])
def test_the_lowest_loss_is_the_entropy_of_all_evenings(guests, orders, names, drinks):
    evenings = Counter()
    for there in permutations(range(names), guests):
        for chosen, menu in product(product(there, repeat=orders), product(range(drinks), repeat=names)):
            evenings[tuple((who, menu[who]) for who in chosen)] += 1
    probs = [count / evenings.total() for count in evenings.values()]
    entropy = -sum(p * math.log(p) for p in probs)
    assert notepad.lowest_loss(guests, orders, names, drinks) == pytest.approx(entropy / (2 * orders))


def test_a_guest_orders_the_same_drink_all_evening():
    evenings = notepad.draw_evenings(200, torch.Generator().manual_seed(0)).tolist()
    for evening in evenings:
        orders = list(zip(evening[1::2], evening[2::2], strict=True))
        assert len({name for name, _ in orders}) == len(set(orders)) <= notepad.GUESTS
        assert all(1 <= name <= 8 < drink <= 14 for name, drink in orders)


def test_drinks_are_counted_as_right_only_after_the_first_order():
    class Knows(nn.Module):
        """Predicts the drink that was last ordered by the guest, and water for a new one."""

        def forward(self, ids):
            logits = torch.zeros(*ids.shape, len(notepad.WORDS))
            for text, evening in enumerate(ids.tolist()):
                menu = {}
                for place in range(1, len(evening), 2):
                    logits[text, place, menu.get(evening[place], 12)] = 1
                    menu |= dict([evening[place : place + 2]]) if place + 1 < len(evening) else {}
            return logits

    evenings = notepad.draw_evenings(20, torch.Generator().manual_seed(0))
    assert notepad.drinks_right(Knows(), evenings) == 1
    assert notepad.drinks_right(lambda ids: Knows()(ids).roll(1, dims=2), evenings) == 0


# --- tokens --------------------------------------------------------------------------------------------------------


def merged(word, pairs):
    """Byte-pair encoding as it is explained: one merge after another, in the order in which they were learned."""
    for first, second in pairs:
        place = 0
        while place < len(word) - 1:
            if (word[place], word[place + 1]) == (first, second):
                word[place : place + 2] = [first + second]
            place += 1
    return word


@pytest.mark.parametrize("size", [257, 300, 1024])
def test_a_smaller_tokenizer_applies_the_first_merges_one_after_another(size):
    pairs = json.loads(TOKENIZER.read_text("utf-8"))["model"]["merges"][: size - 257]
    words = ["The", "Ġcinematography", "Ġwas", "Ġunbelievable", "."]
    tokens = tokenizer_with(size).encode("The cinematography was unbelievable.").tokens
    assert tokens == [token for word in words for token in merged(list(word), pairs)]
    assert tokenizer_with(size).get_vocab_size() == size


# --- stages --------------------------------------------------------------------------------------------------------

IDS = torch.randint(TOKENS, (2, 9), generator=torch.Generator().manual_seed(0))
STREAM = torch.randint(TOKENS, (4000,), generator=torch.Generator().manual_seed(1))


def made(stage, seed=0):
    torch.manual_seed(seed)
    return make_model(stage, STREAM)


def attended(block, x):
    allowed = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return x + block.attention(block.attention_norm(x), attention_mask=allowed)[0]


def by_definition(model, stage, ids):
    x = model.embedding.table(ids) + model.embedding.positions[: ids.shape[1]]
    for block in model.blocks:
        x = attended(block, x)
        if stage.feed_forward:
            x = x + block.feed_forward(block.feed_forward_norm(x))
    return model.output(model.norm(x))


@pytest.mark.parametrize("name", [*STAGES, *SHORT_CONTEXT, *CONTROLS])
def test_a_stage_computes_what_its_name_says(name):
    stage = (STAGES | SHORT_CONTEXT | CONTROLS)[name]
    model = made(stage)
    assert len(model.blocks) == stage.blocks
    torch.testing.assert_close(model(IDS), by_definition(model, stage, IDS))
    rotary = [isinstance(block.attention, RotarySelfAttention) for block in model.blocks]
    assert all(rotary) == (not model.embedding.positions.any()) or not rotary


def test_a_token_alone_is_predicted_from_itself_and_its_position():
    logits = made(STAGES["tokens alone"])(IDS)
    other = IDS.clone()
    other[:, :-1] = 5
    torch.testing.assert_close(made(STAGES["tokens alone"])(other)[:, -1], logits[:, -1])


def test_rms_norm_and_swiglu_are_those_of_the_papers():
    norm, x = made(CONTROLS["RMSNorm"]).norm, torch.randn(2, 3, 96)
    torch.testing.assert_close(norm(x), x / (x.pow(2).mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).sqrt())
    swiglu = made(CONTROLS["SwiGLU"]).blocks[0].feed_forward
    gate, up, down = swiglu.gate.weight, swiglu.up.weight, swiglu.down.weight
    torch.testing.assert_close(swiglu(x), ((x @ gate.T) * (x @ gate.T).sigmoid() * (x @ up.T)) @ down.T)
    plain = made(STAGES["+ second block"]).blocks[0].feed_forward
    matrices = [sum(p.numel() for p in layer.parameters() if p.dim() == 2) for layer in (swiglu, plain)]
    assert matrices[0] == matrices[1]


def test_the_larger_model_has_one_matrix_for_tokens_and_wider_layers():
    model, d = made(STAGES["+ larger"]), 128
    assert model.output.weight is model.embedding.table.weight
    of_block = 4 * (d * d + d) + 2 * 4 * d * d + 4 * d + d + 2 * 2 * d  # attention, feed-forward, two norms
    rest = TOKENS * d + TOKENS + 2 * d  # tokens, the read-out's biases, the last norm
    assert sum(parameter.numel() for parameter in model.parameters()) == 2 * of_block + rest


def test_before_training_a_model_knows_how_frequent_tokens_are():
    model = made(STAGES["tokens alone"])
    counts = torch.bincount(STREAM, minlength=TOKENS) + 1
    torch.testing.assert_close(model.output.bias.exp(), counts / len(STREAM))


@pytest.mark.parametrize("context", [2, 4, 8])
def test_each_held_out_token_is_scored_once_from_at_least_half_a_context(context):
    model, half = made(STAGES["+ second block"]), context // 2
    found = token_losses(model, IDS, context)
    for target in range(1, 9):
        start = (target - 1) // half * half
        seen = IDS[:, max(0, start + half - context) : target]
        expected = cross_entropy(model(seen)[:, -1], IDS[:, target], reduction="none")
        torch.testing.assert_close(found[:, target - 1], expected)


@pytest.mark.parametrize("muon", [False, True])
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(muon):
    def training(seed):
        torch.manual_seed(seed)
        model = LanguageModel(TOKENS, d_model=8, num_heads=1, num_blocks=1)
        return Training(model, STREAM, Stage(1, 16, muon=muon, steps=4), seed)

    whole, first = training(0), training(0)
    for _ in range(4):
        whole.step()
    for _ in range(2):
        first.step()
    second = training(1)
    second.load_state_dict(first.state_dict())
    for _ in range(2):
        second.step()
    assert second.done == 4
    torch.testing.assert_close(second.model.state_dict(), whole.model.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 8, 20), (3, 20, 8)])
def test_a_step_of_muon_has_nearly_equal_singular_values(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    along = (left.mT @ orthogonal(matrices) @ right.mT).diagonal(dim1=1, dim2=2)
    assert along.min() > 0.3 and along.max() < 1.3
    torch.testing.assert_close(left * along[:, None] @ right, orthogonal(matrices))


def test_muon_is_that_of_pytorch():
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(shape, generator=generator) for shape in ((12, 8), (8, 12), (8, 8), (8, 8))]
    ours, theirs = ([nn.Parameter(matrix.clone()) for matrix in drawn] for _ in range(2))
    optimizers = Muon(ours, lr=0.02), torch.optim.Muon(theirs, lr=0.02, weight_decay=0.0)
    for _ in range(3):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape, generator=generator)
            other.grad = one.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for one, other, before in zip(ours, theirs, drawn, strict=True):
        torch.testing.assert_close(one, other, atol=2e-3, rtol=0)  # theirs has eight bits
        assert (one - before).abs().max() > 0.02


def test_with_muon_each_parameter_has_one_optimizer():
    model = made(STAGES["+ Muon"])
    adam, muon = Training(model, STREAM, STAGES["+ Muon"], 0).optimizers
    with_muon = [id(parameter) for group in muon.param_groups for parameter in group["params"]]
    with_adam = [id(parameter) for group in adam.param_groups for parameter in group["params"]]
    assert sorted(with_muon + with_adam) == sorted(id(parameter) for parameter in model.parameters())
    names = {name for name, parameter in model.named_parameters() if id(parameter) in with_muon}
    assert len(names) == 2 * 6 and all(name.startswith("blocks") and name.endswith("weight") for name in names)


# --- what the lab shows --------------------------------------------------------------------------------------------


def test_patterns_are_the_weights_of_every_block():
    model = made(STAGES["+ second block"])
    weights = attention_patterns(model, IDS[0])
    x = model.embedding(IDS[:1])
    allowed = torch.ones(9, 9, dtype=torch.bool).tril()
    for block, found in zip(model.blocks, weights, strict=True):
        x, expected = block(x, attention_mask=allowed)
        torch.testing.assert_close(found, expected[0])


def test_writing_takes_the_token_of_the_last_position():
    model, tokenizer = made(STAGES["+ second block"]), tokenizer_with(TOKENS)

    def greedy(logits):
        return torch.nn.functional.one_hot(logits.argmax(), TOKENS).float()

    ids = [START, *tokenizer.encode("I").ids]
    for _ in range(5):
        ids.append(int(model(torch.tensor([ids[-3:]]))[0, -1].argmax()))
    assert START not in ids[1:]
    assert write(model, tokenizer, "I", greedy, context=3, num_tokens=5) == tokenizer.decode(ids[1:])


def test_every_model_that_the_lab_shows_was_trained():
    assert results.PARTS + results.LONGER == list(STAGES)
    assert all(results.runs_of(name) for name in [*STAGES, *results.BY_HEART.values(), *results.COMPARED])


def test_a_gain_is_judged_seed_by_seed(monkeypatch):
    losses = {"tokens alone": (4.0, 4.2, 4.4), "+ attention": (3.9, 4.1, 4.31)}
    stored = {
        f"{name}, seed {i}": {"seed": i, "loss": [loss, 0.1]}
        for name, row in losses.items()
        for i, loss in enumerate(row)
    }
    monkeypatch.setattr(results, "STORED", stored)
    mean, half, shown = results._gain("tokens alone", "+ attention")
    assert mean == pytest.approx(0.097, abs=1e-3)
    assert half == pytest.approx(4.303 * 0.005774 / 3**0.5, abs=1e-3)  # Student's t with two degrees of freedom
    assert shown == "pays"
    assert results._gain("+ attention", "tokens alone")[2] == "costs"
    stored.pop("+ attention, seed 0")
    stored.pop("+ attention, seed 2")
    assert results._gain("tokens alone", "+ attention") == [0.1, "one seed", "a hint"]


def test_the_lab_s_gains_and_leads_are_differences_of_the_stored_losses():
    def loss(name, seed):
        return results.STORED[f"{name}, seed {seed}"]["loss"][0]

    gains = results.gains()
    for before, after in zip(list(STAGES)[:5], list(STAGES)[1:6], strict=True):
        expected = sum(loss(before, seed) - loss(after, seed) for seed in range(3)) / 3
        assert gains[after][0] == pytest.approx(expected, abs=6e-4), after
    longer = loss("16 tokens in sight", 0) - loss("+ longer training", 0)
    assert gains["… trained longer"] == [round(longer, 3), "one seed", "a hint"]
    counted = results.STORED["Kneser-Ney"]
    order = str(counted["order"])
    for name, seed in (("with dropout, twice as long", 0), ("the same, second seed", 1)):
        expected = counted["test"][order][0] - loss("with dropout, twice as long", seed)
        assert results.leads()[name][0] == pytest.approx(expected, abs=2e-4)


def test_rows_say_what_a_part_gains():
    rows = results.with_gains()
    assert [name.split(":")[0] for name in rows] == list(STAGES)[:6] and list(rows)[0] == "tokens alone"
    for (_, before), (name, after) in zip(list(rows.items()), list(rows.items())[1:], strict=False):
        gain = float(name.split(": gain ")[1].replace("−", "-"))
        assert gain == pytest.approx(sum(before) / 3 - sum(after) / 3, abs=6e-4), name


def test_only_arcs_of_drinks_are_drawn_and_all_that_are_wide_enough():
    words, weights = "<START> Ada tea Ben milk".split(), torch.eye(5) * 0.5
    weights[:, 1] += 0.35
    weights[:, 3] += 0.15
    chart = ArcsOfDrinks(words, weights, least=0.3)
    arcs = [(query, key, round(weight, 2)) for query, key, weight in chart.arcs]
    assert arcs == [(2, 1, 0.35), (2, 2, 0.5), (4, 1, 0.35), (4, 4, 0.5)]
    assert "Ben attends" not in chart.alt
    (axes,) = chart.figure().axes
    assert [text.get_text() for text in axes.texts] == [*words, ".35", ".35"]


def test_a_number_is_at_the_left_of_all_arcs_at_the_height_of_its_own():
    weights = torch.tensor([0.2, 0.5, 0.3, 0.0])
    (axes,) = NumberedArcs(list("abcd"), weights, query=3, title="d").figure().axes
    numbers, words = axes.texts[5:], axes.texts[1:5]
    assert [text.get_text() for text in numbers] == [".20", ".50", ".30"]
    arcs = [patch.get_path().get_extents() for patch in axes.patches if isinstance(patch, PathPatch)]
    for place, text in enumerate(numbers):
        assert text.get_ha() == "right" and text.get_position()[0] < min(arc.x0 for arc in arcs)
        assert words[place].get_position()[1] < text.get_position()[1] < words[3].get_position()[1]


def test_runs_of_the_larger_model_are_named_by_what_they_are():
    rows, leads = results.larger_and_counting(), results.leads()
    for name, lead in rows.items():
        if name.startswith("larger"):
            stored = results.LARGER.keys() & {key for key, own in results.LARGER.items() if own == name}
            (key,) = stored
            assert lead == leads[key] and ("dropout" in key) == ("dropout" in name)
            assert ("twice as long" in key) == ("20 passes" in name) != ("10 passes" in name)
    assert list(rows)[-1] == "the course's own model" and len(rows) == 6
    assert rows["the same, second seed"] == leads["the same, second seed"]


def test_a_gradient_longer_than_1_is_shortened_to_1_and_a_shorter_one_stays():
    for scale in (1.0, 40.0):
        torch.manual_seed(0)
        model = LanguageModel(TOKENS, d_model=8, num_heads=1, num_blocks=1)
        with torch.no_grad():
            model.output.weight.mul_(scale)
        training, plain = Training(model, STREAM, Stage(1, 16, steps=4), seed=2), copy.deepcopy(model)
        windows = random_windows(STREAM, BATCH // 16, 16, torch.Generator().manual_seed(2))
        cross_entropy(plain(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten()).backward()
        training.step()
        found, whole = (torch.cat([p.grad.flatten() for p in net.parameters()]) for net in (model, plain))
        length = whole.norm().item()
        assert (length > 1) == (scale > 1)
        torch.testing.assert_close(found, whole / max(1, length), rtol=1e-3, atol=1e-6)


def test_a_curve_is_the_mean_of_the_seeds_over_millions_of_tokens(monkeypatch):
    stored = {"a, seed 0": {"curve": [[1e6, 4.0], [2e6, 3.0]]}, "a, seed 1": {"curve": [[1e6, 5.0], [2e6, 3.5]]},
              "b, seed 0": {"curve": [[1e6, 9.0]]}}  # fmt: skip
    monkeypatch.setattr(results, "STORED", stored)
    assert results.mean_curve("a").tolist() == [[1, 4.5], [2, 3.25]]
