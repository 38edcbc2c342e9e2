"""What Snakemake runs again after an edit, and what it leaves alone."""

import shutil

import pytest
from conftest import Project

pytestmark = pytest.mark.workflow
COUNT_SKETCH, SAMPLING = "count_sketch/d12-b4", "uniform_sampling/d12-b4"


def test_a_second_run_does_nothing(project: Project) -> None:
    project.succeed()
    assert set(project.records()) == {COUNT_SKETCH, SAMPLING}
    assert set(project.reports()) == {
        "claims.csv",
        "claims.html",
        "claims.md",
        "claims.seal",
        "tables/tiny.csv",
        "tables/tiny.html",
        "tables/tiny.seal",
    }
    assert project.rerun() == set()
    assert "Nothing to be done" in project.succeed()


def test_configs(project: Project) -> None:
    """Adding, editing and removing a sketch config reruns only what depends on it."""
    project.succeed()
    sketch = project.path / "conf" / "sketch"
    added = (sketch / "count_sketch.yaml").read_text().replace("count_sketch\n", "second\n", 1)
    (sketch / "second.yaml").write_text(added.replace("hashing: full", "hashing: polynomial"))
    assert project.rerun() == {"second/d12-b4"}
    assert "\nsecond," in project.reports()["tables/tiny.csv"].decode()

    project.edit("conf/sketch/second.yaml", lambda text: text.replace("polynomial  ", "full  "))
    assert project.rerun() == {"second/d12-b4"}

    project.edit("conf/sketch/second.yaml", lambda text: text + "# a remark\n")
    assert project.rerun() == set()

    (sketch / "second.yaml").unlink()
    assert project.rerun() == set()
    assert "second" not in project.reports()["tables/tiny.csv"].decode()


def test_code(project: Project) -> None:
    """A kernel reruns all, a family its own runs, a docstring or an unrelated module nothing."""
    project.succeed()
    kernels = "sketchbench/kernels/numpy_kernels.py"
    project.edit(kernels, lambda text: text.replace("Philox4x32-10 (", "Philox, ten rounds ("))
    project.edit("sketchbench/theory/tail.py", lambda text: text.replace('"""Tail', '"""The tail'))
    project.edit("sketchbench/task/norms.py", lambda text: text + "\nUNRELATED = 1\n")
    assert project.rerun() == set()

    project.edit("sketchbench/sketch/uniform.py", lambda text: text + "\nRELATED = 1\n")
    assert project.rerun() == {SAMPLING}

    project.edit(kernels, lambda text: text + "\nRELATED = 1\n")
    assert project.rerun() == {COUNT_SKETCH, SAMPLING}


def test_claims_follow_their_files(project: Project) -> None:
    """Editing a claim judges again, and runs nothing."""
    project.succeed()
    before = project.reports()
    project.edit("conf/claim/S1.yaml", lambda text: text.replace("for every pair", "for any pair"))
    assert project.rerun() == set()
    changed = {name for name, content in project.reports().items() if content != before[name]}
    assert changed == {"claims.md", "claims.html", "claims.seal"}


def test_without_the_memory_of_snakemake(project: Project) -> None:
    """Records know what they are made from: a stale one is noticed, even where Snakemake forgot."""
    project.succeed()
    shutil.rmtree(project.path / ".snakemake")
    assert project.rerun() == set()
    shutil.rmtree(project.path / ".snakemake")
    project.edit("sketchbench/sketch/uniform.py", lambda text: text + "\nRELATED = 1\n")
    assert project.rerun() == {SAMPLING}


def test_the_report(project: Project) -> None:
    """Claims and tables end up in one self-contained page."""
    project.succeed()
    project.succeed("--report", "page.html")
    page = (project.path / "page.html").read_text()
    for expected in ("claims.html", "tiny.html", "family-wise error rate"):
        assert expected in page
