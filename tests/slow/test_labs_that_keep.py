"""Claims about labs whose trainings are kept, as a reader's are: each gives what is stored, which was made without."""

from pathlib import Path

import check_outputs
import notebooks
import pytest

ROOT = Path(__file__).resolve().parents[2]
LABS = [lab for lab in notebooks.labs(ROOT) if "from shared.kept import fit" in lab.read_text("utf-8")]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_nothing_that_a_lab_trains_is_taken_for_another_training_of_it(tmp_path, lab):
    environment = notebooks.kernel_environment(ROOT) | {"LAB_KEPT": str(tmp_path)}
    status, cells = check_outputs.run(ROOT, [lab], environment)
    assert status == 0 and cells[lab.stem] and "red" not in cells[lab.stem]
    assert list(tmp_path.glob("*.pt")), "nothing was kept: what is tested here?"
