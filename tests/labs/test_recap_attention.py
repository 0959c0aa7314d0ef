"""The model and the loop that *Recap: attention* shows in a fold are those of the course."""

import re

import lab_code
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from shared import cafe

FOLD = re.compile(r"<summary>The café's model and its training loop</summary>\n\n```python\n(.*?)\n```", re.DOTALL)


def test_the_loop_in_the_fold_trains_what_the_course_s_own_trains():
    lab = lab_code.find("recap_attention")
    names = {"torch": torch, "nn": nn, "cross_entropy": cross_entropy, "draw_cafes": cafe.draw_cafes}
    exec(FOLD.search(lab.text)[1], names)
    found = []
    for train in (names["train"], cafe.train):
        torch.manual_seed(1)
        layer = lab_code.taught(lab)["LearnedQuery"](32)
        found.append(train(layer, cafe.adas_drink, steps=5).state_dict())
    torch.testing.assert_close(*found, rtol=0, atol=0)
