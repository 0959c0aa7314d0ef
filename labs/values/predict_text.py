"""A verdict on a text that somebody types: how sure a trained classifier is, and which words it weighs."""

import torch
from torch import nn

from shared import data, figures


def predict_text(text: str, net: nn.Module, vocabulary: data.Vocabulary) -> figures.Picture | None:
    """Print the verdict on a text and how sure the model is; return the shaded words, or None when there are none."""
    words = data.tokenize(text)
    read = words[: data.REVIEW_TOKENS]
    unknown = [word for word in read if word not in vocabulary]
    if not words:
        print("There is no word in this text. Type a few words made of the letters a to z.")
        return None
    if len(unknown) == len(read):
        print("The model knows none of these words, so it has nothing to go by. Try everyday English words.")
        return None
    ids = torch.tensor([[vocabulary.id(word) for word in read]], device=next(net.parameters()).device)  # (1, tokens)
    with torch.no_grad():
        logit, weights = net.eval()(ids, torch.ones_like(ids, dtype=torch.bool))
    positive = torch.sigmoid(logit).item()
    sure = max(positive, 1 - positive)
    verdict = (
        f"{'positive' if positive > 0.5 else 'negative'}, {'more than 99%' if sure > 0.99 else f'{sure:.0%}'} sure"
    )
    if len(read) < 20:  # the places of a short text, without those that follow, say what nothing has trained
        verdict += "; it learned from longer texts, so how sure it is means little"
    if len(words) > len(read):
        verdict += f"; read the first {len(read)} of {len(words):,} words"
    if unknown:
        verdict += f"; {len(unknown)} unknown to the model ({', '.join(dict.fromkeys(unknown[:3]))})"
    print(verdict)
    return figures.shaded_words(read, weights[0].cpu(), title=verdict)
