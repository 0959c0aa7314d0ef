"""The checks of *A pretrained model*: its layer, attention on a target, a search for heads, an effective number."""

import torch
import torch.nn.functional as F
from torch import Tensor

from checks import the_block, trials
from checks.engine import Case, Check
from checks.many_heads import heads_by_pytorch
from checks.trials import changed, draw
from shared.model import causal_mask
from shared.pretrained_model import EncoderLayer
from shared.statistics import mean_and_interval

LAYER = "A pretrained model, “Your attention, their weights”"
SEARCH = "A pretrained model, “A search for heads”"


# --- encoder_layer -------------------------------------------------------------------------------------------------


def layer(**given):
    """The right way, one step of which a known mistake exchanges."""
    return the_block.block(**{"order": the_block.post_norm, "activation": F.gelu} | given)


def norm_inside(order):
    """A norm inside a sum; in the exercise on faults the sentence counts them."""

    def norm_inside_the_sum(*parts):
        """A norm is inside the sum, around what a part gives. Normalize the sum, `norm(x + part(x))`."""
        return order(*parts)

    return norm_inside_the_sum


def relu(x):
    """The activation function is ReLU. The pretrained model was trained with GELU."""
    return torch.relu(x)


def eps_not_used(eps, **given):
    """`eps` is not used: the norms add PyTorch's 1e-5. Hand it on to both, `nn.LayerNorm(d_model, eps)`."""
    return layer(**given, eps=1e-5)


def one_head(num_heads, **given):
    """`num_heads` is not used: there is one head. Hand it on to `MultiHeadSelfAttention`."""
    return layer(**given, num_heads=1)


encoder_layer = Check(
    reference=lambda **given: layer(**given, attend=heads_by_pytorch),
    solution=EncoderLayer,
    parts=(*the_block.PARTS, "eps"),
    cases=[*the_block.batches(eps=0.1), the_block.texts(6, 2, 8, trials.real_tokens([3, 4]), eps=0.02)],
    mistakes=[
        *(changed(layer, order=norm_inside(order)) for order in the_block.NORM_INSIDE),
        *(changed(layer, order=order) for order in the_block.POST_NORM_MISTAKES),
        *(changed(layer, masks=step) for step in (the_block.mask_not_used, *the_block.MASKS_INVERTED)),
        changed(layer, activation=relu), eps_not_used, one_head,
    ],
    section=LAYER,
    last_look=lambda answer: the_block.has_the_parameters(answer(8, 4, 20, 0.1), EncoderLayer(8, 4, 20, 0.1)),
)  # fmt: skip


# --- attention_on_target -------------------------------------------------------------------------------------------


def attention_patterns(*shape: int, seed: int = 0) -> Tensor:
    return draw(*shape, seed=seed).mul(2).softmax(dim=-1)


def mean_by_loops(weights, aim):
    pairs = [(token, target) for token, target in enumerate(aim.tolist()) if target >= 0]
    return torch.stack([weights[:, :, token, target] for token, target in pairs]).mean(dim=0)


def with_target(aim):
    tokens = (aim >= 0).nonzero().squeeze(1)
    return tokens, aim[tokens]


def both_faults_left(weights, aim):
    """Two faults are left: rows and columns are exchanged, and tokens without a target are counted."""
    return weights[..., aim, torch.arange(len(aim))].mean(dim=-1)


def rows_and_columns_exchanged(weights, aim):
    """One fault is left: rows and columns are exchanged. The row is the token that attends, the column its target."""
    tokens, targets = with_target(aim)
    return weights[..., targets, tokens].mean(dim=-1)


def tokens_without_target_counted(weights, aim):
    """One fault is left: -1 means no target, but as an index it is the last column. Take the tokens with `aim >= 0`."""
    return weights[..., torch.arange(len(aim)), aim].mean(dim=-1)


def divided_by_all_tokens(weights, aim):
    """The sum is divided by the number of all tokens. Divide by the number of those that have a target."""
    return mean_by_loops(weights, aim) * (aim >= 0).sum() / len(aim)


