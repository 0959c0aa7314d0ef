"""The café, the toy task of the course: guests, each with a name, a friend and a drink.

One token is one guest, x = e_name + e_friend + e_drink with learned embeddings. Every guest is
asked the same question, for example "what does my friend drink?", and a linear read-out answers it
from what a layer returns for that guest.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
DRINKS = ("tea", "coffee", "juice", "water", "milk", "cocoa")


@dataclass(frozen=True)
class Cafes:
    """Some cafés, each a row of chairs; all three are integers, (cafes, guests).

    `names` holds who sits on each chair, `friends` the name of that guest's friend, `drinks` what
    stands before them.

    Raises:
        ValueError: fewer than two guests, a friend who is not there or is the guest, or a drink not
            on the menu.
    """

    names: Tensor
    friends: Tensor
    drinks: Tensor

    def __post_init__(self):
        if self.names.shape[1] < 2:
            raise ValueError("A café with one guest has no friends in it; give two guests or more.")
        there = self.is_friend().any(dim=2)  # (cafes, guests)
        if not there.all():
            raise ValueError(f"Friend number {self.friends[~there][0]} is not in the café.")
        seated = self.names.sort(dim=1).values  # (cafes, guests)
        if seated.min() < 0 or (seated.diff(dim=1) == 0).any():
            raise ValueError("Names are numbers from 0 on, each at most once in a café.")
        if (self.friends == self.names).any():
            raise ValueError("A guest is their own friend; name another guest.")
        if self.drinks.min() < 0 or self.drinks.max() >= len(DRINKS):
            raise ValueError(f"Drinks are numbers from 0 to {len(DRINKS) - 1}, see `cafe.DRINKS`.")

    def is_friend(self) -> Tensor:
        """True where the column is the friend of the row, (cafes, guests, guests)."""
        return self.friends.unsqueeze(2) == self.names.unsqueeze(1)

    def chairs_of_friends(self) -> Tensor:
        """The chair on which each guest's friend sits, (cafes, guests)."""
        return self.is_friend().int().argmax(dim=2)


def draw_cafes(count: int, seed: int | torch.Generator) -> Cafes:
    """Random cafés of eight guests: seats, friends and drinks are drawn independently.

    Args:
        seed: a number, or a generator that goes on from where it is.
    """
    generator = torch.Generator().manual_seed(seed) if isinstance(seed, int) else seed
    guests = len(NAMES)
    names = torch.rand(count, guests, generator=generator).argsort(dim=1)  # (cafes, guests)
    # A friend is one of the seven others: some steps further in the circle of names.
    friends = (names + torch.randint(1, guests, (count, guests), generator=generator)) % guests
    return Cafes(names, friends, torch.randint(len(DRINKS), (count, guests), generator=generator))


# Questions: each gives the right answer for every guest, (cafes, guests); the last two ask about
# names instead.


def my_drink(cafes: Cafes) -> Tensor:
    return cafes.drinks


def friends_drink(cafes: Cafes) -> Tensor:
    return cafes.drinks.gather(1, cafes.chairs_of_friends())


def friends_friends_drink(cafes: Cafes) -> Tensor:
    chairs = cafes.chairs_of_friends()
    return cafes.drinks.gather(1, chairs.gather(1, chairs))


def same_drink(cafes: Cafes) -> Tensor:
    """Do my friend and I drink the same? 1 for yes, 0 for no: two of the read-out's six classes."""
    return (my_drink(cafes) == friends_drink(cafes)).long()


def left_neighbours_drink(cafes: Cafes) -> Tensor:
    """Chairs are numbered clockwise, and guests face the table: the next chair is on the left."""
    return cafes.drinks.roll(-1, dims=1)


def drinks_by_name(cafes: Cafes) -> Tensor:
    """The drink of each name, Ada first; the eight questions "what does NAME drink?"."""
    chairs = cafes.names.argsort(dim=1)  # (cafes, names), the chair on which each name sits
    return cafes.drinks.gather(1, chairs)


