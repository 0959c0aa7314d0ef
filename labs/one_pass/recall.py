"""What a matrix can remember: one read with each guest's key, whose largest answer is to be the guest's drink."""

import numpy as np
import torch
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from torch.nn.functional import normalize, one_hot

NUM_DRINKS = 6


def draw_guests(num_guests: int, seed: int, d_k: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys of length 1 (guests, d_k) and drinks (guests,)."""
    generator = torch.Generator().manual_seed(seed)
    keys = normalize(torch.randn(num_guests, d_k, generator=generator), dim=1)
    return keys, torch.randint(NUM_DRINKS, (num_guests,), generator=generator)


def fitted_to_answer(keys: torch.Tensor, drinks: torch.Tensor) -> torch.Tensor:
    """The matrix (d_k, drinks) of a logistic regression without intercept, from keys to drinks, of
    which there are at least three different ones."""
    model = LogisticRegression(C=1e5, fit_intercept=False, max_iter=1000).fit(keys.numpy(), drinks.numpy())
    matrix = torch.zeros(keys.shape[1], NUM_DRINKS)
    matrix[:, torch.tensor(model.classes_)] = torch.tensor(model.coef_.T, dtype=torch.float32)
    return matrix


def some_matrix_answers(keys: torch.Tensor, drinks: torch.Tensor) -> bool:
    """Is there any matrix (d_k, drinks) with which each guest's own drink is ahead of all others? A linear program
    decides: for every guest and every other drink, key · (column of the drink - column of the other) >= 1."""
    own = one_hot(drinks, NUM_DRINKS)  # (guests, drinks)
    guest, other = (own == 0).nonzero(as_tuple=True)  # one condition each
    ahead = own[guest] - one_hot(other, NUM_DRINKS)  # (conditions, drinks): 1 for the drink, -1 for the other
    conditions = torch.einsum("ck,cd->ckd", keys[guest].double(), ahead.double()).flatten(1).numpy()
    return linprog(
        np.zeros(conditions.shape[1]), A_ub=-conditions, b_ub=-np.ones(len(conditions)), bounds=(None, None)
    ).success
