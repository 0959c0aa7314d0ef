"""Reviews of an instructor's own, as book/instructors.md describes them: one file switches every lab to them."""

import pytest

from shared import reviews

OWN = "\n".join(f"this film is {'good' if i % 2 else 'bad'} number {i},{i % 2}" for i in range(200))


def test_one_file_switches_every_lab_to_data_of_one_s_own_where_claims_are_not_checked(tmp_path, monkeypatch):
    for name in ("LAB_DATA", "LAB_SCALE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(reviews, "OWN", tmp_path / "reviews.csv")
    assert reviews.start_lab().is_default
    again = OWN.split("\n")[7]  # a text that is there twice counts once, or two splits might have it
    reviews.OWN.write_text(f"\ufefftext,label\n{OWN}\n{again}", "utf-8")
    settings = reviews.start_lab()
    assert settings.source == "own" and not settings.is_default
    loaded = reviews.load_reviews(settings.source)
    splits = loaded.train, loaded.validation, loaded.test
    assert [len(split) for split in splits] == [160, 20, 20]
    assert len({text for split in splits for text in split.texts}) == 200
    by_label = "\n".join(sorted(OWN.split("\n"), key=lambda line: line[-1]))  # as tables often are
    reviews.OWN.write_text(f"text,label\n{by_label}", "utf-8")
    loaded = reviews.load_reviews(settings.source)
    for split in (loaded.train, loaded.validation, loaded.test):
        assert 0.2 < split.labels.mean() < 0.8, "a split of one label alone"
        assert all(("good" in text) == label for text, label in zip(split.texts, split.labels, strict=True))


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("review,label\n" + OWN, "text"),
        ("text,label\ngood,1", "100"),
        ("text,label\n" + OWN.replace(",1", ",5"), "label"),
        (None, "reviews.csv"),
    ],
)
def test_a_table_that_is_not_as_the_page_says_is_refused(tmp_path, monkeypatch, table, word):
    monkeypatch.setattr(reviews, "OWN", tmp_path / "reviews.csv")
    if table is not None:
        reviews.OWN.write_bytes(table.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=word):
        reviews.load_reviews("own")
