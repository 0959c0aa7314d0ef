"""Claims about the stand-ins for other machines: two threads are two, and a lab that is not there is named."""

import os

import check_outputs
import nbformat
import portable


def test_two_threads_are_two_even_for_a_lab_that_asks_for_one(tmp_path):
    """Red, because one is stored."""
    lab = tmp_path / "labs/01_threads.md"
    lab.parent.mkdir()
    source = "import torch\ntorch.set_num_threads(1)\nprint(torch.get_num_threads(), 'threads')"
    output = nbformat.v4.new_output("stream", name="stdout", text="1 threads\n")
    cell = nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), lab.with_suffix(".ipynb"))
    two = portable.two_threads(dict(os.environ, OMP_NUM_THREADS="1"), tmp_path / "ipython")
    assert two["OMP_NUM_THREADS"] == "2"
    assert check_outputs.run(tmp_path, [lab], two) == (1, {"01_threads": ["red"]})


def test_a_lab_that_is_not_there_is_named(tmp_path, capsys):
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs/05_x.md").touch()
    assert portable.main(tmp_path, "7") == 1
    assert "No lab has the number 7: there are 05." in capsys.readouterr().out
