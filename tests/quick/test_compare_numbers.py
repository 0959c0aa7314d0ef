"""Claims about the comparison of stored and computed outputs: what is rounding, and what is red."""

import json
import re
import subprocess
import sys

import compare_numbers
import nbformat
import pytest
from compare_numbers import difference

WEIGHTS = """weights
tensor([[0.1551, 0.2104, 0.2059, 0.1413, 0.1074, 0.1799],
        [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820],
        [0.1503, 0.2256, 0.2192, 0.1315, 0.0914, 0.1819],
        [0.1591, 0.1994, 0.1962, 0.1477, 0.1206, 0.1769]])
"""


def changed(text, old, new, kind="text"):
    assert text.count(old) == 1, f"{old} occurs {text.count(old)} times"
    return difference(kind, text, text.replace(old, new))


# --- printed numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "computed"),
    [
        ("0.2264", "0.2265"),
        ("-0.0001", "0.0000"),
        ("\u22120.01", "0.00"),
        ("9.99e-05", "1.00e-04"),
        ("[[ 0.00, 1.00]]", "[[-0.01, 1.00]]"),
        ("  9.9999 of", " 10.0000 of"),
    ],
)
def test_one_unit_in_the_last_printed_place_is_rounding(stored, computed):
    assert difference("text", f"{stored}\nand 0.5 more", f"{computed}\nand 0.5 more") == ""
    assert difference("text", computed, stored) == ""


@pytest.mark.parametrize(
    ("stored", "computed"),
    [
        ("0.2264", "0.2266"),
        ("1.50", "1.5"),
        ("0.0010", "1.0e-3"),
        ("  0.10", "   0.10"),
        ("0.5", "nan"),
        ("0.5 is right", "0.5 is wrong"),
        ("200 of 200", "199 of 200"),
        ("7,572 reviews", "7,573 reviews"),
        ("torch 2.13.0", "torch 2.13.1"),
    ],
)
def test_more_than_that_and_every_other_change_is_red(stored, computed):
    text = f"{stored}\nand 0.5 more"
    assert difference("text", text, text.replace(stored, computed))


def test_one_number_in_twenty_may_be_rounded_otherwise_and_no_more():
    assert changed(WEIGHTS, "0.2264", "0.2265") == ""
    two = WEIGHTS.replace("0.2264", "0.2265").replace("0.1591", "0.1590")
    assert "2 of 24 printed numbers differ" in difference("text", WEIGHTS, two)
    assert difference("text", WEIGHTS * 2, two + WEIGHTS) == "", "two of 48 are less than 5 %"
    assert difference("text", "0.1 and 0.2", "0.1 and 0.3") == "", "one number alone is never too many"


def test_a_table_of_html_is_printed_numbers():
    table = '<table class="t1"><tr><th>k = 8</th><td>0.55</td><td>16</td></tr></table>'
    assert changed(table, "0.55", "0.56", "text/html") == ""
    for old, new in (("0.55", "0.57"), (">16<", ">17<"), ("k = 8", "k = 9"), ("t1", "t2")):
        assert changed(table, old, new, "text/html"), (old, new)


# --- numbers behind a picture ------------------------------------------------------------------------------------

NUMBERS = [[0.296112, 0.25, -0.0739725], [1.516562, 0.0, 2.5]]


def walk_of(numbers):
    data = json.dumps({"words": ["a > b", "0.5"], "W_query": numbers, "follow": 1})
    return f"<div data-walk='{data}'>0.25</div><script>const a = 0.25;</script>"


def test_a_weight_behind_a_picture_may_move_by_a_hundred_thousandth_of_the_largest():
    near = [[0.296122, 0.25, -0.0739725], [1.516562, -0.000002, 2.50002]]
    assert difference("text/html", walk_of(NUMBERS), walk_of(near)) == ""
    for factor in (1.05, 1.001, -1):
        far = [NUMBERS[0], [1.516562, 0.0, 2.5 * factor]]
        assert "W_query behind the picture" in difference("text/html", walk_of(NUMBERS), walk_of(far))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"follow": 1', '"follow": 2'),
        ("a > b", "a < b"),
        ("a = 0.25", "a = 0.26"),
        ("2.5]", "2.5, 2.5]"),
        ("2.5]", "NaN]"),
        ("W_query", "W_key"),
    ],
)
def test_words_keys_sizes_and_scripts_are_compared_to_the_letter(old, new):
    assert changed(walk_of(NUMBERS), old, new, "text/html")


def test_coordinates_may_move_by_one_unit_and_sizes_that_are_whole_not_at_all():
    drawn = '<svg width="131.3" aria-label="share 0.46"><rect x="47.3" y="44" rx="4" fill="#c04a00"/></svg>'
    for old, new in (("47.3", "47.4"), ("131.3", "131.2"), ("0.46", "0.47")):
        assert changed(drawn, old, new, "text/html") == "", (old, new)
    for old, new in (("47.3", "47.5"), ('rx="4"', 'rx="5"'), ("c04a00", "c04a01"), ("0.46", "0.48")):
        assert changed(drawn, old, new, "text/html"), (old, new)


# --- in nbval ----------------------------------------------------------------------------------------------------

LOSS, WARNING = "print('loss 0.1234, 7 epochs')", "import sys; print('warned 0.1234', file=sys.stderr)"
# The cells of a stored notebook: the source, the stored output, and the words about it in a report; none where it is
# green. The last one was never executed.
STORED = [
    (LOSS, ("stdout", "loss 0.1235, 7 epochs\n"), ""),
    (LOSS, ("stdout", "loss 0.1236, 7 epochs\n"), "stored 0.1236, computed 0.1234"),
    (LOSS, ("stdout", "loss 0.1234, 8 epochs\n"), "stored '8 epochs\\n', computed '7 epochs\\n'"),
    (WARNING, ("stderr", "warned 0.1235\n"), "warned 0.1235"),
    ("x = 0.1234", None, "never executed, so nothing is stored"),
]


def test_nbval_turns_red_on_each_difference_alone_and_says_what_to_do(tmp_path):
    notebook = nbformat.v4.new_notebook()
    for count, (source, output, _) in enumerate(STORED, start=1):
        stream = [nbformat.v4.new_output("stream", name=output[0], text=output[1])] if output else []
        cell = nbformat.v4.new_code_cell(source, outputs=stream, execution_count=count if output else None)
        notebook.cells.append(cell)
    nbformat.write(notebook, tmp_path / "02_stored.ipynb")
    options = "-q --nbval --nbval-current-env -n1 -p no:cacheprovider".split()  # in a worker, as in `make test`
    command = [sys.executable, compare_numbers.__file__, *options, "02_stored.ipynb"]
    report = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300).stdout
    red = [int(cell) for cell in re.findall(r"(?m)^FAILED 02_stored.ipynb::Cell (\d+)", report)]
    assert red == [cell for cell, (*_, words) in enumerate(STORED) if words], report
    for *_, words in STORED:
        assert words in report
    assert "make labs LAB=02" in report
