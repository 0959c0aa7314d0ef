"""The checks of *A pretrained model*: its layer, attention on a target, a search for heads, an effective number."""

from functools import partial

import torch
import torch.nn.functional as F

from checks import layers, trials
from checks.engine import Case, Check
from checks.trials import changed, draw
from shared.intervals import mean_and_interval
from shared.model import causal_mask
from shared.pretrained_model import EncoderLayer

SEARCH = "A pretrained model, “A search for heads”"


# --- encoder_layer -------------------------------------------------------------------------------------------------


def layer(order=layers.post_norm, activation=F.gelu, **given):
    """The right way, one step of which a known mistake exchanges."""
    return layers.block(**given, order=order, activation=activation)


def relu(x):
    """The activation function is ReLU. The pretrained model was trained with GELU."""
    return torch.relu(x)


def eps_not_used(**given):
    """`eps` is not used: the norms add PyTorch's 1e-5. Pass it on to both, `nn.LayerNorm(d_model, eps)`."""
    return layer(**given | {"eps": 1e-5})


encoder_layer = Check(
    reference=partial(layer, attend=layers.heads_of_real_tokens),
    solution=EncoderLayer,
    parts=(*layers.PARTS, "eps"),
    cases=[*layers.batches(eps=0.1), layers.texts(6, 2, 8, trials.real_tokens([3, 4]), eps=0.02)],
    mistakes=[
        *(changed(layer, order=order)
          for order in (*layers.NORM_INSIDE, layers.pre_norm, layers.input_added_again)),
        *layers.block_mistakes(layer, layers.post_norm, relu), eps_not_used,
    ],
    section="A pretrained model, “Your attention, their weights”",
    last_look=lambda answer: layers.has_the_parameters(answer(8, 4, 20, 0.1), EncoderLayer(8, 4, 20, 0.1)),
)  # fmt: skip


# --- attention_on_target -------------------------------------------------------------------------------------------


def with_target(aim):
    tokens = (aim >= 0).nonzero().squeeze(1)
    return tokens, aim[tokens]


def mean_on_target(weights, aim):
    """The right way."""
    return weights[..., *with_target(aim)].mean(dim=-1)


def both_bugs_left(weights, aim):
    """Two bugs are left: rows and columns are exchanged, and tokens without a target are counted."""
    return weights[..., aim, torch.arange(len(aim))].mean(dim=-1)


def rows_and_columns_exchanged(weights, aim):
    """One bug is left: rows and columns are exchanged. The row is the token that attends, the column its target."""
    return mean_on_target(weights.mT, aim)


def tokens_without_target_counted(weights, aim):
    """One bug is left: -1 means no target, but as an index it is the last column. Take the tokens with `aim >= 0`."""
    return weights[..., torch.arange(len(aim)), aim].mean(dim=-1)


def rows_renumbered(weights, aim):
    """The rows are counted from 0 after tokens without a target were left out, so a row meets the target of another
    token. Select rows and targets by the same mask.
    """
    targets = aim[aim >= 0]
    return weights[..., torch.arange(len(targets)), targets].mean(dim=-1)


def missing_target_read_as_0(weights, aim):
    """Tokens without a target are measured on token 0. Leave them out: select the tokens with `aim >= 0`."""
    return tokens_without_target_counted(weights, aim.clamp(min=0))


def first_token_left_out(weights, aim):
    """Only the first token is left out, though others have no target either. Select the tokens with `aim >= 0`."""
    return tokens_without_target_counted(weights[..., 1:, :], aim[1:])


def divided_by_all_tokens(weights, aim):
    """The sum is divided by the number of all tokens. Divide by the number of those that have a target."""
    return mean_on_target(weights, aim) * (aim >= 0).sum() / len(aim)


def target_0_left_out(weights, aim):
    """Tokens whose target is the first token are left out: 0 is a target, too. Write `aim >= 0`."""
    return mean_on_target(weights, torch.where(aim > 0, aim, -1))


def attention_patterns(*shape, seed=0):
    return draw(*shape, seed=seed).mul(2).softmax(dim=-1)


attention_on_target = Check(
    reference=mean_on_target,
    cases=[
        Case({"weights": attention_patterns(2, 3, 5, 5), "aim": torch.tensor([-1, 0, 3, 1, -1])}),
        Case({"weights": attention_patterns(3, 2, 6, 6, seed=1), "aim": torch.tensor([5, 2, -1, 0, 0, -1])}),
        Case({"weights": attention_patterns(1, 4, 4, 4, seed=2), "aim": torch.tensor([2, -1, 0, 1])}),
        Case({"weights": attention_patterns(1, 1, 3, 3, seed=3), "aim": torch.tensor([-1, -1, 1])}),
    ],
    mistakes=[
        both_bugs_left, rows_and_columns_exchanged, tokens_without_target_counted, rows_renumbered,
        missing_target_read_as_0, first_token_left_out, divided_by_all_tokens, target_0_left_out,
    ],
    section=SEARCH,
)  # fmt: skip


# --- search_and_test -----------------------------------------------------------------------------------------------