def target_0_left_out(weights, aim):
    """Tokens whose target is the first token are left out: 0 is a target, too. Write `aim >= 0`."""
    return mean_by_loops(weights, torch.where(aim > 0, aim, -1))


def every_token_with_every_target(weights, aim):
    """Each token is measured at the targets of all. Index rows and columns together: to each row its own target."""
    tokens, targets = with_target(aim)
    return weights[..., tokens[:, None], targets].mean(dim=(-2, -1))


def largest_weight(weights, aim):
    """This is the largest weight of each row, wherever it is. Take the weight at the target."""
    return weights[..., with_target(aim)[0], :].amax(dim=-1).mean(dim=-1)


def weights_summed(weights, aim):
    """The weights at the targets are summed. Take their mean."""
    return mean_by_loops(weights, aim) * (aim >= 0).sum()


def one_number(weights, aim):
    """There is one number for all heads. Average over the tokens only, the last axis."""
    return mean_by_loops(weights, aim).mean()


attention_on_target = Check(
    reference=mean_by_loops,
    cases=[
        Case({"weights": attention_patterns(2, 3, 5, 5), "aim": torch.tensor([-1, 0, 3, 1, -1])}),
        Case({"weights": attention_patterns(3, 2, 6, 6, seed=1), "aim": torch.tensor([5, 2, -1, 0, 0, -1])}),
        Case({"weights": attention_patterns(1, 4, 4, 4, seed=2), "aim": torch.tensor([2, -1, 0, 1])}),
        Case({"weights": attention_patterns(1, 1, 3, 3, seed=3), "aim": torch.tensor([-1, -1, 1])}),
    ],
    mistakes=[
        both_faults_left, rows_and_columns_exchanged, tokens_without_target_counted, divided_by_all_tokens,
        target_0_left_out, every_token_with_every_target, largest_weight, weights_summed, one_number,
    ],
    section=SEARCH,
)  # fmt: skip


# --- search_and_test -----------------------------------------------------------------------------------------------


def known_shares(texts):
    """Made-up shares of 2 x 3 heads, (texts, 2, 3), which depend on the number that is a text here."""
    text, head = torch.tensor(texts, dtype=torch.float64)[:, None, None], torch.arange(6.0).view(2, 3).double()
    return 0.5 + 0.2 * torch.sin(2 * head + text / 40) + 0.4 * torch.cos(text * (head + 1)) - 0.001 * text


def by_sums(shares, searched, fresh):
    table = sum(shares([text])[0] for text in searched).tolist()
    layer, head = max(((i, j) for i in range(2) for j in range(3)), key=lambda place: table[place[0]][place[1]])
    return (layer, head), *trials.interval_by_sums([shares([text])[0, layer, head].item() for text in fresh])


def of_the_head(shares, layer, head):
    return shares[:, layer, head]


def search(
    shares, searched, fresh, over_texts=lambda table: table.mean(dim=0), values=of_the_head, finish=mean_and_interval
):
    """The right way, one step of which a known mistake exchanges."""
    table = over_texts(shares(searched))
    layer, head = divmod(table.argmax().item(), table.shape[1])
    return (layer, head), *finish(values(shares(fresh), layer, head))


def tested_on_the_searched_texts(shares, searched, fresh):
    """The head is tested on the texts on which it was found, so its share is too high. Test it on `fresh`."""
    return search(shares, searched, searched)


def searched_on_the_fresh_texts(shares, searched, fresh):
    """The head is searched on the fresh texts. Search on `searched`, and keep `fresh` for the test."""
    return search(shares, fresh, fresh)


def searched_and_fresh_exchanged(shares, searched, fresh):
    """The head is searched on `fresh` and tested on `searched`: exchange them."""
    return search(shares, fresh, searched)


def largest_in_one_text(table):
    """The head is the one with the largest share in a single text. Average over the texts first."""
    return table.amax(dim=0)


def layer_and_head_exchanged(**given):
    """The head is given as (head, layer). The layer comes first."""
    place, mean, half = search(**given)
    return place[::-1], mean, half


