"""What Snakemake runs again after an edit, and what it leaves alone."""

import shutil

import pytest
from conftest import Project

pytestmark = pytest.mark.workflow
COUNT_SKETCH, SAMPLING = "count_sketch/d12-b4", "uniform_sampling/d12-b4"


def test_a_second_run_does_nothing(finished: Project) -> None:
    before = finished.records()
    assert set(before) == {COUNT_SKETCH, SAMPLING}
    assert set(finished.reports()) == {
        "claims.csv",
        "claims.md",
        "seals.jsonl",
        "tables/tiny.csv",
        "tables/seals.jsonl",
    }
    assert "Nothing to be done" in finished.succeed()
    assert finished.records() == before


def test_configs(finished: Project) -> None:
    """Adding, editing and removing a sketch config reruns only what depends on it."""
    sketch = finished.path / "conf" / "sketch"
    added = (sketch / "uniform_sampling.yaml").read_text().replace("uniform_sampling\n", "second\n", 1)
    (sketch / "second.yaml").write_text(added)
    finished.edit("conf/sketch/count_sketch.yaml", lambda text: text.replace("hashing: full", "hashing: polynomial"))
    assert finished.rerun() == {COUNT_SKETCH, "second/d12-b4"}
    assert "\nsecond," in finished.reports()["tables/tiny.csv"].decode()

    (sketch / "second.yaml").unlink()
    assert finished.rerun() == set()
    assert "second" not in finished.reports()["tables/tiny.csv"].decode()


def test_code_and_texts(finished: Project) -> None:
    """A docstring, a remark or an unrelated module reruns nothing, and a claim's text makes the verdicts anew; a family
    reruns its own runs, a kernel all of them."""
    before = finished.reports()
    kernels = "sketchbench/kernels/numpy_kernels.py"
    finished.edit(kernels, lambda text: text.replace("Philox4x32-10 (", "Philox, ten rounds ("))
    finished.edit("sketchbench/theory/tail.py", lambda text: text.replace('"""Thresholds', '"""The thresholds'))
    finished.edit("sketchbench/task/sketches/norms.py", lambda text: text + "\nUNRELATED = 1\n")
    finished.edit("conf/sketch/count_sketch.yaml", lambda text: text + "# a remark\n")
    finished.edit("conf/claim/S1.yaml", lambda text: text.replace("place: ", "place: about "))
    assert finished.rerun() == set()
    changed = {name for name, content in finished.reports().items() if content != before[name]}
    assert changed == {"claims.csv", "seals.jsonl"}

    finished.edit("sketchbench/sketch/uniform.py", lambda text: text + "\nRELATED = 1\n")
    assert finished.rerun() == {SAMPLING}

    finished.edit(kernels, lambda text: text + "\nRELATED = 1\n")
    assert finished.rerun() == {COUNT_SKETCH, SAMPLING}


@pytest.mark.weekly
def test_without_the_memory_of_snakemake(finished: Project) -> None:
    """Records know what they are made from: a stale one is noticed, even where Snakemake forgot, and no other is made
    again."""
    shutil.rmtree(finished.path / ".snakemake")
    assert "Nothing to be done" in finished.succeed()
    shutil.rmtree(finished.path / ".snakemake")
    finished.edit("sketchbench/sketch/uniform.py", lambda text: text + "\nRELATED = 1\n")
    assert finished.rerun() == {SAMPLING}


def test_the_report(finished: Project) -> None:
    """Claims and tables end up in one self-contained page."""
    finished.succeed("--report", "page.html")
    page = (finished.path / "page.html").read_text()
    for expected in ("claims.csv", "tiny.csv", "family-wise error rate"):
        assert expected in page
