"""Runs labs and training on a CUDA device, and writes what it saw to benchmarks/on_gpu.json.

Without a CUDA device it says so and writes nothing: there are no figures on the page that nobody measured. The
training steps are timed with batches that lie on the device already, so that the device is what is measured; how many
batches a processor core can make is measured apart.

    python benchmarks/on_gpu.py             # labs and training: some minutes
"""

import itertools
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import course  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from shared import data, model  # noqa: E402
from shared.fast import faster  # noqa: E402
from shared.scale.fit import InBfloat16  # noqa: E402

RESULTS = ROOT / "benchmarks/on_gpu.json"
BATCH_SIZE = 1024
STEPS = 50


class FusedSelfAttention(model.SelfAttentionClassifier):
    """The classifier of lab 4 with PyTorch's fused attention, which forms no n x n weights and so returns none."""

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, dim)
        layer = self.attention
        queries, keys, values = layer.W_query(features), layer.W_key(features), layer.W_value(features)
        attended = nn.functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask.unsqueeze(1), scale=1 / layer.divisor
        )  # (batch, tokens, value_dim)
        average = mask.to(attended) / mask.sum(dim=1, keepdim=True)  # (batch, tokens)
        return self.output(model.weighted_sum(average, attended)).squeeze(1), average


def training_speed(net: nn.Module, batches: list[data.Batch], steps: int, device: torch.device) -> dict:
    """Examples a second and the device's peak memory over some training steps, after as many to warm up."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)

    def run() -> int:
        examples = 0
        for batch in itertools.islice(itertools.cycle(batches), steps):
            logits, _ = net(batch.ids, batch.mask)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            examples += len(batch.labels)
        if not math.isfinite(loss.item()):  # waits for the device, too
            raise FloatingPointError(f"The loss became {loss.item()}: these figures would mean nothing.")
        return examples

    run()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    examples = run()
    seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return {"examples_per_second": round(examples / seconds, 1), "megabytes": round(peak / 1e6)}


def measure_training(source: data.Prepared, device: torch.device, batch_size: int, steps: int) -> dict:
    """All models, in float32 and bfloat16, with the course's attention and with PyTorch's."""
    examples = data.examples_with_distractors(source.train, seed=1)
    start = time.perf_counter()
    made = list(itertools.islice(data.batches(examples, batch_size, seed=1), 20))
    rate = len(made) / (time.perf_counter() - start)
    batches = [batch.to(device) for batch in made]
    rows = []
    for name, attention, kind in (
        ("attention pooling", "the course's", model.AttentionPooling),
        ("self-attention", "the course's", model.SelfAttentionClassifier),
        ("self-attention", "PyTorch's, fused", FusedSelfAttention),
        ("encoder", "the course's", model.EncoderClassifier),
    ):
        for numbers in ("float32", "bfloat16"):
            torch.manual_seed(0)
            net = kind(len(source.vocabulary)).to(device)
            if numbers == "bfloat16":
                net = InBfloat16(net)
            row = {"model": name, "numbers": numbers, "attention": attention}
            with faster(net):  # as in training
                rows.append(row | training_speed(net, batches, steps, device))
            print(*rows[-1].values(), sep=", ", flush=True)
    return {"batch_size": batch_size, "batches_per_second": round(rate, 1), "training": rows}


def main() -> int:
    """Measure and write, and return 1 when a lab failed."""
    if not torch.cuda.is_available():
        print("PyTorch finds no CUDA device here: nothing was measured and nothing written.")
        return 2
    device = torch.device("cuda")
    torch.set_num_threads(1)
    trained = measure_training(data.prepare(data.Settings("movies", "full")), device, BATCH_SIZE, STEPS)
    with tempfile.TemporaryDirectory() as folder:
        executed = course.measure_labs(course.clone(Path(folder)))["each"]
    results = course.about() | {"gpu": torch.cuda.get_device_name(device)} | trained | {"labs": executed}
    half = RESULTS.with_name(f".{RESULTS.name}.part")
    half.write_text(json.dumps(results, indent=1) + "\n")
    os.replace(half, RESULTS)
    print(f"Written to {RESULTS.relative_to(ROOT)}; `python benchmarks/page.py` puts it on the page.")
    return 1 if any(lab["status"] for lab in executed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
