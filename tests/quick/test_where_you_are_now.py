"""What readers paste from *Where you are now*: the stranger's code has three faults, and each of them matters."""

import itertools
import re
from pathlib import Path

import pytest
import torch

import checks
from shared import cafe
from shared.model import SelfAttention

PAGE = (Path(__file__).resolve().parents[2] / "book" / "where_you_are_now.md").read_text("utf-8")
WRITE, FIND, BUILD = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FIXES = (
    ("reshape(batch, num_heads, tokens, head_dim)", "reshape(batch, tokens, num_heads, head_dim).transpose(1, 2)"),
    ("math.sqrt(d_model)", "math.sqrt(head_dim)"),
    ("scores.softmax(dim=3).tril()", "(scores + torch.full((tokens, tokens), -math.inf).triu(1)).softmax(dim=3)"),
)


class Written(SelfAttention):
    """The layer of the course, as if a reader had written it."""

    def forward(self, x, mask):
        weights = self.attention_weights(x, mask)
        return weights @ self.W_value(x), weights


def test_the_blank_is_checked_and_the_layer_of_the_course_passes():
    names: dict = {}
    exec(WRITE, names)
    assert not checks.whole_layer(names["SelfAttention"])
    assert checks.whole_layer(Written)


@pytest.mark.parametrize("fixes", [fixes for n in range(4) for fixes in itertools.combinations(FIXES, n)])
def test_the_code_is_right_only_when_all_three_faults_are_fixed(fixes, capsys):
    torch.manual_seed(0)
    code = FIND
    for wrong, right in fixes:
        assert wrong in code
        code = code.replace(wrong, right)
    exec(code, {})
    assert (capsys.readouterr().out == "fixed\n") == (len(fixes) == 3)


def test_the_question_of_the_capstone_is_about_the_left_hand_neighbours_friend():
    names: dict = {}
    exec(BUILD.partition("class YourModel")[0], names)
    cafes = cafe.draw_cafes(1, seed=0)
    answers = names["neighbors_friends_drink"](cafes)[0].tolist()
    seated, friends, drinks = (row[0].tolist() for row in (cafes.names, cafes.friends, cafes.drinks))
    assert answers == [drinks[seated.index(friends[(chair + 1) % 8])] for chair in range(8)]
