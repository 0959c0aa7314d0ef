"""The game of pairs of *Induction heads*: eight pairs of letters are shown, then asked for in another order.

"kR cB aT" shows three pairs; asked for c, the answer is B. Pairs are drawn for every text, so that the answer is in the
text and nowhere else. About one pair in twenty is held out: training never draws it, and the test asks for it.
"""

import string

import torch
from torch import Tensor

LETTERS = string.ascii_lowercase + string.ascii_uppercase
NUM_LETTERS, NUM_PAIRS = len(LETTERS), 8
HELD_OUT = torch.rand(NUM_LETTERS, NUM_LETTERS, generator=torch.Generator().manual_seed(5)) < 0.05
SECOND = torch.arange(1, 2 * NUM_PAIRS, 2)  # positions of the second letters, where pairs are shown
ASKING = torch.arange(2 * NUM_PAIRS, 4 * NUM_PAIRS, 2)  # positions of the first letters, where pairs are asked for


def draw_pairs(num_texts: int, generator: torch.Generator, held_out: bool = False) -> tuple[Tensor, Tensor]:
    """Texts of pairs shown and pairs asked, (num_texts, 4 NUM_PAIRS), and which shown pair each question asks for.

    Args:
        held_out: draw only texts with a held-out pair; otherwise only texts without.

    Returns:
        The ids, and the order (num_texts, NUM_PAIRS) in which the shown pairs are asked for.
    """
    wanted = torch.zeros(0, dtype=torch.bool)
    while wanted.sum() < num_texts:
        drawn = 8 * num_texts
        first = torch.rand(drawn, NUM_LETTERS, generator=generator).argsort(dim=1)[:, :NUM_PAIRS]  # all different
        second = torch.randint(NUM_LETTERS, (drawn, NUM_PAIRS), generator=generator)
        wanted = HELD_OUT[first, second].any(dim=1) == held_out  # (drawn,)
    first, second = first[wanted][:num_texts], second[wanted][:num_texts]  # (num_texts, NUM_PAIRS)
    order = torch.rand(num_texts, NUM_PAIRS, generator=generator).argsort(dim=1)  # (num_texts, NUM_PAIRS)
    shown = torch.stack([first, second], dim=2)  # (num_texts, NUM_PAIRS, 2)
    asked = shown.gather(1, order[:, :, None].expand(-1, -1, 2))
    return torch.cat([shown, asked], dim=1).flatten(1), order


def positions_of_answers(order: Tensor) -> Tensor:
    """Where the answer to each question is shown, (num_texts, NUM_PAIRS)."""
    return 2 * order + 1


def as_letters(ids: Tensor) -> list[str]:
    """The letters of one text, (tokens,)."""
    return [LETTERS[i] for i in ids.tolist()]
