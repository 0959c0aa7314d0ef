"""The café: its answers are those of a loop."""

import torch

from shared import cafe


def test_answers_are_those_of_a_loop_over_the_guests():
    cafes = cafe.draw_cafes(20, seed=1)
    for names, friends, drinks, friends_drink, friends_friends_drink, neighbours_drink, by_name in zip(
        cafes.names.tolist(),
        cafes.friends.tolist(),
        cafes.drinks.tolist(),
        cafe.friends_drink(cafes).tolist(),
        cafe.friends_friends_drink(cafes).tolist(),
        cafe.left_neighbours_drink(cafes).tolist(),
        cafe.drinks_by_name(cafes).tolist(),
        strict=True,
    ):
        drink_of, friend_of = dict(zip(names, drinks, strict=True)), dict(zip(names, friends, strict=True))
        assert len(drink_of) == 8 and all(name != friend for name, friend in friend_of.items())
        assert friends_drink == [drink_of[friend] for friend in friends]
        assert friends_friends_drink == [drink_of[friend_of[friend]] for friend in friends]
        assert neighbours_drink == [drinks[(chair + 1) % 8] for chair in range(8)]
        assert by_name == [drink_of[name] for name in range(8)]


def test_same_drink_is_answered_by_looking_at_both_cups():
    cafes = cafe.draw_cafes(20, seed=2)
    answers = cafe.same_drink(cafes)
    for row in range(20):
        names, drinks = cafes.names[row].tolist(), cafes.drinks[row].tolist()
        for chair, friend in enumerate(cafes.friends[row].tolist()):
            assert int(answers[row, chair]) == (drinks[names.index(friend)] == drinks[chair])
    assert 0 < answers.float().mean() < 0.4


def test_measuring_switches_dropout_off_and_then_on_again():
    model = cafe.CafeModel(torch.nn.Dropout(0.5)).train()
    one, two = (cafe.accuracy(model, cafe.my_drink) for _ in range(2))
    assert one == two and model.training
    assert not cafe.train(torch.nn.Dropout(0.5), cafe.my_drink, steps=1).training
