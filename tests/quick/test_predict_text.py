"""Claims about the verdict on a text that somebody types: any text gets an answer."""

import re

import pytest

from labs.values.predict_text import predict_text
from shared import data as course_data
from shared import model


@pytest.fixture
def answer(capsys):
    """What the reader gets: the printed sentence and the picture, or None."""
    words = ["<PAD>", "<UNK>", "<SEP>", "<MARK>", "dull", "wonderful", "a", "film"]
    vocabulary = course_data.Vocabulary(words)
    net = model.SelfAttentionClassifier(len(vocabulary))

    def ask(text):
        picture = predict_text(text, net, vocabulary)
        return capsys.readouterr().out, picture

    return ask


@pytest.mark.parametrize("text", ("", "10/10 !!!", "<br/><p>", "zxqv blorp"))
def test_a_text_without_known_words_gets_a_sentence_and_no_verdict(answer, text):
    sentence, picture = answer(text)
    assert sentence and "sure" not in sentence and picture is None


def test_one_word_gets_a_verdict(answer):
    sentence, picture = answer("wonderful")
    assert re.search(r"(positive|negative), .*% sure", sentence)
    assert "wonderful 1.00" in repr(picture)


def test_markup_is_not_read_and_never_reaches_the_page(answer):
    sentence, picture = answer("<script>alert(1)</script>a <b class='x'>dull</b> film")
    assert "<script" not in picture.html and "<script" not in sentence
    assert "film" in picture.html and "class='x'" not in picture.html