def adas_drink(cafes: Cafes) -> Tensor:
    return drinks_by_name(cafes)[:, :1]  # (cafes, 1): one question for the whole café


class CafeModel(nn.Module):
    """Guests to vectors, a layer that you write, and a linear read-out of the answers.

    Args:
        layer: takes x (cafes, guests, d_model); returns (cafes, answers, d_out), one vector for
            each answer, or (cafes, d_out), one for the whole café.
        d_out: the width of what the layer returns.
        questions: how many questions are answered from one vector.
    """

    def __init__(
        self, layer: nn.Module, d_model: int = 32, d_out: int | None = None, questions: int = 1
    ):
        super().__init__()
        self.name = nn.Embedding(len(NAMES), d_model)
        self.friend = nn.Embedding(len(NAMES), d_model)
        self.drink = nn.Embedding(len(DRINKS), d_model)
        for table in (self.name, self.friend, self.drink):
            nn.init.normal_(table.weight, std=d_model**-0.5)
        self.layer = layer
        self.read_out = nn.Linear(d_out or d_model, questions * len(DRINKS))

    def embed(self, cafes: Cafes) -> Tensor:
        """One vector for each guest, (cafes, guests, d_model)."""
        return self.name(cafes.names) + self.friend(cafes.friends) + self.drink(cafes.drinks)

    def forward(self, cafes: Cafes) -> Tensor:
        output = self.layer(self.embed(cafes))  # (cafes, answers, d_out)
        if isinstance(output, tuple):  # layers that also return their attention weights
            output = output[0]
        if output.dim() == 2:  # one vector for the whole café
            output = output.unsqueeze(1)  # (cafes, 1, d_out)
        # (cafes, answers, questions, drinks)
        return self.read_out(output).unflatten(2, (-1, len(DRINKS)))


Question = Callable[[Cafes], Tensor]


def right_answers(cafes: Cafes, questions: tuple[Question, ...]) -> Tensor:
    """The answers to all questions, (cafes, answers, questions)."""
    return torch.stack([question(cafes) for question in questions], dim=2)


def train(
    layer: nn.Module, *questions: Question, seed: int = 0,
    d_model: int = 32, d_out: int | None = None,
    steps: int = 1000, learning_rate: float = 0.003, batch_size: int = 64,
    model_class: type[CafeModel] = CafeModel,
) -> CafeModel:  # fmt: skip
    """Train a layer on new cafés with Adam; one recipe for every model of the labs.

    Args:
        layer: see `CafeModel`; its own weights are drawn before this call, so set a seed there.
        seed: of the cafés, the embeddings and the read-out.
        model_class: what is made of the layer; a lab may fix its attention there.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = model_class(layer, d_model, d_out, len(questions))
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in tqdm(range(steps), leave=False):
        cafes = draw_cafes(batch_size, generator)
        logits = model(cafes)  # (cafes, answers, questions, drinks)
        loss = cross_entropy(logits.flatten(0, 2), right_answers(cafes, questions).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: CafeModel, *questions: Question, cafes: Cafes | None = None) -> float:
    """How often all questions are answered right, on the same 1,000 cafés for all models."""
    cafes = TEST_CAFES if cafes is None else cafes
    was_training = model.training
    answers = model.eval()(cafes).argmax(dim=3)  # (cafes, answers, questions)
    model.train(was_training)
    right = answers == right_answers(cafes, questions)
    return right.all(dim=2).float().mean().item()


def most_frequent_drink(cafes: Cafes) -> Tensor:
    """The most frequent drink of each café, (cafes, 1): all one knows without who is who."""
    return cafes.drinks.mode(dim=1, keepdim=True).values


def rule_accuracy(rule: Question, question: Question, cafes: Cafes | None = None) -> float:
    """How often a rule, such as `most_frequent_drink`, gives the right answer."""
    cafes = TEST_CAFES if cafes is None else cafes
    return (rule(cafes) == question(cafes)).float().mean().item()


TEST_CAFES = draw_cafes(1000, seed=1_000_000)
