"""Claims about the comparison of stored and computed outputs: what is rounding, and what is red."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools.compare_numbers import difference

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = """tensor([[0.1551, 0.2104, 0.2059, 0.1413, 0.1074, 0.1799],
        [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820],
        [0.1503, 0.2256, 0.2192, 0.1315, 0.0914, 0.1819],
        [0.1591, 0.1994, 0.1962, 0.1477, 0.1206, 0.1769]])
"""
TABLE = '<table class="t1"><tr><th>k = 8</th><td>0.55</td><td>16</td></tr></table>'
WALK = (
    """<div data-walk='{"words": ["a > b"], "W_query": [[0.25, 2.5]], "follow": 1}'></div><script>a = 0.25</script>"""
)
HEADS = """<div data-heads='{"tokens": 2, "weights": [[877, 123], [500, 500]]}'></div>"""
SVG = '<svg width="131.3" aria-label="share 0.46"><rect x="47.3" y="44" rx="4" fill="#c04a00"/></svg>'


@pytest.mark.parametrize(
    ("stored", "old", "new"),
    [
        (WEIGHTS, "0.2264", "0.2265"),
        ("-0.0001 and 0.5", "-0.0001", "0.0000"),
        ("9.99e-05 and 0.5", "9.99e-05", "1.00e-04"),
        ("1.50 and 0.5", "1.50", "1.5"),
        ("  9.9999 of 0.5", "  9.9999 of", " 10.0000 of"),
        (TABLE, "0.55", "0.56"),
        (WALK, "2.5]", "2.49999]"),  # stored with five decimals, of which four were zeros
        (HEADS, "123", "124"),  # a rounded float
        (SVG, "47.3", "47.4"),
        (SVG, "0.46", "0.47"),
    ],
)
def test_one_unit_in_the_last_printed_place_is_rounding(stored, old, new):
    assert compared(stored, old, new) == ""


@pytest.mark.parametrize(
    ("stored", "old", "new"),
    [
        (WEIGHTS, "0.2264", "0.2266"),
        ("0.1 and 0.5", "0.5", "nan"),
        ("0.5 is right", "right", "wrong"),
        ("199 of 200 and 0.5", "199", "198"),
        ("torch 2.13.0", "2.13.0", "2.13.1"),
        (TABLE, "0.55", "0.57"),
        (TABLE, ">16<", ">17<"),
        (WALK, "2.5]", "2.49998]"),
        (HEADS, "123", "125"),
        (WALK, '"follow": 1', '"follow": 2'),
        (WALK, "a > b", "a < b"),
        (WALK, "2.5]", "2.5, 2.5]"),
        (WALK, "a = 0.25", "a = 0.26"),
        (SVG, "47.3", "47.5"),
        (SVG, 'rx="4"', 'rx="5"'),
        (SVG, "c04a00", "c04a01"),
    ],
)
def test_more_than_that_and_every_other_change_is_red(stored, old, new):
    assert compared(stored, old, new)


def compared(stored, old, new):
    assert stored.count(old) == 1
    return difference("text/html" if stored.startswith("<") else "text", stored, stored.replace(old, new))


LOSS, WARNING = "print('loss 0.1234, 7 epochs')", "import sys; print('warned 0.1234', file=sys.stderr)"
# The cells of a stored notebook: the source, the stored output, and the words about it in a report; none where it is
# green.
STORED = [
    (LOSS, ("stdout", "loss 0.1235, 7 epochs\n"), ""),
    (LOSS, ("stdout", "loss 0.1236, 7 epochs\n"), "stored 0.1236, computed 0.1234"),
    (LOSS, ("stdout", "loss 0.1234, 8 epochs\n"), "stored '8 epochs\\n', computed '7 epochs\\n'"),
    (WARNING, ("stderr", "warned 0.1235\n"), "warned 0.1235"),
]


def test_nbval_turns_red_on_each_difference_alone_and_says_what_to_do(tmp_path):
    notebook = nbformat.v4.new_notebook()
    for count, (source, output, _) in enumerate(STORED, start=1):
        stream = nbformat.v4.new_output("stream", name=output[0], text=output[1])
        notebook.cells.append(nbformat.v4.new_code_cell(source, outputs=[stream], execution_count=count))
    nbformat.write(notebook, tmp_path / "keys.ipynb")
    options = "-q --nbval --nbval-current-env -n1 -p no:cacheprovider".split()  # in a worker, as in `make test`
    command = [sys.executable, "-m", "tools.compare_numbers", *options, "keys.ipynb"]
    run = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}
    report = subprocess.run(command, timeout=300, **run).stdout
    red = [int(cell) for cell in re.findall(r"(?m)^FAILED keys.ipynb::Cell (\d+)", report)]
    assert red == [cell for cell, (*_, words) in enumerate(STORED) if words], report
    for *_, words in STORED:
        assert words in report
    assert "make labs LAB=keys" in report
