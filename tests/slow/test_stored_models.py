"""The stored file of the page "Try the model": its models are as often right as it says."""

import pytest
from test_try_the_model import about, data, nets  # noqa: F401

from experiments import live_page_models
from shared import data as course_data
from shared import training


def test_the_words_and_the_shares_of_right_answers_are_those_of_the_rounded_models(about, nets, data):  # noqa: F811
    assert about["words"].split(" ") == data.vocabulary.words
    for name, net in nets.items():
        mark = data.vocabulary.id("<MARK>") if name == "the mark's row" else course_data.PAD
        measured = training.evaluate(net, course_data.plain_examples(data.test, mark)).accuracy
        again = "run `.venv/bin/python -m experiments.live_page_models`"
        assert about["right"][name][0] == pytest.approx(measured, abs=0.002), f"{name}: {again}"


def test_the_shares_of_right_answers_on_short_pieces_are_those_of_the_models(about, nets, data):  # noqa: F811
    for name, net in nets.items():
        assert about["pieces"][name] == pytest.approx(live_page_models.measured(net, name, data)["pieces"], abs=0.003)
