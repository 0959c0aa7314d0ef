"""Train one of the course's classifiers, in one process or in as many as torchrun starts.

python -m experiments.train_classifier --model self-attention
torchrun --nproc-per-node=2 -m experiments.train_classifier --model self-attention

LAB_DATA and LAB_SCALE choose the reviews, as in the labs.
"""

import argparse
import os
from dataclasses import replace

import torch
from torch import Tensor, distributed, nn

from shared import data, model, training


class EncoderClassifier(nn.Module):
    """A Transformer block, then attention pooling over its outputs, then a linear classifier (*The
    block*).

    The returned weights are those of the pooling.
    """

    def __init__(
        self,
        vocabulary_size: int,
        d_model: int = 16,
        num_heads: int = 4,
        hidden_dim: int = 32,
        **embedding,
    ):
        super().__init__()
        self.embedding = model.TokenEmbedding(vocabulary_size, d_model, **embedding)
        self.block = model.TransformerBlock(d_model, num_heads, hidden_dim, norm_first=True)
        self.score = nn.Linear(d_model, 1)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x, _ = self.block(self.embedding(ids), mask)  # (batch, tokens, d_model)
        scores = self.score(x).squeeze(2)  # (batch, tokens)
        weights = model.masked_softmax(scores, mask)  # (batch, tokens)
        pooled = model.weighted_sum(weights, x)  # (batch, d_model)
        return self.output(pooled).squeeze(1), weights


MODELS = {
    "mean-pooling": model.MeanPooling,
    "attention-pooling": model.AttentionPooling,
    "self-attention": model.SelfAttentionClassifier,
    "encoder": EncoderClassifier,
}


def arguments(recipe: training.Recipe) -> argparse.Namespace:
    """The arguments of the command line; `recipe` has the defaults."""
    parser = argparse.ArgumentParser("python -m experiments.train_classifier", description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=MODELS, default="self-attention")
    parser.add_argument("--epochs", type=int, default=recipe.epochs)
    parser.add_argument("--batch-size", type=int, default=recipe.batch_size, help="of all processes together")
    parser.add_argument("--dropout", type=float, default=0.3, help="of the embeddings")
    parser.add_argument("--seed", type=int, default=0, help="of weights, distractors, order and dropout")
    parser.add_argument("--save", metavar="FILE", help="where to write the weights at the end, by torch.save")
    return parser.parse_args()


def main() -> None:
    """Train, then print the history and the accuracy on test reviews."""
    settings = data.start_lab()
    chosen = arguments(training.recipe_for(settings))
    recipe = replace(training.recipe_for(settings), epochs=chosen.epochs, batch_size=chosen.batch_size)
    rank, size = training.rank_and_size()
    reviews = data.load_prepared(settings)
    torch.manual_seed(chosen.seed)
    net = MODELS[chosen.model](len(reviews.vocabulary), dropout=chosen.dropout)
    if rank == 0:
        print(f"{settings}; {chosen.model} in {size} process(es) on {training.best_device()}; {recipe}", flush=True)
    history = training.fit(
        net,
        lambda epoch: data.examples_with_distractors(reviews.train, 1000 * (chosen.seed + 1) + epoch),
        data.examples_with_distractors(reviews.validation, 1),
        recipe,
        chosen.seed,
    )
    if rank == 0:
        for record in history.epochs:
            print("  ".join(f"{name} {value:.4g}" for name, value in record.items()))
        tests = {"plain": data.plain_examples(reviews.test), "distracted": data.distracted_examples(reviews.test, 2)}
        accuracy = {name: training.evaluate(net, examples).accuracy for name, examples in tests.items()}
        print(f"best epoch {history.best_epoch}; test: " + ", ".join(f"{k} {v:.4f}" for k, v in accuracy.items()))
        if chosen.save:
            torch.save(net.state_dict(), chosen.save)


if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:  # set by torchrun
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        main()
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
