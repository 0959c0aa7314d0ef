"""The course's one list of mistakes: a short name for each, which never changes, and the sentence that goes with it.

A name is said once, whatever the exercise; an exercise may put it into words of its own (`say`). What stands in
`GENERAL` is found by the checks themselves. All others are edits of a solution.
"""

import re
from dataclasses import dataclass

GENERAL = (
    "a global in place of the argument",
    "a linear map is missing",
    "a part is missing",
    "changed in place",
    "changes its input",
    "cut off from the gradient",
    "drawn anew in each call",
    "never ends",
    "no gradient",
    "not a class",
    "not a function",
    "not a layer",
    "not a number",
    "one map for two",
    "other numbers",
    "parameters created inside forward",
    "raises",
    "returns nothing",
    "super().__init__() is missing",
    "the work left to another function",
    "weights not registered",
    "wrong dtype",
    "wrong shape",
    "wrong type",
    "wrong width",
)

# Somebody whose mask says how many tokens are real, and no longer which.
COUNTED = "torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)"

SENTENCES = {
    # means and sums
    "counted over the batch": "You count how many texts have a real token at each place. Count the real tokens of each "
    "text: sum the mask over axis 1.",
    "divided by all places": "Padding is out of the sum, but you still divide by the length of the row and not by the "
    "number of real tokens. Short texts come out too small.",
    "divided once too often": "You take the mean of the weighted features. The weights sum to 1 already, so sum them.",
    "mean over the batch": "You average over the texts of the batch. A text must not depend on its neighbours: the "
    "tokens are axis 1.",
    "mean over the features": "You average over the features of each token. The tokens are axis 1, the features axis 2.",
    "multiplied by the count": "You multiply by the number of real tokens. A mean divides by it.",
    "not divided": "This is a sum over the real tokens, not their mean. Long texts come out too large.",
    "one count for all texts": "You divide by the real tokens of the whole batch. Each text has a count of its own: sum "
    "the mask over the tokens only.",
    "padding left in the mean": "The mean runs over padding too: short texts are pulled towards whatever stands behind "
    "them.",
    "padding left in the sum": "You divide by the number of real tokens, but padding is still in the sum.",
    "summed over the batch": "You sum over the texts of the batch. The tokens of one text are summed: axis 1.",
    "summed over the features": "You sum over the features of each token. Sum over the tokens, axis 1.",
    "the axis of the count is lost": "The counts have the shape (batch,), which lines up with the features and not with "
    "the texts; where the sizes agree that raises no error. Keep the axis: keepdim=True.",
    # masks
    "NaN for a text of padding": "A text of padding only gives NaN, and one NaN spoils the whole model. It comes from "
    "0 / 0, or from the softmax of a row of minus infinities: fill with the smallest number instead, and multiply by "
    "the mask at the end.",
    "mask after the softmax": "You set the weights of padding to zero after the softmax. It has had its share by then, "
    "and the weights no longer sum to 1. Hide it in the scores.",
    "no mask": "The mask is not used, so padding takes part.",
    "padding hidden with too small a number": "Padding gets a low score, but a real token may score lower still, and "
    "then padding wins. Fill with the smallest number there is, or with minus infinity.",
    "padding scored zero": "You give padding the score 0. The softmax takes e to the 0, which is 1: padding still gets "
    "weight. Use the smallest number there is.",
    "the mask added as it is": "You add the mask to the scores, so real tokens get 1 more and padding keeps its score. "
    "What is added to padding must be hugely negative.",
    "the mask on the wrong axis": "The mask has its new axis in the wrong place. It is (batch, tokens) and must become "
    "(batch, tokens, 1), so that it says the same for all features of a token.",
    "the mask only counted": "You count the real tokens of a text and take as many from the front. Padding may stand in "
    "front, too: ask the mask which tokens are real.",
    "the mask the wrong way round": "You take padding for the real tokens. The mask is True where a token is real.",
    "weight for a text of padding": "A text of padding only should get no weight at all. Multiply by the mask after the "
    "softmax, too.",
    # scores, softmax, weights
    "no softmax": "The scores are used as weights. Without the softmax they can be negative and do not sum to 1.",
    "results in the wrong order": "Both results are right, but in the wrong order: the output first, then the weights.",
    "scores returned instead of weights": "The output is right, but the second result holds the scores. Return the "
    "weights.",
    "sigmoid instead of softmax": "A sigmoid looks at each token alone, so the weights of a text do not sum to 1.",
    "softmax over the batch": "Your softmax runs over axis 0, so the texts of a batch compete. The tokens of one text "
    "should: the last axis.",
    "squeeze without an axis": "`squeeze()` takes away every axis of size 1, the tokens of one-token texts too. Say "
    "which: `squeeze(2)`.",
    "weights not used": "The weights are right, but the features are summed or averaged without them.",
    # lab 1
    "a count instead of a share": "This is the number of lost reviews. Divide it by the number of all.",
    "a full window counted as room": "A distractor that fills the window to its last place leaves no room either. Look "
    "at the equal sign.",
    "cut reviews counted as lost": "You also count reviews that lose their end only. The question is about those of "
    "which nothing is left.",
    "one answer for each review": "This says for each review whether it is lost. Return one number, the share that is.",
    "only windows filled exactly": "You count distractors that fill the window exactly. A longer one leaves no room "
    "either.",
    "the reviews compared with each other": "You compare the two reviews. What leaves no room is a distractor as long as "
    "the window.",
    "the share that stays": "This is the share of reviews of which something is left. Take the others.",
    "the two reviews exchanged": "You measure the labelled review. The one that pushes it out of the window is the "
    "distractor, in front.",
    "the window is not used": "Your answer holds for a window of 256 only. Use the argument.",
    "words counted instead of reviews": "This is the share of the labelled reviews' words that is lost. Count reviews.",
}


@dataclass(frozen=True)
class Mistake:
    """A mistake as an edit of the solution: each pair is a text in it and what stands in its place.

    `see` names the section that explains it, `say` puts it into words for one exercise.
    """

    name: str
    pairs: tuple[tuple[str | None, str], ...]
    see: str | None = None
    say: str | None = None

    @property
    def sentence(self) -> str:
        return self.say or SENTENCES[self.name]

    def edited(self, source: str) -> str | None:
        """The solution with this mistake; None when a text that should be replaced is not in it."""
        for old, new in self.pairs:
            if old is None:
                return _with_body(source, new)
            if old not in source:
                return None
            source = source.replace(old, new)
        return source


def _with_body(source: str, body: str) -> str:
    """A function, or the last method of a class, with another body below its first line and its docstring."""
    head = list(re.finditer(r'( *)def .*\n(?: *""".*"""\n)?', source))[-1]
    return source[: head.end()] + "".join(f"{head[1]}    {line}\n" for line in body.strip("\n").split("\n"))


def edit(name: str, *texts: str | None, see: str | None = None, say: str | None = None) -> Mistake:
    """A mistake that is made by these replacements: old, new, old, new ...; None stands for the whole body (of `forward`)."""
    return Mistake(name, tuple(zip(texts[::2], texts[1::2], strict=True)), see, say)
