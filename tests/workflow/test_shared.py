"""Where all studies share a few processes, as at the smoke scale, they come to the same results."""

import shutil

import pytest
from conftest import STUDY, Project

pytestmark = pytest.mark.workflow


def test_shared_processes_make_the_same_reports(project: Project) -> None:
    (project.path / "conf" / "study" / "other.yaml").write_text(STUDY.replace("40", "30"))
    project.succeed()
    apart = project.reports()
    for folder in ("results", "reports"):
        shutil.rmtree(project.path / folder)
    project.edit("conf/workflow.yaml", lambda text: text.replace("smoke: 16", "smoke: all"))
    project.succeed()
    assert (project.path / "logs" / "smoke" / "tables.log").exists()  # of the rule that makes all of them
    assert project.reports() == apart
    assert "Nothing to be done" in project.succeed()

    table = project.path / "reports" / "smoke" / "tables" / "other.csv"
    table.write_text(table.read_text().replace("0.", "1.", 1))
    assert project.rerun() == set()
    assert project.reports() == apart
