"""What otter-grader runs: the plugin that keeps a submission out of otter's own process, and what its tests ask.

The rule: otter's kernel gets an empty notebook in place of the student's, so none of the student's code runs where
marks are counted. There the tests call `check`, which has `grade_notebook.py` run the answers, shut in, and judge them.
Lies in each autograder's `files/`, beside `grade_notebook.py` and `course.zip`; otter finds the plugin as
`files.otter_answers.Apart`.
"""

import shutil
from functools import cache
from pathlib import Path

import nbformat
from otter.plugins import AbstractOtterPlugin


class Apart(AbstractOtterPlugin):
    """Takes what was handed in out of otter's sight, all but the file itself."""

    def before_grading(self, config):
        """Delete what came with the notebook: a `torch.py` beside it would be imported in place of PyTorch."""
        ours = {"tests", "__init__.py", Path(self.submission_path).name}
        ours |= {path.name for path in Path(__file__).parent.iterdir()}
        for path in Path(self.submission_path).parent.iterdir():
            if path.name not in ours:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def before_execution(self, submission):
        """Return what otter's kernel executes before the tests: nothing."""
        return nbformat.v4.new_notebook()


@cache
def findings(lab: str) -> dict[str, dict]:
    """Return what is said of each exercise in the notebook beside this file. Raises AssertionError for no notebook."""
    import grade_notebook

    notebooks = list(Path.cwd().glob("*.ipynb"))
    assert len(notebooks) == 1, f"There has to be one notebook, and there are {len(notebooks)}."
    judged = grade_notebook.judge(notebooks[0].read_bytes(), Path("course.zip").read_bytes(), lab)
    assert judged.found, judged.remark
    return {name: finding | {"remark": judged.remark} for name, finding in judged.found.items()}


def check(lab: str, name: str, others: bool = False) -> None:
    """Raise AssertionError with the check's sentence unless an answer is right; `others`: for inputs drawn for it."""
    finding = findings(lab)[name]
    if others or finding["mistake"] != "wrong for other inputs":
        assert finding["state"] == "correct", finding["sentence"] or finding["remark"] or "No cell answers it."
