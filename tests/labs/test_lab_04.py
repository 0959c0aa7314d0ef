"""Lab 4 as a reader meets it: its classes do what those of `shared.model` do, and any text gets an answer."""

import re
from pathlib import Path

import pytest
import torch

from shared import data as course_data
from shared import model

LAB = Path(__file__).parents[2] / "labs" / "04_values.md"
VOCABULARY, MARK = 40, 3


def defined_in_the_lab() -> dict:
    """The lab's imports, classes and functions that stand alone in a cell, executed."""
    cells = re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", LAB.read_text(), flags=re.S)
    names = {}
    for cell in cells:
        if cell.startswith(("import ", "class ")) or cell.startswith("def judge"):
            exec(compile(cell, str(LAB), "exec"), names)
    return names


@pytest.fixture(scope="module")
def lab():
    return defined_in_the_lab()


def texts():
    """Ids with one mark each, two texts padded and one of padding only, and the mask."""
    torch.manual_seed(1)
    lengths = torch.tensor([9, 6, 2, 0])
    mask = torch.arange(9) < lengths[:, None]  # (4, 9)
    ids = torch.randint(4, VOCABULARY, (4, 9))
    ids[:, 1] = MARK
    return ids * mask, mask


PAIRS = {
    "SelfAttentionClassifier": (
        lambda lab: lab["SelfAttentionClassifier"](VOCABULARY, 8, 4, 6),
        lambda: model.SelfAttentionClassifier(VOCABULARY, 8, 4, 6),
    ),
    "MarkedSelfAttentionClassifier": (
        lambda lab: lab["MarkedSelfAttentionClassifier"](VOCABULARY, MARK, 8, 4, 6),
        lambda: model.MarkedSelfAttentionClassifier(VOCABULARY, MARK, 8, 4, 6),
    ),
    "ConstantQuery": (
        lambda lab: lab["ConstantQuery"](VOCABULARY, MARK, 8, 4, 6),
        lambda: model.MarkedSelfAttentionClassifier(VOCABULARY, MARK, 8, 4, 6, constant_query=True),
    ),
}


def assert_equal_gradients(ours, theirs):
    gradients = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        if parameter.grad is None:
            assert gradients[name].grad is None, name
        else:
            torch.testing.assert_close(parameter.grad, gradients[name].grad)


@pytest.mark.parametrize("name", PAIRS)
def test_the_lab_s_classifier_and_the_shared_one_are_equal_forward_and_backward(lab, name):
    make_ours, make_theirs = PAIRS[name]
    ours, theirs = make_ours(lab).eval(), make_theirs().eval()
    theirs.load_state_dict(ours.state_dict())
    ids, mask = texts()
    results = []
    for net in (ours, theirs):
        logits, weights = net(ids, mask)
        (logits.square().sum() + weights.square().sum()).backward()
        results.append((logits, weights))
    torch.testing.assert_close(results[0], results[1])
    assert_equal_gradients(ours, theirs)


def test_the_lab_s_layer_and_the_shared_one_are_equal_forward_and_backward(lab):
    ours, theirs = lab["SelfAttention"](8, 4, 6), model.SelfAttention(8, 4, 6)
    theirs.load_state_dict(ours.state_dict())
    _, mask = texts()
    features = torch.randn(4, 9, 8)
    results = []
    for layer in (ours, theirs):
        own = features.clone().requires_grad_()
        outputs, weights = layer(own, mask)
        outputs.square().sum().backward()
        results.append((outputs, weights, own.grad))
    torch.testing.assert_close(results[0], results[1])
    assert_equal_gradients(ours, theirs)


@pytest.fixture
def answer(lab, capsys):
    """What the reader gets: the printed sentence and the picture, or None."""
    words = ["<PAD>", "<UNK>", "<SEP>", "<MARK>", "dull", "wonderful", "a", "film"]
    vocabulary = course_data.Vocabulary(words)
    net = model.SelfAttentionClassifier(len(vocabulary))

    def ask(text):
        picture = lab["judge"](text, net, vocabulary)
        return capsys.readouterr().out, picture

    return ask


@pytest.mark.parametrize("text", ("", "   ", "10/10 !!!", "<br/><p>"))
def test_a_text_without_words_gets_a_sentence_and_no_verdict(answer, text):
    sentence, picture = answer(text)
    assert "no word" in sentence and "sure" not in sentence and picture is None


def test_a_text_of_unknown_words_gets_a_sentence_and_no_verdict(answer):
    sentence, picture = answer("zxqv blorp")
    assert "none of these words" in sentence and "sure" not in sentence and picture is None


def test_one_word_gets_a_verdict_and_a_warning(answer):
    sentence, picture = answer("wonderful")
    assert re.search(r"(positive|negative), .*% sure", sentence) and "few words" in sentence
    assert "wonderful 1.00" in repr(picture)


def test_unknown_words_are_named(answer):
    assert "1 unknown to the model (zxqv)" in answer("a wonderful zxqv film a dull film")[0]


def test_ten_thousand_words_are_cut_and_the_reader_is_told(answer):
    sentence, picture = answer("dull " * 10_000)
    assert f"read the first {course_data.REVIEW_TOKENS} of 10,000 words" in sentence
    assert picture.html.count("dull") <= course_data.REVIEW_TOKENS + 10


def test_markup_is_not_read_and_never_reaches_the_page(answer):
    sentence, picture = answer("<script>alert(1)</script>a <b class='x'>dull</b> film")
    assert "<script" not in picture.html and "<script" not in sentence
    assert "film" in picture.html and "class='x'" not in picture.html
