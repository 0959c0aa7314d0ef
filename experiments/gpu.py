"""Runs the labs and training steps on a CUDA device, and keeps what it saw in experiments/gpu.json.

Training steps are timed with batches that lie on the device already, so that the device is what is measured; how many
batches a processor core can make is measured apart.

    python -m experiments.gpu             # some minutes
"""

import itertools
import sys
import time

import torch
from torch import Tensor, nn

from experiments import costs, record
from experiments.speed import step
from shared import data, model
from shared.fast import faster
from shared.scale.fit import InBfloat16

GPU = record.HERE / "gpu.json"


class FusedSelfAttention(model.SelfAttentionClassifier):
    """The classifier of lab 4 with PyTorch's fused attention, which forms no n x n weights and so returns none."""

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, dim)
        layer = self.attention
        queries, keys, values = layer.W_query(features), layer.W_key(features), layer.W_value(features)
        attended = nn.functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask.unsqueeze(1)
        )  # (batch, tokens, value_dim)
        average = mask.to(attended) / mask.sum(dim=1, keepdim=True)  # (batch, tokens)
        return self.output(model.weighted_sum(average, attended)).squeeze(1), average


def speed(net: nn.Module, batches: list[data.Batch], steps: int, device: torch.device) -> dict:
    """Examples a second and the device's peak memory over some training steps, after as many to warm up."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(2):
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        start, examples = time.perf_counter(), 0
        for batch in itertools.islice(itertools.cycle(batches), steps):
            logits = net(batch.ids, batch.mask)[0]
            examples += step(optimizer, logits, batch.labels)
        if not logits.isfinite().all():  # waits for the device, too
            raise FloatingPointError("The logits are no numbers any more: these figures would mean nothing.")
    seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return {"examples_a_second": round(examples / seconds), "megabytes": round(peak / 1e6)}


def training(source: data.Reviews, device: torch.device, batch_size: int = 1024, steps: int = 50) -> list[dict]:
    """All models, in float32 and bfloat16, with the course's attention and with PyTorch's."""
    start = time.perf_counter()
    made = list(itertools.islice(data.batches(data.examples_with_distractors(source.train, 1), batch_size, 1), 20))
    print(f"One core makes {len(made) / (time.perf_counter() - start):.0f} batches of {batch_size} a second.")
    batches = [batch.to(device) for batch in made]
    rows = []
    for name, kind in (
        ("attention pooling", model.AttentionPooling),
        ("self-attention", model.SelfAttentionClassifier),
        ("self-attention, PyTorch's fused", FusedSelfAttention),
        ("encoder", model.EncoderClassifier),
    ):
        for numbers in ("float32", "bfloat16"):
            net = kind(len(source.vocabulary)).to(device)
            if numbers == "bfloat16":
                net = InBfloat16(net)
            with faster(net):  # as in training
                rows.append({"model": name, "numbers": numbers} | speed(net, batches, steps, device))
            print(*rows[-1].values(), sep=", ", flush=True)
    return rows


def main() -> int:
    """Measure and keep, and return 1 when a lab failed, 2 when there is no CUDA device."""
    if not torch.cuda.is_available():
        print("PyTorch finds no CUDA device here: nothing was measured and nothing written.")
        return 2
    print(torch.cuda.get_device_name())
    torch.set_num_threads(1)
    reviews = data.prepare(data.Settings("movies", "full"))
    parts = {"training": lambda: training(reviews, torch.device("cuda")), "labs": costs.labs}
    found = record.measure(GPU, "make gpu", parts, [])
    return int(any(lab["status"] for lab in found["labs"]["each"].values()))


if __name__ == "__main__":
    sys.exit(main())
