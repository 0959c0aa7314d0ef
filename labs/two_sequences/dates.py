"""Dates in words, "the third of march nineteen eighty four", and as digits, 19840303: where each digit comes from.

The words come in three orders, the digits always in one. A model with an encoder or without reads the words, and its
decoder block writes the digits, one after another.
"""

import calendar
import datetime
import random

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from shared.model import TransformerBlock, sinusoidal_positions

ONES = ["oh", *"one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()]  # fmt: skip
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth").split()  # fmt: skip
ORDINALS += [f"twenty-{day}" for day in ORDINALS[:9]] + ["thirtieth", "thirty-first"]
MONTHS = [name.lower() for name in calendar.month_name[1:]]
WORDS = ["<pad>", "the", "of", *MONTHS, *ORDINALS, *ONES, *TENS]
NUMBER = {word: number for number, word in enumerate(WORDS)}
LENGTH, STEPS, BEGIN = 7, 8, 10  # words at most, digits, and what the decoder reads before the first digit


def year_in_words(year: int) -> tuple[list[str], list[int]]:
    """The words, and for each of the four digits the number of its word."""
    rest = year % 100
    century = ONES[year // 100] if year < 2000 else "twenty"
    if rest < 10:
        return [century, "oh", ONES[rest]], [0, 0, 1, 2]
    if rest < 20:
        return [century, ONES[rest]], [0, 0, 1, 1]
    tens = TENS[rest // 10 - 2]
    return ([century, tens, ONES[rest % 10]], [0, 0, 1, 2]) if rest % 10 else ([century, tens], [0, 0, 1, 1])


def in_words(date: datetime.date, order: int) -> tuple[list[str], list[int]]:
    """The words of a date in one of three orders, and for each of its eight digits the number of its word."""
    year, of_year = year_in_words(date.year)
    month, day = MONTHS[date.month - 1], ORDINALS[date.day - 1]
    if order == 2:
        return [*year, month, day], [*of_year, *[len(year)] * 2, *[len(year) + 1] * 2]
    before, of_month, of_day = ([month, day], 0, 1) if order == 0 else (["the", day, "of", month], 3, 1)
    return [*before, *year], [*(len(before) + word for word in of_year), of_month, of_month, of_day, of_day]


def dates(held_out: bool) -> list[datetime.date]:
    """All days of 1901 to 2099 but those of 2000; every tenth is held out for the test."""
    first, last = datetime.date(1901, 1, 1).toordinal(), datetime.date(2099, 12, 31).toordinal()
    days = [datetime.date.fromordinal(day) for day in range(first, last + 1) if (day % 10 == 0) == held_out]
    return [day for day in days if day.year != 2000]


def encode(examples: list[tuple[datetime.date, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Of dates, each in one of the three orders: words (dates, 7), 0 for padding; digits (dates, 8); the word that each
    digit comes from, (dates, 8)."""
    words, digits, source = [], [], []
    for date, order in examples:
        said, of_digits = in_words(date, order)
        words.append([NUMBER[word] for word in said] + [0] * (LENGTH - len(said)))
        digits.append([int(digit) for digit in date.strftime("%Y%m%d")])
        source.append(of_digits)
    return torch.tensor(words), torch.tensor(digits), torch.tensor(source)


def draw_dates(count: int, seed: int, held_out: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Random dates in random orders, encoded."""
    chance, days = random.Random(seed), dates(held_out)
    return encode([(chance.choice(days), chance.randrange(3)) for _ in range(count)])


class DateWriter(nn.Module):
    """Words are read by an encoder block, or taken as they are; a decoder block writes digits."""

    def __init__(self, decoder: nn.Module, encoder: TransformerBlock | None = None, d_model: int = 32):
        super().__init__()
        self.words, self.digits = nn.Embedding(len(WORDS), d_model), nn.Embedding(BEGIN + 1, d_model)
        self.positions = nn.Parameter(sinusoidal_positions(STEPS, d_model), requires_grad=False)
        self.encoder, self.decoder = encoder, decoder
        self.read_out = nn.Linear(d_model, 10)

    def forward(self, words: Tensor, digits: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the digit at each step, from those before it, (dates, steps, 10), and the weights (dates, heads,
        steps, words) of the cross-attention."""
        mask = words > 0
        y = self.words(words) + self.positions[: words.shape[1]]  # (dates, words, d_model)
        if self.encoder is not None:
            y, _ = self.encoder(y, mask)
        before = torch.cat([torch.full_like(digits[:, :1], BEGIN), digits[:, :-1]], dim=1)  # (dates, steps)
        x, weights = self.decoder(self.digits(before) + self.positions[: digits.shape[1]], y, mask)
        return self.read_out(x), weights


def train(decoder: nn.Module, encoder: TransformerBlock | None = None, seed: int = 0, steps: int = 1000) -> DateWriter:
    """Train on new dates, 64 a step."""
    words, digits, _ = draw_dates(64 * max(steps, 1), seed)
    torch.manual_seed(seed)
    model = DateWriter(decoder, encoder)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for step in range(steps):
        rows = slice(64 * step, 64 * (step + 1))
        logits, _ = model(words[rows], digits[rows])
        loss = cross_entropy(logits.flatten(0, 1), digits[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def right_without(model: DateWriter, words: Tensor, digits: Tensor, hidden: Tensor) -> Tensor:
    """How often each digit is right, (steps,), if the decoder doesn't see one of the words, `hidden` (dates, steps).

    The digits before are the right ones. -1 hides nothing. The encoder has read all words."""
    right = []
    for step in range(STEPS):
        visible = torch.arange(words.shape[1]) != hidden[:, step, None]  # (dates, words)
        hook = model.decoder.register_forward_pre_hook(
            lambda _, given, visible=visible: (*given[:2], given[2] & visible)
        )
        right.append((model(words, digits)[0][:, step].argmax(dim=1) == digits[:, step]).float().mean())
        hook.remove()
    return torch.stack(right)


def another_word(words: Tensor, known: Tensor, seed: int = 0) -> Tensor:
    """For each step of each date a random word that is not the `known` one, (dates, steps)."""
    chance = torch.rand(*known.shape, words.shape[1], generator=torch.Generator().manual_seed(seed))
    chance[(words == 0)[:, None].expand_as(chance)] = 0  # padding
    return chance.scatter(2, known[:, :, None], 0).argmax(dim=2)


@torch.no_grad()
def write(model: DateWriter, words: Tensor) -> tuple[Tensor, Tensor]:
    """Greedy decoding: the digits (dates, 8), and the weights with which each was written, (dates, 8, words)."""
    digits = torch.zeros(len(words), STEPS, dtype=torch.long)
    for step in range(STEPS):
        logits, weights = model(words, digits)  # a step does not see the zeros after it
        digits[:, step] = logits[:, step].argmax(dim=1)
    return digits, weights.mean(dim=1)
