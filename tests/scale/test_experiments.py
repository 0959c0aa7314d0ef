"""The textbook's pipeline and the course's do the same work, so that the benchmark compares like with like."""

import pytest
import torch

from experiments import benchmark, textbook
from shared import data, record
from shared.reviews import read_movies, tokenized

ROOT = record.ROOT


@pytest.fixture(scope="module")
def movies():
    texts, labels = read_movies()
    return texts[:: len(texts) // 300][:300], labels[:: len(texts) // 300][:300]


def test_both_pipelines_make_the_same_examples(movies):
    """Cut as the textbook cuts, which keeps the first 256 ids, ours are its ids to the last place."""
    texts, labels = movies
    split = tokenized(texts, labels)
    reviews = data.encode(split, data.build_vocabulary(split), max_tokens=None)
    examples = data.plain_examples(reviews) + data.distracted_examples(reviews, 5)
    partners = examples.distractor_rows[len(texts) :].tolist()
    theirs = textbook.encode(textbook.join_texts(texts, partners), textbook.build_vocabulary(texts))
    seen = 0
    for batch in data.batches(examples, 64, seed=1):
        cut = torch.nn.functional.pad(batch.ids, (0, 256 - batch.ids.shape[1]))  # (batch, 256)
        assert cut.tolist() == [theirs[row] for row in batch.rows]
        assert batch.labels.tolist() == [(labels * 2)[row] for row in batch.rows]
        seen += len(batch.labels)
    assert seen == len(theirs) == 600


def test_the_page_shows_what_the_benchmark_found_for_every_lab_that_it_measured():
    results = record.read(benchmark.RESULTS)
    text = benchmark.TABLES.read_text("utf-8")
    assert text == benchmark.tables(results)
    labs = [folder.name for folder in (ROOT / "labs").iterdir() if (folder / f"{folder.name}.md").exists()]
    assert {name for name in labs if f"(../labs/{name}/{name}.ipynb)" in text} == {*labs} & {*results["labs"]["each"]}
