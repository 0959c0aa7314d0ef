"""Claims of *Queries* and *Values*: who is named by others, what is counted as right, and the six lines; by loops.

What trained models reach is asserted in the labs themselves, beside the sentences that it supports.
"""

import numpy as np
import pytest
import torch
from torch import nn

from labs.queries import room
from labs.queries.sentences import Sentences
from labs.values import reading
from shared import cafe
from shared.figures.cafe import outline
from shared.model import SelfAttention

CAFES = cafe.draw_cafes(60, seed=5)


def guests(cafes):
    """Each guest of each café: name, friend, drink, in lists of lists."""
    for names, friends, drinks in zip(cafes.names.tolist(), cafes.friends.tolist(), cafes.drinks.tolist(), strict=True):
        yield dict(zip(names, friends, strict=True)), dict(zip(names, drinks, strict=True)), names


def test_admirers_are_those_who_name_a_guest_without_being_that_guest_s_friend():
    counted = [
        [sum(friends[other] == name and friends[name] != other for other in names) for name in names]
        for friends, _, names in guests(CAFES)
    ]
    assert room.admirers(CAFES).tolist() == counted
    assert {0, 1, 2, 3} <= set(sum(counted, []))


class MostFrequent(nn.Module):
    """Gives all guests the café's most frequent drink, whoever their friend is."""

    def forward(self, cafes):
        answers = cafe.most_frequent_drink(cafes).expand(-1, 8)
        return nn.functional.one_hot(answers, 6).float().unsqueeze(2)  # (cafes, guests, questions, drinks)


def test_accuracy_by_admirers_counts_the_guests_of_each_kind():
    found = {number: [0, 0] for number in range(4)}
    answers = cafe.most_frequent_drink(cafe.TEST_CAFES)[:, 0].tolist()
    for answer, (friends, drinks, names) in zip(answers, guests(cafe.TEST_CAFES), strict=True):
        for name in names:
            number = sum(friends[other] == name and friends[name] != other for other in names)
            if number in found:
                found[number][0] += drinks[friends[name]] == answer
                found[number][1] += 1
    assert room.accuracy_by_admirers(MostFrequent()) == pytest.approx(
        {n: right / of for n, (right, of) in found.items()}
    )


def test_the_room_of_queries_is_drawn_as_it_is_and_ada_is_named_by_somebody_else():
    drawn = room.draw()
    assert dict(zip(drawn.names, drawn.friends, strict=True)) == room.FRIENDS and list(room.FRIENDS) == list(cafe.NAMES)
    drinks = dict(zip(drawn.names, drawn.drinks, strict=True))
    assert [cafe.DRINKS[drink] for drink in room.ROOM.drinks[0]] == [drinks[name] for name in cafe.NAMES]
    for arrow in drawn.arrows:
        for place in {*range(8)} - {arrow.source, arrow.target}:
            guest = drawn.guests[place]
            points = np.linspace(*(outline(arrow, drawn.guests)[corner] for corner in (0, 3)), 100)
            assert np.hypot(*(points - [guest.x, guest.y]).T).min() > guest.radius + 5, "a guest is in an arrow's way"
    assert room.FRIENDS["Ben"] == "Ada" != room.FRIENDS["Cleo"], "the text speaks of Ada, Cleo and Ben"
    model = cafe.CafeModel(SelfAttention(32, 16))
    drawn, weights = room.draw(model, "Ada"), model.layer.attention_weights(model.embed(room.ROOM))[0]
    for i, one in enumerate(drawn.names):
        for j, other in enumerate(drawn.names):
            torch.testing.assert_close(drawn.weights[i, j], weights[cafe.NAMES.index(one), cafe.NAMES.index(other)])


