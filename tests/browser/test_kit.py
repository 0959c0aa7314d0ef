"""The instructors' kit in a browser: built by its own theme, read in light and dark and on a telephone."""

from pathlib import Path

import exercises
import instructor
import pytest
from site_in_browser import axe

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """The pages of the kit for two labs of the course."""
    folder = tmp_path_factory.mktemp("kit")
    course = {lab: exercises.read(lab) for lab in (ROOT / "labs").glob("0[68]_*.md")}
    pages = {"answer_key": instructor.answer_key(course), "teaching_plan": instructor.teaching_plan(ROOT, course)}
    instructor.build(ROOT, folder, pages)
    return folder / "pages/_build/html"


@pytest.mark.parametrize(("name", "scheme"), [("answer_key.html", "dark"), ("teaching_plan.html", "light")])
def test_the_kit_reads_well_in_light_and_dark_and_on_a_telephone(kit, visit, name, scheme):
    page = visit((kit / name).as_uri(), scheme, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert axe(page) == []
