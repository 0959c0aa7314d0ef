"""Every lab's own cells call what its readers build, which counts its calls."""

from pathlib import Path

import count_calls
import exercises
import make_labs
import notebooks
import pytest

ROOT = Path(__file__).resolve().parents[2]
TO_BUILD = {
    lab: built
    for lab in notebooks.labs(ROOT)
    if (built := [exercise for exercise in exercises.read(lab) if exercise.kind == "build"])
}


@pytest.mark.parametrize("lab", TO_BUILD, ids=lambda lab: lab.stem)
def test_a_lab_goes_on_with_every_class_that_its_reader_built(lab):
    notebook = count_calls.edition(lab, [exercise.name for exercise in TO_BUILD[lab]])
    make_labs.execute(ROOT / "student" / lab.name, notebook)
    shown, calls = count_calls.shown(notebook), count_calls.calls(notebook)
    for exercise in TO_BUILD[lab]:
        assert "The lab goes on with your" in shown[exercise.check_id], f"{exercise.name}: {shown[exercise.check_id]}"
        assert calls[exercise.name] > 0, f"no cell of labs/{lab.name} calls what the reader wrote for {exercise.name}"
