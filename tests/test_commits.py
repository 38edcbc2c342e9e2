"""The commit that a record names, and whether the code was edited since."""

import subprocess
from pathlib import Path

import pytest

from sketchbench.run import job


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    place = tmp_path / "reports" / "paper" / "tables" / "tails.csv"
    place.parent.mkdir(parents=True)
    place.write_text("method,label,quantity,mean\nams,AMS,q,1.0\nsrht,SRHT,q,1.0\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "tables"]):
        git(place, *command)
    return place


def git(place: Path, *command: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    folder = str(place.parents[3])
    return subprocess.run(["git", "-C", folder, *who, *command], check=True, capture_output=True, text=True).stdout


def commit_now() -> str | None:
    job._commit.cache_clear()
    return job._commit()


@pytest.mark.git
def test_edits_of_code_and_configs_make_a_commit_dirty(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports don't, since a run writes them while it goes on."""
    project = csv.parents[3]
    for name in ("sketchbench", "conf"):
        (project / name).mkdir()
        (project / name / "file").write_text("")
    git(csv, "add", ".")
    git(csv, "commit", "-qm", "code")
    monkeypatch.setattr(job, "PROJECT", project)
    commit = git(csv, "log", "-1", "--format=%h", "--abbrev=12").strip()
    csv.write_text("other")
    assert commit_now() == commit
    for name in ("sketchbench", "conf"):
        (project / name / "file").write_text("edited")
        assert commit_now() == f"{commit}-dirty"
        git(csv, "checkout", "--", name)
    assert commit_now() == commit
    (project / ".git").rename(project / "git")
    assert commit_now() is None
