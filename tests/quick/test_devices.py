"""Claims about devices, proved without a GPU: what a layer makes on its way stays on the device of its input.

Layers compute on the processor, while tensors made without a word about their device go to `meta`: one of them would
end the computation, or show in its result.
"""

import pytest
import torch
import torchrun_training
from test_attention_by_loops import CLASSIFIERS, MARK
from torch import nn
from torch.utils._pytree import tree_leaves

from labs.keys.exercises import LearnedQueries
from shared import data, model, training

DIM = 12
IDS = torch.tensor([[MARK, 4, 5, 6], [7, MARK, 2, 0]])  # the second text has one padded token
MASK = IDS > 0
FEATURES = torch.randn(2, 4, DIM)
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()

LAYERS = {name: (make, (IDS, MASK)) for name, (make, _) in CLASSIFIERS.items()} | {
    "LearnedQueries": (lambda: LearnedQueries(3, DIM, 8), (FEATURES,)),
    "MultiHeadSelfAttention": (lambda: model.MultiHeadSelfAttention(DIM, 3), (FEATURES, MASK, CAUSAL)),
    "TransformerBlock": (lambda: model.TransformerBlock(DIM, 3, 20, norm_first=True), (FEATURES, MASK, CAUSAL)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_no_layer_makes_a_tensor_on_the_default_device(name):
    make, inputs = LAYERS[name]
    layer = make().train()
    with torch.device("meta"):
        result = layer(*inputs)
        tree_leaves(result)[0].sum().backward()
    for tensor in [*tree_leaves(result), *(parameter.grad for parameter in layer.parameters())]:
        assert tensor is None or (tensor.device.type == "cpu" and tensor.isfinite().all())


@pytest.mark.parametrize("name", ["self-attention", "encoder"])
def test_training_and_measuring_stay_on_the_best_device(name, monkeypatch):
    monkeypatch.setattr(training, "best_device", lambda: torch.device("cpu"))
    source = torchrun_training.reviews()
    net = CLASSIFIERS[name][0]()
    net.embedding.table = nn.Embedding(source.vocabulary_size, net.embedding.table.embedding_dim)
    examples, recipe = data.plain_examples(source), training.Recipe(2, 0.01, 16)
    with torch.device("meta"):
        history = training.fit(net, lambda epoch: data.examples_with_distractors(source, epoch), examples, recipe)
        result = training.evaluate(net, examples)
    assert len(history.epochs) == 2 and 0 <= result.accuracy <= 1
    assert {tensor.device.type for tensor in net.state_dict().values()} == {"cpu"}
