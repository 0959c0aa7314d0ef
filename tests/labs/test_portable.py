"""Claims about the stand-ins for other machines: each is what its name says, or it is not run."""

import os
from pathlib import Path

import check_outputs
import nbformat
import portable
import pytest
import torch

WITHOUT = [name for name in os.environ if name in portable.SWITCHES]


def test_two_threads_are_two_even_for_a_lab_that_asks_for_one(tmp_path):
    """Red, because one is stored."""
    lab = tmp_path / "labs/01_threads.md"
    lab.parent.mkdir()
    source = "import torch\ntorch.set_num_threads(1)\nprint(torch.get_num_threads(), 'threads')"
    output = nbformat.v4.new_output("stream", name="stdout", text="1 threads\n")
    cell = nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), lab.with_suffix(".ipynb"))
    one = dict(os.environ, OMP_NUM_THREADS="1")
    assert check_outputs.run(tmp_path, [lab], one) == (0, {"01_threads": [""]})
    two = portable.two_threads(one, tmp_path / "ipython")
    assert two["OMP_NUM_THREADS"] == "2"
    assert check_outputs.run(tmp_path, [lab], two) == (1, {"01_threads": ["red"]})


@pytest.mark.skipif(not portable.IS_X86, reason="these switches are those of x86 processors")
def test_pytorch_and_numpy_have_no_vector_code_where_it_is_taken_away(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    found = portable.stand_ins(environment, Path(tmp_path) / "ipython")
    assert portable.capability_in(found["no vector code"]) == "DEFAULT"
    here = torch.backends.cpu.get_cpu_capability()
    assert bool(found["AVX-512"]) == (here == "AVX512") or WITHOUT, "what a machine cannot do is not run"


def test_a_lab_that_is_not_there_is_named(tmp_path, capsys):
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs/05_x.md").touch()
    assert portable.main(tmp_path, "7") == 1
    assert "No lab has the number 7: there are 05." in capsys.readouterr().out