def counted_from_one(**given):
    """Layer and head are counted from 1. Count both from 0."""
    (layer, head), mean, half = search(**given)
    return (layer + 1, head + 1), mean, half


def best_head_of_each_text(shares, layer, head):
    """Each fresh text is measured at its own best head. Measure the one head that was found."""
    return shares.flatten(1).amax(dim=1)


def all_heads_averaged(shares, layer, head):
    """The fresh texts are measured by the mean of all heads. Measure the one head that was found."""
    return shares.mean(dim=(1, 2))


search_and_test = Check(
    reference=by_sums,
    cases=[
        Case({"shares": known_shares, "searched": searched, "fresh": fresh})
        for searched, fresh in (
            ([1, 2, 3], [50, 61, 77, 80]),
            ([20, 33], [4, 9, 2]),
            ([90, 70, 75, 60], [11, 12, 30, 41, 5]),
        )
    ],
    mistakes=[
        tested_on_the_searched_texts, searched_on_the_fresh_texts, searched_and_fresh_exchanged,
        changed(search, over_texts=largest_in_one_text), layer_and_head_exchanged, counted_from_one,
        *(changed(search, values=step) for step in (best_head_of_each_text, all_heads_averaged)),
        *(changed(search, finish=step) for step in (
            trials.standard_error, trials.standard_deviation, trials.normal_quantile, trials.whole_width, trials.ends,
            trials.half_first)),
    ],
    section="A pretrained model, “A search for heads”",
)  # fmt: skip


# --- tokens_attended -----------------------------------------------------------------------------------------------


def entropy(weights):
    return torch.special.entr(weights).sum(dim=-1)


def nan_for_zero(weights):
    """A weight of 0 gives NaN: 0 times log 0 is no number. Use `torch.xlogy`, which gives 0 there."""
    return (-(weights * weights.log()).sum(dim=-1)).exp().mean(dim=-1)


def exponential_left_out(weights):
    """This is the mean entropy. Take its exponential in each row, and average then."""
    return entropy(weights).mean(dim=-1)


def exponential_of_the_mean(weights):
    """The exponential comes after the mean. Take it in each row first."""
    return entropy(weights).mean(dim=-1).exp()


def sign_left_out(weights):
    """The sign of the entropy is wrong: the logarithm of a weight is negative, so a minus belongs before the sum."""
    return (-entropy(weights)).exp().mean(dim=-1)


def logarithm_to_base_2(weights):
    """The logarithm is to base 2, and the exponential is not. Use the natural one, `torch.log` or `torch.xlogy`."""
    return (entropy(weights) / torch.tensor(2.0).log()).exp().mean(dim=-1)


def entropy_of_columns(weights):
    """The entropy is that of columns. The weights of one token are a row, the last axis."""
    return entropy(weights.mT).exp().mean(dim=-1)


def rows_not_averaged(weights):
    """Each row has its own number. Average over the rows, so that each head has one."""
    return entropy(weights).exp()


def one_number_for_all(weights):
    """There is one number for all heads. Average over the rows only, the last axis that is left."""
    return entropy(weights).exp().mean()


def inverse_sum_of_squares(weights):
    """This is one over the sum of squares, a different effective number. The exercise asks for the exponential of the
    entropy."""
    return (1 / weights.square().sum(dim=-1)).mean(dim=-1)


tokens_attended = Check(
    reference=lambda weights: entropy(weights).exp().mean(dim=-1),
    cases=[
        Case({"weights": attention_patterns(2, 3, 4, 4)}),
        Case({"weights": attention_patterns(5, 5, seed=1)}),
        Case({"weights": draw(3, 6, 6).masked_fill(~causal_mask(6), -torch.inf).softmax(dim=-1)}),
        Case({"weights": attention_patterns(1, 2, 3, 3, seed=2)}),
    ],
    mistakes=[
        nan_for_zero, exponential_left_out, exponential_of_the_mean, sign_left_out, logarithm_to_base_2,
        entropy_of_columns, rows_not_averaged, one_number_for_all, inverse_sum_of_squares,
    ],
    section="A pretrained model, “Exercise 16.4 (experiment): a measure of your own”",
)  # fmt: skip
