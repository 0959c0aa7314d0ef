"""The stored file of the page "Try the model": its models are as often right and wrong as it and the page say."""

import json
import re

import numpy as np
import pytest
import torch
from safetensors import safe_open
from test_site import built
from test_try_the_model import FILE, PAGE, SIDE_BY_SIDE, data, nets  # noqa: F401

from experiments import live_page_models, short_texts
from shared import data as course_data


@pytest.fixture(scope="module")
def about():
    """What the file records about its models."""
    with safe_open(FILE, "pt") as file:
        return json.loads(file.metadata()["about"])


def test_the_words_and_the_shares_of_right_answers_are_those_of_the_rounded_models(about, nets, data):  # noqa: F811
    assert about["words"].split(" ") == data.vocabulary.words
    for name, net in nets.items():
        for kind, accuracies in live_page_models.measured(net, name, data).items():
            again = "run `.venv/bin/python -m experiments.live_page_models`"
            assert about[kind][name] == pytest.approx(accuracies, abs=0.003), f"{name}: {again}"


def test_of_twenty_everyday_sentences_most_are_judged_right_and_none_wrong_beyond_99_percent(nets, data):  # noqa: F811
    """Their labels were fixed before any model was trained; the page shows the stored shares."""
    labels = np.array([label for _, label in short_texts.SENTENCES])
    results = json.loads(short_texts.RESULTS.read_text())
    for name, net in nets.items():
        probs = np.array([short_texts.positive(net, name, data.vocabulary, text) for text, _ in short_texts.SENTENCES])
        right, sure = (probs > 0.5) == labels, np.maximum(probs, 1 - probs)
        assert right.sum() >= 15 and not (~right & (sure > 0.99)).any() and sure[right].mean() > 0.8, name
        assert np.abs(probs - results[f"{name}, after, seed 0"]["sentences"]).max() < 0.02, name
    assert short_texts.SHOWN.read_text() == short_texts.shown(results)


def positive(net, texts):
    """Whether the model calls each text (a list of ids) positive."""
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
    mask = torch.arange(ids.shape[1]) < torch.tensor([len(text) for text in texts])[:, None]
    with torch.no_grad():
        return net(ids, mask)[0].sigmoid()


def test_what_the_page_says_the_models_get_wrong_is_what_they_get_wrong(nets, data):  # noqa: F811
    page = " ".join(built(PAGE).text.split())
    encode = data.vocabulary.encode
    examples = {name: text for text, name in re.findall(r'data-text="([^"]*)">([^<]*)</button>', page)}
    for name in SIDE_BY_SIDE:
        praise, irony = positive(
            nets[name], [encode(examples[key])[:128] for key in ("Not bad at all", "Oh wonderful")]
        )
        assert praise < 0.03 and irony > 0.9
    reviews = course_data.load_reviews().test
    texts = [encode(text)[:128] for text in reviews.texts]
    short = [text for text, label in zip(texts, reviews.labels, strict=True) if label == 1 and len(text) < 40]
    long = [text for text in texts if len(text) >= 100]
    assert len(short) == 9 and "has nine positive reviews of 20 to 39 words" in page
    rates = [
        np.mean([positive(nets[name], [[*a, *b] for a in long]).gt(0.5).float().mean() for b in short])
        for name in SIDE_BY_SIDE
    ]
    claim = re.search(r"positive in (\d+)% of the cases by mean pooling, and in (\d+)% by", page)
    assert [f"{100 * rate:.0f}" for rate in rates] == [claim[1], claim[2], claim[2]]