def test_arrows_lead_from_the_word_to_the_word_that_has_the_weight():
    chart = Sentences({"a dog bit a man": [0.2, 0.7, 0, 0, 0.1], "a man bit a dog": [0.03, 0.97, 0, 0, 0]}, "bit")
    (axes,) = chart.drawn_in_style().axes
    words = [(*text.get_position(), text.get_text()) for text in axes.texts if text.get_text().isalpha()]
    assert [word for *_, word in words] == " ".join(chart.weights).split()
    found = []
    for arrow in axes.texts:
        if getattr(arrow, "arrow_patch", None):
            ends = []
            for x, y in (arrow.get_position(), arrow.xy):  # the word below each end
                ends.append(min(words, key=lambda word: abs(word[0] - x) + abs(word[1] - y))[2])
            found.append((*ends, arrow.arrow_patch.get_linewidth()))
    assert [ends for *ends, _ in found] == [["bit", "a"], ["bit", "dog"], ["bit", "man"], ["bit", "man"]]
    widths = [wide for *_, wide in found]
    assert np.argsort(widths).tolist() == np.argsort([0.2, 0.7, 0.1, 0.97]).tolist()
    assert [text.get_text() for text in axes.texts if text.get_text().startswith(".")] == [".20", ".70", ".10", ".97"]
    assert "In “a man bit a dog”, bit attends to man .97." in chart.alt


class Half(nn.Module):
    """Knows my drink always, and the friend's where the friend's name is even."""

    def forward(self, cafes):
        friends = torch.where(cafes.friends % 2 == 0, cafe.friends_drink(cafes), (cafe.friends_drink(cafes) + 1) % 6)
        return nn.functional.one_hot(torch.stack([cafe.my_drink(cafes), friends], dim=2), 6).float()


def test_both_drinks_count_only_together():
    names = cafe.TEST_CAFES.friends.flatten().tolist()
    even = sum(name % 2 == 0 for name in names) / len(names)
    assert reading.right_in_both(Half()) == pytest.approx({"my drink": 1, "friend's drink": even, "both": even})


def test_the_four_guests_are_those_of_attention_in_ten_minutes():
    drawn = reading.draw(torch.eye(4), "")
    assert list(zip(drawn.names, drawn.friends, drawn.drinks, strict=True)) == [
        ("Ada", "Cleo", "tea"), ("Ben", "Ada", "coffee"), ("Cleo", "Dan", "juice"), ("Dan", "Ada", "tea"),
    ]  # fmt: skip
    assert drawn.outputs[0] == ("tea", 1.0)
    assert reading.draw(torch.eye(4), "", "added by attention").output == "added by attention"


def test_the_highest_of_the_six_lines_is_that_of_the_nearest_point():
    values = torch.arange(-5.0, 6.0, 2)
    for number in torch.linspace(-5.9, 5.9, 60).tolist():
        heights = [2 * value * number - value**2 for value in values.tolist()]
        distances = [abs(value - number) for value in values.tolist()]
        assert heights.index(max(heights)) == distances.index(min(distances))
    chart = reading.six_lines(values, 2 * values, -(values**2))
    assert ", ".join(cafe.DRINKS) in chart.alt
    (axes,) = chart.drawn.axes
    for value, drink, text in zip(values.tolist(), cafe.DRINKS, axes.texts, strict=True):
        assert (text.get_text(), text.xy) == (drink, (value, value**2)), "a name is not at its own line"
        (upright,) = [line for line in axes.lines if [*line.get_xdata()] == [value, value]]
        assert upright.get_ydata()[1] == value**2
    thick = [line.get_xydata() for line in axes.lines if line.get_linewidth() == 4]
    for value, line in zip(values.tolist(), thick, strict=True):
        drawn = line[~np.isnan(line[:, 1])]
        np.testing.assert_allclose(drawn[:, 1], 2 * value * drawn[:, 0] - value**2, atol=1e-4)
        low, high = (-9 if value == -5 else value - 1.01), (9 if value == 5 else value + 1.01)
        assert low < drawn[:, 0].min() < drawn[:, 0].max() < high and len(drawn) > 150


def test_a_key_of_one_column_finds_only_the_two_ends():
    keys = torch.arange(-5.0, 6.0, 2)
    assert {(query * keys).argmax().item() for query in torch.linspace(-3, 3, 61) if query.abs() > 1e-6} == {0, 5}
