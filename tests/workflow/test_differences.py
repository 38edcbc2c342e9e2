"""A verdict that differs from the published one fails the run, after everything is written."""

import subprocess

import pytest
from conftest import Project

pytestmark = pytest.mark.workflow
QUICK = ("scale=quick", "studies=tiny")


def commit(project: Project) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "reports"], ["commit", "-qm", "reports"]):
        subprocess.run(["git", *who, *command], cwd=project.path, check=True, capture_output=True)


@pytest.mark.git
@pytest.mark.weekly
def test_a_difference(finished: Project) -> None:
    """It fails, again until the reports are committed; at the smoke scale it is listed, and with `differences=list`."""
    project = finished
    said = project.succeed(*QUICK)
    assert said.rstrip().endswith("nothing is published to compare with: git's HEAD has no reports/claims.csv")
    commit(project)
    reproduced = "reproduced: 4 of 4 verdicts"
    assert project.succeed(*QUICK).rstrip().endswith(reproduced)  # checked again, as others are published
    assert "Nothing to be done" in project.succeed(*QUICK)
    project.edit("conf/claim/S2x.yaml", lambda text: text.replace("predicted: holds", "predicted: fails"))
    assert project.succeed(*QUICK).rstrip().endswith(reproduced)
    project.edit(
        "conf/claim/S2x.yaml", lambda text: text.replace("predicted:", "methods: [uniform_sampling]\npredicted:")
    )
    code, said = project.run(*QUICK)
    assert code != 0
    assert "S2x CountSketch: differs: it is published, but missing here" in said
    reports = project.path / "reports"
    for name in ("claims.csv", "seals.jsonl", "tables/tiny.csv", "tables/seals.jsonl"):
        assert (reports / name).is_file(), name
    assert project.run(*QUICK)[0] != 0
    assert "differs: " in project.succeed(*QUICK, "differences=list").splitlines()[-1]
    commit(project)
    assert "reproduced: " in project.succeed(*QUICK).splitlines()[-1]
    assert "differs: " in project.succeed().splitlines()[-1]  # the smoke scale's reports were committed, too
