"""The stand-ins for other machines are what their names say, or are not run."""

import os
import subprocess
import sys

import portable
import pytest
import torch

WITHOUT = [name for name in os.environ if name in portable.SWITCHES]


@pytest.mark.skipif(not portable.IS_X86, reason="these switches are those of x86 processors")
def test_pytorch_and_numpy_have_no_vector_code_where_it_is_taken_away(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    found = portable.stand_ins(environment, tmp_path / "ipython")
    assert portable.capability_in(found["no vector code"]) == "DEFAULT"
    here = torch.backends.cpu.get_cpu_capability()
    assert bool(found["AVX-512"]) == (here == "AVX512") or WITHOUT, "what a machine cannot do is not run"


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