def search(shares, searched, fresh, finish=mean_and_interval, axis=1):
    """The right way, one step of which a known mistake exchanges."""
    table = shares(searched).mean(dim=0)
    layer, head = divmod(table.argmax().item(), table.shape[axis])
    return (layer, head), *finish(shares(fresh)[:, layer, head])


def tested_on_the_searched_texts(shares, searched, fresh):
    """The head is tested on the texts on which it was found, so its fraction is too high. Test it on `fresh`."""
    return search(shares, searched, searched)


def searched_on_the_fresh_texts(shares, searched, fresh):
    """The head is searched on the fresh texts. Search on `searched`, and keep `fresh` for the test."""
    return search(shares, fresh, fresh)


def divided_by_layers(**given):
    """The index of the maximum is divided by the number of layers. It counts heads, layer by layer, so divide it by the
    number of heads of a layer: `divmod(index, table.shape[1])`."""
    return search(**given, axis=0)


def layer_and_head_exchanged(**given):
    """The pair is (head, layer). The exercise asks for (layer, head)."""
    pair, *measured = search(**given)
    return pair[::-1], *measured


def largest_single_share(shares, searched, fresh):
    """The head is the one with the largest fraction on a single text. Take the mean over the texts first."""
    best = shares(searched).amax(dim=0)
    layer, head = divmod(best.argmax().item(), best.shape[1])
    return (layer, head), *mean_and_interval(shares(fresh)[:, layer, head])


def layer_and_head_apart(shares, searched, fresh):
    """Layer and head are each the best on average, and needn't be best together. Search the whole table."""
    table = shares(searched).mean(dim=0)
    layer, head = (table.mean(dim=axis).argmax().item() for axis in (1, 0))
    return (layer, head), *mean_and_interval(shares(fresh)[:, layer, head])


def known_shares(texts):
    """Made-up shares of 2 x 3 heads, (texts, 2, 3), which depend on the number that is a text here."""
    text, head = torch.tensor(texts, dtype=torch.float64)[:, None, None], torch.arange(6.0).view(2, 3).double()
    return 0.5 + 0.2 * torch.sin(2 * head + text / 40) + 0.4 * torch.cos(text * (head + 1)) - 0.001 * text


search_and_test = Check(
    reference=search,
    cases=[
        Case({"shares": known_shares, "searched": searched, "fresh": fresh})
        for searched, fresh in (
            ([1, 2, 3], [50, 61, 77, 80]),
            ([28, 65, 18], [4, 9, 2]),  # the layer with the largest mean is another one
            ([90, 70, 75, 60], [11, 12, 30, 41, 5]),
            ([42], [7, 8]),
            ([3], [7, 8]),
        )
    ],
    mistakes=[
        tested_on_the_searched_texts, searched_on_the_fresh_texts, layer_and_head_exchanged, divided_by_layers,
        largest_single_share, layer_and_head_apart,
        *(changed(search, finish=step) for step in (
            trials.standard_error, trials.standard_deviation, trials.normal_quantile, trials.whole_width)),
    ],
    section=SEARCH,
)  # fmt: skip


# --- tokens_attended -----------------------------------------------------------------------------------------------


def entropy(weights):
    return torch.special.entr(weights).sum(dim=-1)


def nan_for_zero(weights):
    """NaN: for a weight of 0 you compute 0 times log 0. Use `torch.xlogy`, which gives 0 there."""
    return (-(weights * weights.log()).sum(dim=-1)).exp().mean(dim=-1)


def nan_replaced_too_late(weights):
    """A row with a weight of 0 counts as one token: NaN is replaced after the sum, so the whole row is lost. Use
    `torch.xlogy`, which gives 0 for this weight alone."""
    return (-(weights * weights.log()).sum(dim=-1)).nan_to_num().exp().mean(dim=-1)


def exponential_left_out(weights):
    """This is the mean entropy. Take the exponential in each row, then average."""
    return entropy(weights).mean(dim=-1)


def exponential_of_the_mean(weights):
    """The exponential comes after the mean. Take it in each row first."""
    return entropy(weights).mean(dim=-1).exp()


def sign_left_out(weights):
    """The sign of the entropy is wrong: the logarithm of a weight is negative, so a minus belongs before the sum."""
    return (-entropy(weights)).exp().mean(dim=-1)


def entropy_of_columns(weights):
    """This is the entropy of columns. The weights of one token are a row, the last axis."""
    return entropy(weights.mT).exp().mean(dim=-1)


tokens_attended = Check(
    reference=lambda weights: entropy(weights).exp().mean(dim=-1),
    cases=[
        Case({"weights": attention_patterns(2, 3, 4, 4)}),
        Case({"weights": attention_patterns(5, 5, seed=1)}),
        Case({"weights": draw(3, 6, 6).masked_fill(~causal_mask(6), -torch.inf).softmax(dim=-1)}),
        Case({"weights": attention_patterns(1, 2, 3, 3, seed=2)}),
    ],
    mistakes=[
        nan_for_zero, nan_replaced_too_late, exponential_left_out, exponential_of_the_mean, sign_left_out,
        entropy_of_columns,
    ],
    section="A pretrained model, “Exercise 4 (experiment): a measure of your own”",
)  # fmt: skip
