"""Training in several processes of which one is killed or hangs ends with a reason, within five minutes."""

from train_together import under_torchrun


def test_a_killed_process_ends_the_run_with_a_reason_and_the_checkpoint_continues_to_the_digit(tmp_path):
    _, undisturbed = under_torchrun(tmp_path, 2, dropout=0.3)
    checkpoint = str(tmp_path / "run.pt")
    done, nothing = under_torchrun(tmp_path, 2, dropout=0.3, checkpoint=checkpoint, kill=3)
    assert done.returncode != 0 and nothing is None
    assert "Signal 9 (SIGKILL)" in done.stderr  # torchrun's report
    done, continued = under_torchrun(tmp_path, 2, dropout=0.3, checkpoint=checkpoint)
    assert continued == undisturbed, done.stderr
    assert len(continued["history"]) == 4


def test_a_process_that_hangs_ends_the_run_when_patience_is_over(tmp_path):
    done, nothing = under_torchrun(tmp_path, 2, hang=2)
    assert done.returncode != 0 and nothing is None
    assert "Another process of this run was lost" in done.stderr
