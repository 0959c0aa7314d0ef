"""*Attention in one pass*: memory is counted right, and what a matrix can remember. The lab compares outputs itself."""

import torch

from labs.one_pass import recall
from labs.one_pass.peak_memory import peak_bytes


def test_the_peak_counts_each_tensor_once_and_subtracts_what_is_freed():
    older = torch.zeros(1000)

    def three_of_which_two_exist_together():
        first = torch.zeros(100)  # 400 bytes
        first.view(10, 10).add_(1)  # no new bytes
        second = first + older[:100]  # 400 more
        del first
        return second * 2  # 400 more, in place of the first

    assert peak_bytes(three_of_which_two_exist_together) == 800
    assert peak_bytes(lambda: older.view(10, 100)) == 0


def test_a_matrix_answers_all_where_the_keys_are_independent_and_cannot_tell_apart_two_guests_with_one_key():
    keys, drinks = recall.draw_guests(16, seed=0)
    matrix = torch.linalg.solve(keys, torch.nn.functional.one_hot(drinks, 6).float())  # the values, exactly
    assert (keys @ matrix).argmax(dim=1).equal(drinks) and recall.some_matrix_answers(keys, drinks)
    twins = torch.cat([keys, keys[:1]]), torch.cat([drinks, (drinks[:1] + 1) % 6])
    assert not recall.some_matrix_answers(*twins)
    twice = torch.cat([keys, 2 * keys[:1]]), torch.cat([drinks, drinks[:1]])  # no new condition
    assert recall.some_matrix_answers(*twice)
    keys = keys.double()
    middle = keys[:1] + keys[1:2]  # its answer is the sum of two, so a third drink can't be ahead ...
    two = torch.cat([keys, middle]), torch.cat([torch.zeros(16, dtype=torch.long), torch.tensor([1])])
    assert not recall.some_matrix_answers(*two)
    two[1][1] = 2  # ... unless the two disagree
    assert recall.some_matrix_answers(*two)


def test_the_fitted_matrix_answers_all_where_some_matrix_does():
    for num_guests, seed in ((8, 0), (16, 1), (32, 0), (32, 1)):
        keys, drinks = recall.draw_guests(num_guests, seed)
        assert recall.some_matrix_answers(keys, drinks)
        assert (keys @ recall.fitted_to_answer(keys, drinks)).argmax(dim=1).equal(drinks)
