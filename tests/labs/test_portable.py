"""Claims about the stand-ins for other machines: two threads are two, and a lab that is not there is named."""

import os
import subprocess
import sys

import portable
import pytest


def test_two_threads_are_two_even_for_a_lab_that_asks_for_one(tmp_path):
    two = portable.two_threads(dict(os.environ, OMP_NUM_THREADS="1"), tmp_path / "ipython")
    assert two["OMP_NUM_THREADS"] == "2"
    code = "import torch; torch.set_num_threads(1); print(torch.get_num_threads())"
    said = subprocess.run([sys.executable, "-m", "IPython", "-c", code], env=two, capture_output=True, text=True)
    assert said.stdout == "2\n", said.stderr


def test_a_lab_that_is_not_there_is_named(tmp_path):
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs/05_x.md").touch()
    with pytest.raises(SystemExit, match="No lab has the number 07: there are 05."):
        portable.main(tmp_path, ["7"])
