"""The café: its answers are those of a loop."""

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
