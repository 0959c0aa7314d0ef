"""Claims about devices, proved without a GPU: what a layer makes on its way stays on the device of its input.

Layers compute on the processor, while tensors made without a word about their device go to `meta`: one of them would
end the computation, or show in its result.
"""

import inspect

import pytest
import torch
import torchrun_training
from test_attention_by_loops import CLASSIFIERS, MARK, VOCABULARY
from torch import nn
from torch.utils._pytree import tree_leaves

from shared import data, model, training

WORDS, DIM = VOCABULARY, 12
IDS = torch.tensor([[MARK, 4, 5, 6], [7, MARK, 2, 0]])  # the second text has one padded token
MASK = IDS > 0
FEATURES = torch.randn(2, 4, DIM)
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()

LAYERS = {name: (make, (IDS, MASK)) for name, (make, _) in CLASSIFIERS.items()} | {
    "TokenEmbedding": (lambda: model.TokenEmbedding(WORDS, DIM), (IDS,)),
    "TokenEmbedding without positions": (lambda: model.TokenEmbedding(WORDS, DIM, positions=False), (IDS,)),
    "LearnedQuery": (lambda: model.LearnedQuery(DIM), (FEATURES, MASK)),
    "LearnedQueries": (lambda: model.LearnedQueries(3, DIM, 8), (FEATURES,)),
    "SelfAttention": (lambda: model.SelfAttention(DIM, 8, 6), (FEATURES, MASK)),
    "SelfAttention without values": (lambda: model.SelfAttention(DIM, 8), (FEATURES,)),
    "MultiHeadSelfAttention": (lambda: model.MultiHeadSelfAttention(DIM, 3), (FEATURES, MASK)),
    "TransformerBlock": (lambda: model.TransformerBlock(DIM, 3, 20), (FEATURES, MASK)),
    "TransformerBlock, norm first": (lambda: model.TransformerBlock(DIM, 3, 20, norm_first=True), (FEATURES, MASK)),
    "MultiHeadSelfAttention, causal": (lambda: model.MultiHeadSelfAttention(DIM, 3), (FEATURES, MASK, CAUSAL)),
    "TransformerBlock, causal": (lambda: model.TransformerBlock(DIM, 3, 20), (FEATURES, MASK, CAUSAL)),
}


def first_of(result):
    return result[0] if isinstance(result, tuple) else result


def test_every_layer_of_the_course_is_tried():
    own = {kind for kind in vars(model).values() if inspect.isclass(kind) and kind.__module__ == model.__name__}
    assert {kind for kind in own if issubclass(kind, nn.Module)} == {type(make()) for make, _ in LAYERS.values()}


@pytest.mark.parametrize("name", LAYERS)
def test_no_layer_makes_a_tensor_on_the_default_device(name):
    make, inputs = LAYERS[name]
    layer = make().train()
    with torch.device("meta"):
        result = layer(*inputs)
        if list(layer.parameters()):
            first_of(result).sum().backward()
    for tensor in [*tree_leaves(result), *(parameter.grad for parameter in layer.parameters())]:
        assert tensor is None or (tensor.device.type == "cpu" and tensor.isfinite().all())


@pytest.mark.parametrize("name", ["self-attention", "encoder"])
def test_training_and_measuring_stay_on_the_device_that_was_asked_for(name):
    source = torchrun_training.reviews()
    net = CLASSIFIERS[name][0]()
    net.embedding.table = nn.Embedding(source.vocabulary_size, net.embedding.table.embedding_dim)
    examples, recipe = data.plain_examples(source), training.Recipe(2, 0.01, 16)
    with torch.device("meta"):
        history = training.fit(
            net, lambda epoch: data.examples_with_distractors(source, epoch), examples, recipe, device="cpu"
        )
        result = training.evaluate(net, examples)
    assert len(history.epochs) == 2 and 0 <= result.accuracy <= 1
    assert {tensor.device.type for tensor in net.state_dict().values()} == {"cpu"}
