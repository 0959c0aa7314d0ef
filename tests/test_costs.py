"""Claims about the measurement of the course itself, its budgets, and the page that shows them."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import train_together

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import course  # noqa: E402
import on_gpu  # noqa: E402
import page  # noqa: E402

from shared import fast  # noqa: E402
from shared.scale import __main__ as command  # noqa: E402

WHERE = {"date": "2026-01-31", "commit": "abc1234", "machine": "m", "python": "3.11", "torch": "2.13.0"}


def result(seconds: float = 1.0, megabytes: int = 500, status: int = 0) -> dict:
    return {"seconds": seconds, "megabytes": megabytes, "status": status}


def labs(**each: dict) -> dict:
    return WHERE | {"seconds": 300.0, "each": each}


# --- the page ----------------------------------------------------------------------------------------------------


def test_the_page_shows_the_figures_that_lie_in_the_repository():
    assert page.PAGE.read_text() == page.current(), "run `.venv/bin/python benchmarks/page.py`"


def test_what_nobody_measured_is_said_to_be_not_measured():
    text = page.render({}, None, None)
    assert text.lower().count("not measured") == 7
    assert not re.search(r"\d+\.\d", text)


def test_the_page_says_how_long_a_lab_took_and_whether_its_budget_was_kept():
    found = labs(**{"02_keys": result(61.4, 812), "04_values": result(181.0, 700)})
    text = page.render({"labs": found}, None, None)
    assert "| [2. Keys](../labs/02_keys.ipynb) | 61 | 120 | 812 | 2000 | kept |" in text
    assert "| 181 | 180 | 700 | 2000 | **not kept** |" in text
    assert "Measured on 2026-01-31, commit abc1234" in text


def test_a_ratio_below_its_target_is_said_to_be_below():
    line = {"figure": "text to batches", "unit": "seconds", "textbook": [41.0, 40.0, 43.0], "ours": [2.1, 2.0, 2.2]}
    lines = [line | {"times_better": times, "target": 20} for times in ([19.5, 18.2, 21.5], [20, 20, 20])]
    text = page.render({}, {"text": WHERE | {"each": lines}}, None)
    assert "| 41.0 (40.0 to 43.0) | 2.1 (2.0 to 2.2) | 19.5 (18.2 to 21.5) | 20 | **not reached** |" in text
    assert "| 20.0 (20.0 to 20.0) | 20 | reached |" in text


def test_growth_is_drawn_with_words_for_those_who_do_not_see_it():
    names = ("prepared_seconds", "opened_seconds", "examples_a_second", "prepared_peak_megabytes")
    lines = [
        {"examples": size, "training_peak_megabytes": 700} | dict.fromkeys(names, size / 1000)
        for size in (10_000, 1_120_000)
    ]
    text = page.render({}, {"growth": WHERE | {"each": lines}}, None)
    assert text.count("<svg") == 3
    words = "seconds to prepare a million, by number of examples: 1,000 at 10,000, 1,000 at 1,120,000"
    assert f'aria-label="{words}"' in text
    assert "| 1,120,000 | 1,120.0 |" in text


# --- budgets -----------------------------------------------------------------------------------------------------


def test_every_lab_has_a_budget_that_lets_all_of_them_fit():
    names = [lab.stem for lab in sorted((ROOT / "labs").glob("[0-9][0-9]_*.md"))]
    assert course.budget("02_keys")[0] == course.budget("03_queries")[0] == 120
    assert course.budget("04_values")[0] == course.budget("10_in_the_wild")[0] == 180
    assert sum(course.budget(name)[0] for name in names) <= 2 * course.WHOLE["labs"]  # two at a time


@pytest.mark.parametrize(
    ("part", "found", "sentence"),
    [
        ("labs", labs(**{"02_keys": result(121)}), "02_keys: 121 seconds, and its budget is 120."),
        ("labs", labs(**{"02_keys": result(1, 2001)}), "02_keys: 2001 megabytes, and its budget is 2000."),
        ("labs", labs(**{"02_keys": result(status=1)}), "labs, 02_keys: failed with status 1."),
        ("labs", labs() | {"seconds": 721}, "labs: 721 seconds, and the budget is 720."),
        ("test", {"seconds": 1201, "each": {}}, "test: 1201 seconds, and the budget is 1200."),
        ("book", {"seconds": 5, "each": {}, "edit": {"seconds": 11}}, "edit: 11 seconds, and the budget is 10."),
    ],
)
def test_what_goes_over_its_budget_is_said(part, found, sentence):
    assert course.over_budget({part: found}) == [sentence]


def test_what_stays_within_its_budget_is_not_said():
    found = {"labs": labs(**{"02_keys": result(120, 2000)}), "test": {"seconds": 1200, "each": {"tests": result(900)}}}
    assert course.over_budget(found) == []


def test_seconds_and_memory_are_those_of_the_command_and_its_children(tmp_path):
    grandchild = f"{sys.executable} -c 'import time; a = bytearray(300_000_000); time.sleep(1)'"
    command = ["sh", "-c", f"{grandchild}; exit 3"]
    # In a process of its own, as `make bench` is: a child begins with the peak of the one that started it.
    code = f"import course, json; print(json.dumps(course.measured({command!r}, {str(tmp_path)!r})))"
    told = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT / "benchmarks", text=True)
    found = json.loads(told.splitlines()[-1])
    assert 1 <= found["seconds"] < 20
    assert 300 <= found["megabytes"] < 600
    assert found["status"] == 3


def test_the_phases_measured_are_those_of_the_makefile():
    book, test = course.phases("book", ROOT), course.phases("test", ROOT)
    assert list(book) == ["labs", "site"] and book["labs"] == f"{sys.executable} tools/make_labs.py"
    assert {"style", "site", "tests", "labs"} <= set(test)


def test_a_part_that_does_not_exist_is_answered_with_a_sentence(capsys):
    assert course.main(["lbas"]) == 2
    assert "lbas: there are only labs, book, test" in capsys.readouterr().out


# --- several devices and GPUs ------------------------------------------------------------------------------------


def test_the_commands_on_the_page_of_several_devices_are_accepted():
    text = (ROOT / "book/scaling.md").read_text().replace("\\\n    ", "")
    lines = [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 5
    for line in lines:
        launcher, given = line.split(" -m shared.scale ")
        assert launcher in ("python", "torchrun --nproc-per-node=2")
        command.arguments(given.split(), command.training.recipe_for(command.data.Settings()))  # exits when refused


def test_a_machine_without_a_gpu_gets_a_sentence_and_no_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(on_gpu, "RESULTS", tmp_path / "on_gpu.json")
    assert on_gpu.main() == 2
    assert "no CUDA device" in capsys.readouterr().out and not list(tmp_path.iterdir())


def test_the_fused_attention_that_is_timed_gives_the_logits_of_the_course():
    torch.manual_seed(0)
    net = on_gpu.model.SelfAttentionClassifier(20).eval()
    fused = on_gpu.FusedSelfAttention(20).eval()
    fused.load_state_dict(net.state_dict())
    ids = torch.randint(2, 20, (5, 12))
    mask = torch.arange(12) < torch.tensor([12, 1, 5, 7, 12])[:, None]
    torch.testing.assert_close(fused(ids, mask)[0], net(ids, mask)[0], atol=1e-5, rtol=0)


def test_what_a_gpu_run_writes_can_be_shown():
    """The whole measurement on a processor with a tiny corpus; only the memory of the device stays 0."""
    source = train_together.reviews()
    prepared = on_gpu.data.Prepared(None, on_gpu.data.Vocabulary(["word"] * source.vocabulary_size), *[source] * 3)
    trained = on_gpu.measure_training(prepared, torch.device("cpu"), 16, 2)
    assert [row["numbers"] for row in trained["training"]] == ["float32", "bfloat16"] * 4
    assert all(row["examples_per_second"] > 0 for row in trained["training"])
    found = WHERE | {"gpu": "A GPU", "labs": {"02_keys": result(9)}} | trained
    text = page.render({}, None, json.loads(json.dumps(found)))
    assert "PyTorch's, fused" in text and "*A GPU.* *Measured on 2026-01-31" in text
    assert "No GPU was at hand" not in text


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", command.MODELS)
def test_a_training_step_on_a_gpu_does_not_wait_for_it(kind):
    source = train_together.reviews()
    net = command.MODELS[kind](source.vocabulary_size).cuda()
    optimizer = torch.optim.Adam(net.parameters(), fused=True)
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        batch = next(on_gpu.data.batches(on_gpu.data.plain_examples(source), 16, seed=1, device="cuda"))
        with fast.faster(net):
            logits, _ = net(batch.ids, batch.mask)
        torch.nn.functional.binary_cross_entropy_with_logits(logits, batch.labels).backward()
        optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode(before)


def test_nothing_of_the_course_imports_the_benchmarks():
    for path in [*ROOT.glob("shared/**/*.py"), *ROOT.glob("tools/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not any(name.split(".")[0] == "benchmarks" for name in names), path
