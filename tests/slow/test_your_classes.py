"""Every lab's own cells call what its readers build: a class or function that counts its calls is planted in each."""

from pathlib import Path

import exercises
import make_labs
import notebooks
import planted
import pytest

ROOT = Path(__file__).resolve().parents[2]
TO_BUILD = {
    lab: built
    for lab in notebooks.labs(ROOT)
    if (built := [exercise for exercise in exercises.read(lab) if exercise.kind == "build"])
}


@pytest.mark.parametrize("lab", TO_BUILD, ids=lambda lab: lab.stem)
def test_a_lab_goes_on_with_every_class_that_its_reader_built(lab):
    notebook = planted.edition(lab, [exercise.name for exercise in TO_BUILD[lab]])
    make_labs.execute(ROOT / "student" / lab.name, notebook)
    said, calls = planted.said(notebook), planted.calls(notebook)
    for exercise in TO_BUILD[lab]:
        assert "The lab goes on with your" in said[exercise.check_id], f"{exercise.name}: {said[exercise.check_id]}"
        assert calls[exercise.name] > 0, f"no cell of labs/{lab.name} calls what the reader wrote for {exercise.name}"
