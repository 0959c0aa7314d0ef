"""The checks of *What attention explains*: a head ablated, attention rollout with two bugs, groups of heads."""

import torch

from checks import trials
from checks.engine import Case, Check
from checks.trials import bugs_left, changed, draw, first_minus_second, goes_on, paired_mistakes

# --- without_head --------------------------------------------------------------------------------------------------


def columns_of(weight, head, num_heads):
    """Which columns belong to a head, (d_model,)."""
    return torch.arange(len(weight)) // (len(weight) // num_heads) == head


def ablated(weight, head, num_heads, columns=columns_of):
    """The right way, or with other columns."""
    return weight * ~columns(weight, head, num_heads)


def rows_ablated(weight, head, num_heads):
    """Rows are set to 0, but each row is one output, to which every head contributes. `nn.Linear` stores (outputs,
    inputs), so the head's inputs are columns."""
    return ablated(weight.T, head, num_heads).T


def one_column(weight, head, num_heads):
    """A single column is set to 0. A head has head_dim columns: from head * head_dim to (head + 1) * head_dim."""
    return torch.arange(len(weight)) == head


def first_column_of_the_head(weight, head, num_heads):
    """A single column is set to 0. A head has head_dim columns: from head * head_dim to (head + 1) * head_dim."""
    return torch.arange(len(weight)) == head * (len(weight) // num_heads)


def columns_in_turn(weight, head, num_heads):
    """Every num_heads-th column is set to 0. The outputs of heads are concatenated, so a head's columns are neighbors:
    from head * head_dim on.
    """
    return torch.arange(len(weight)) % num_heads == head


def last_column_left(weight, head, num_heads):
    """The head's last column is left. A slice ends before its second number: `[:, start : start + head_dim]`."""
    columns = torch.arange(len(weight)) + 1
    return (columns % (len(weight) // num_heads) > 0) & columns_of(weight, head, num_heads)


def counted_from_one(weight, head, num_heads):
    """The head before is ablated. Heads are counted from 0, so head h begins at column h * head_dim."""
    return columns_of(weight, head - 1, num_heads)


def num_heads_wide(weight, head, num_heads):
    """The slice is num_heads wide. A head has head_dim columns, the width divided by the number of heads."""
    return torch.arange(len(weight)) // num_heads == head


def only_this_head_left(weight, head, num_heads):
    """All heads but this one are ablated. Set the columns of this head to 0, and keep the others."""
    return ~columns_of(weight, head, num_heads)


def goes_on_into_the_model(answer):
    """The lab puts the matrix into a model's `W_output`."""
    layer = torch.nn.Linear(4, 4)
    result = answer(layer.weight.data, 1, 2)
    goes_on("`W_output.weight.data = ...`", lambda: setattr(layer.weight, "data", result))
    goes_on("`W_output(x)`", lambda: layer(torch.ones(2, 4)))


without_head = Check(
    reference=ablated,
    cases=[
        Case({"weight": draw(12, 12), "head": 1, "num_heads": 3}),
        Case({"weight": draw(8, 8, seed=1), "head": 3, "num_heads": 4}),
        Case({"weight": draw(10, 10, seed=2), "head": 0, "num_heads": 2}),
    ],
    mistakes=[
        rows_ablated,
        *(changed(ablated, columns=step)
          for step in (
              one_column, first_column_of_the_head,
              columns_in_turn, last_column_left, counted_from_one, num_heads_wide, only_this_head_left)),
    ],
    section="What attention explains, “Which heads matter?”",
    last_look=goes_on_into_the_model,
)  # fmt: skip


# --- rollout -------------------------------------------------------------------------------------------------------


def mean_over_heads(weights):
    return weights.mean(dim=1)  # (layers, tokens, tokens)


def with_residual(pattern):
    return (pattern + torch.eye(len(pattern))) / 2


def on_the_left(layer, product):
    return layer @ product


def rolled_out(weights, average=mean_over_heads, mix=with_residual, multiply=on_the_left):
    """The right way, one step of which a known mistake exchanges."""
    product = torch.eye(weights.shape[-1])
    for pattern in average(weights):
        product = multiply(mix(pattern), product)
    return product


def mean_over_layers(weights):
    """The mean runs over the layers, and the product over the heads. Axis 0 is the layer, axis 1 the
    head."""
    return weights.mean(dim=0)


def layers_reversed(layer, product):
    """The layers are multiplied in the wrong order. The last layer attends to the output of the one before, so each
    layer is multiplied from the left.
    """
    return product @ layer


def elementwise(layer, product):
    """The layers are multiplied number by number. What passes through two layers is their matrix product, `@`."""
    return layer * product


def both_bugs_left():
    """Two bugs are left: the axis of the mean, and the order of the product. Which axis is the head, and which layer
    does the last token attend through first?"""


def heads_summed(weights):
    """The heads are summed, so rows do not sum to 1. Take their mean."""
    return weights.sum(dim=1)


def no_residual(pattern):
    """The identity is missing. Half of what leaves a layer comes through the residual connection."""
    return pattern


def only_the_identity_halved(pattern):
    """Only the identity is halved. Use parentheses: half of the sum is `(layer + identity) / 2`."""
    return pattern + torch.eye(len(pattern)) / 2


def not_halved(pattern):
    """The identity is added, but the sum is not halved, so rows do not sum to 1."""
    return pattern + torch.eye(len(pattern))


def transposed(weights):
    """The result is transposed. Multiply the layers as they are; row i says where token i gets its information from."""
    return rolled_out(weights).T


def patterns(*shape, seed=0):
    return Case({"weights": draw(*shape, seed=seed).mul(2).softmax(dim=-1)})


rollout = Check(
    reference=rolled_out,
    cases=[
        patterns(3, 2, 4, 4), patterns(2, 4, 5, 5, seed=1), patterns(4, 1, 3, 3, seed=2), patterns(1, 3, 2, 2, seed=3),
    ],
    mistakes=[
        *bugs_left(rolled_out, both_bugs_left, average=mean_over_layers, multiply=layers_reversed),
        changed(rolled_out, average=heads_summed),
        *(changed(rolled_out, mix=step) for step in (no_residual, not_halved, only_the_identity_halved)),
        changed(rolled_out, multiply=elementwise), transposed,
    ],
    section="What attention explains, “Exercise 2 (debug): six layers in one pattern”",
)  # fmt: skip


# --- more_than_the_sum ---------------------------------------------------------------------------------------------


def changes(lead_without, group):
    """The changes that the group makes, and the sums of those of its heads, (2, sentences)."""
    whole = lead_without([])
    return torch.stack([lead_without(group) - whole, sum(lead_without([head]) - whole for head in group)])


difference = trials.finished(changes, first_minus_second)


def whole_not_subtracted(lead_without, group):
    """The whole model's lead is not subtracted. A change is the lead without the heads minus the lead of the whole
    model, for the group and for each head.
    """
    return first_minus_second((lead_without(group), sum(lead_without([head]) for head in group)))  # type: ignore[arg-type]


def mean_of_the_heads(lead_without, group):
    """The changes of the heads are averaged. Add them up: the question is about their sum."""
    together, alone = changes(lead_without, group)
    return first_minus_second((together, alone / len(group)))  # type: ignore[arg-type]


def whole_subtracted_once(lead_without, group):
    """The whole model's lead is subtracted only for the group. Measure each head's change against the whole, too."""
    together, alone = changes(lead_without, group)
    return first_minus_second((together, alone + len(group) * lead_without([])))  # type: ignore[arg-type]


def known_lead(heads_off):
    """The leads of six sentences. Each head counts by itself, and two of one layer count once more together."""
    sentence = torch.arange(6, dtype=torch.float64)
    lead = 1 + torch.sin(5 * sentence)
    for layer, head in heads_off:
        lead = lead - 0.01 * (1 + layer + head) * torch.cos(sentence * (1 + head))
    layers = [layer for layer, _ in heads_off]
    return lead - 0.05 * (len(layers) - len(set(layers))) * (1 + 0.2 * torch.sin(sentence))


more_than_the_sum = Check(
    reference=difference,
    cases=[
        Case({"lead_without": known_lead, "group": group})
        for group in ([(0, 1), (0, 2), (3, 1)], [(2, 0), (2, 3), (2, 5), (1, 1)], [(4, 2), (4, 1)])
    ],
    mistakes=[whole_not_subtracted, mean_of_the_heads, whole_subtracted_once, *paired_mistakes(changes)],
    section="What attention explains, “Exercise 3 (experiment): is a group more than its heads?”",
)  # fmt: skip
