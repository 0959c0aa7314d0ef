"""Training under torchrun: two processes train as one does, and the command of the page *One device, and several*."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torchrun_training

ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}


def test_two_processes_train_to_the_losses_weights_and_gradients_of_one(tmp_path):
    answer = tmp_path / "answer.json"
    subprocess.run([*TORCHRUN, torchrun_training.__file__, answer], env=ENVIRONMENT, check=True, timeout=300)
    two = json.loads(answer.read_text())
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    one = torchrun_training.train()
    torch.set_num_threads(threads)
    for alone, together in zip(one["epochs"], two["epochs"], strict=True):
        assert together == pytest.approx(alone, abs=1e-4)
    assert one["epochs"][-1]["train_loss"] < 0.5 * one["epochs"][0]["train_loss"]  # something was learned
    for name, numbers in one["numbers"].items():
        np.testing.assert_allclose(
            two["numbers"][name], numbers, atol=1e-4 if "gradient" in name else 1e-3, err_msg=name
        )


def test_the_command_trains_in_two_processes_and_saves_the_weights(tmp_path):
    saved = tmp_path / "weights.pt"
    arguments = ["--model", "attention-pooling", "--epochs", "1", "--save", saved]
    done = subprocess.run(
        [*TORCHRUN, "-m", "experiments.train_classifier", *arguments],
        env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "in 2 process(es) on" in done.stdout and re.search(r"distracted 0\.\d+", done.stdout)
    assert "score.weight" in torch.load(saved, weights_only=True)
