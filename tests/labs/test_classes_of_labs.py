"""The classifiers that labs write down are those of `shared.model`, which made the stored runs that labs show.

The classes that readers build are compared with a reference by the checks, both the lab's and those of `shared`.
"""

import lab_code
import pytest
import torch
from torch import nn

from shared import model

SIZE = 40
PAIRS = [
    ("queries", (SIZE, 8, 4), model.SelfAttentionClassifier(SIZE, 8, 4, None)),
    ("values", (SIZE, 8, 4, 6), model.SelfAttentionClassifier(SIZE, 8, 4, 6)),
]


@pytest.mark.parametrize(("lab", "sizes", "shared"), PAIRS, ids=[lab for lab, *_ in PAIRS])
def test_the_classifier_of_a_lab_is_the_shared_one(lab, sizes, shared):
    of_the_lab = lab_code.taught(lab_code.find(lab))["SelfAttentionClassifier"](*sizes).eval()
    for parameter in of_the_lab.parameters():
        nn.init.normal_(parameter, std=0.5)
    shared.eval().load_state_dict(of_the_lab.state_dict())
    real = torch.arange(9) < torch.tensor([[9], [4], [1], [0]])  # how many real tokens each text has
    ids = torch.randint(1, SIZE, (4, 9)) * real
    torch.testing.assert_close(of_the_lab(ids, real), shared(ids, real))
