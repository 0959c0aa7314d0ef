"""Sentences of *A pretrained model*: searched for heads, and who does what to whom, active and passive."""

import numpy as np
from torch import Tensor

SEARCHED = [
    "The old man and the old dog walked to the river.",
    "She put the letter on the table and left the room.",
    "When the bell rang, the children ran out of the school and into the rain.",
    "Nobody knew why the clock had stopped, but the clock was never wrong again.",
    "He reads a book about a book that was never written.",
    "My sister lives in a small town near the sea, and I live in a large town near the mountains.",
    "If you heat the water, the water will boil and the lid will move.",
    "The red car stopped behind the blue car.",
    "We bought bread, cheese and apples, and then more bread.",
    "A bird in the hand is worth two in the bush.",
    "The teacher asked the class a question, and the class asked the teacher another question.",
    "To be honest, I did not like the film, but I liked the music of the film.",
]

NOUNS = "dog man cat woman horse boy girl wolf king queen teacher doctor bear lion nurse tiger".split()
VERBS = "bitten chased kicked helped hit followed called pushed feared loved watched seen".split()
ACTIVE = "The {} is said to have just now {} the very old {}."
PASSIVE = "The {} is said to have been {} by the very old {}."
PLACES = {"[CLS]": 0, "first noun": 2, "said": 4, "old": 12, "second noun": 13}  # the same in both


def searched_and_tested(fractions: Tensor, splits: int = 200) -> tuple[float, float]:
    """Of the head that is best on half of the texts: its fraction there, and on the other half; means over random
    splits. `fractions` are (texts, layers, heads)."""
    random, found = np.random.default_rng(0), []
    for _ in range(splits):
        searched, tested = (fractions[half].mean(dim=0).flatten()
                            for half in np.array_split(random.permutation(len(fractions)), 2))  # fmt: skip
        best = searched.argmax()
        found.append((searched[best].item(), tested[best].item()))
    first, second = np.mean(found, axis=0).tolist()
    return first, second


def who_bites(nouns, verbs, number: int, random: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Random active sentences, then the same in the passive voice, and whether the first noun is the agent, bool."""
    filled = [(*random.choice(nouns, 2, replace=False), random.choice(verbs)) for _ in range(number)]
    texts = [text.format(first, verb, second) for text in (ACTIVE, PASSIVE) for first, second, verb in filled]
    return texts, np.repeat([True, False], number)
