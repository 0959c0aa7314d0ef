"""A tiny training that the tests of several processes start under torchrun, and disturb.

Called with the file for the history, and JSON with what is different this time.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch

from shared import data, model, training
from shared.scale import processes
from shared.scale.__main__ import ending
from shared.scale.fit import InBfloat16, fit

ROOT = Path(__file__).resolve().parents[1]


def reviews() -> data.Split:
    """193 made reviews; in batches of 16 the last batch holds one, too few for two processes."""
    random = np.random.default_rng(0)
    filler = [f"{a}{b}" for a in "bcdfg" for b in "aeiou"]
    labels = random.integers(0, 2, 193).tolist()
    texts = [" ".join([*random.choice(filler, random.integers(3, 12)), "good" if one else "bad"]) for one in labels]
    split = data.tokenized(texts, labels)
    return data.encode(split, data.build_vocabulary(split))


def under_torchrun(folder: Path, processes: int, **different) -> tuple[subprocess.CompletedProcess, dict | None]:
    """Start this file in several processes; what it wrote, or None."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}", "--standalone"]
    done = subprocess.run(
        [*launcher, __file__, str(answer), json.dumps(different)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done, json.loads(answer.read_text()) if answer.exists() else None


def run(
    answer: Path | None, dropout: float = 0.0, checkpoint=None, kill=None, hang=None, epochs: int = 4, bfloat16=False
):
    """Train in this process, alone or with others. `kill` and `hang` name the epoch in which process 1 does so."""
    source = reviews()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = model.SelfAttentionClassifier(len(source.words), dropout=dropout)
    if bfloat16:
        net = InBfloat16(net)

    def examples(epoch):
        if processes.place()[0] == processes.place()[1] - 1:  # the last process is the one to fail
            if epoch == kill:
                os.kill(os.getpid(), signal.SIGKILL)
            if epoch == hang:
                time.sleep(600)
        made = data.distracted_examples(source, epoch)
        return replace(made, distractor=np.where(np.arange(193) % 2, -1, made.distractor))  # of different lengths

    recipe = training.Recipe(epochs, learning_rate=0.02, batch_size=16)
    with processes.together():
        history = fit(net, examples, data.plain_examples(source), recipe, 3, "cpu", checkpoint)
        weights = {name: weight.tolist() for name, weight in net.state_dict().items()}
        if processes.place()[0] == 0 and answer:
            answer.write_text(json.dumps({"history": history, "weights": weights}))
    return history, weights


if __name__ == "__main__":
    different = json.loads(sys.argv[2])
    if "hang" in different:
        processes.PATIENCE = timedelta(seconds=4)
    sys.exit(ending(lambda: run(Path(sys.argv[1]), **different)))
