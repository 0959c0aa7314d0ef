"""The tokens of the page "It writes" on 2,000 reviews that neither the model nor its tokenizer has met."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "browser"))
from test_it_writes import functions, writer, wrong_tokens

from experiments.train_review_writer import texts

__all__ = ["functions", "writer"]  # fixtures


def test_two_thousand_held_out_reviews_have_the_tokens_of_the_tokenizer(functions, writer):
    assert wrong_tokens(functions, writer[1], texts()[2][:2000]) == []
