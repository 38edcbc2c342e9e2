"""Where all studies share a few processes, as at the smoke scale, they come to the same results."""

import shutil

import pytest
from conftest import STUDY, Project

pytestmark = pytest.mark.workflow


@pytest.mark.weekly
def test_shared_processes_make_the_same_reports(finished: Project) -> None:
    (finished.path / "conf" / "study" / "other.yaml").write_text(STUDY.replace("40", "30"))
    finished.succeed()
    apart = finished.reports()
    for folder in ("results", "reports"):
        shutil.rmtree(finished.path / folder)
    finished.edit("conf/workflow.yaml", lambda text: text.replace("smoke: 16", "smoke: all"))
    finished.succeed()
    assert (finished.path / "logs" / "smoke" / "tables.log").exists()  # of the rule that makes all of them
    assert finished.reports() == apart
    assert "Nothing to be done" in finished.succeed()

    table = finished.path / "reports" / "smoke" / "tables" / "other.csv"
    table.write_text(table.read_text().replace("0.", "1.", 1))
    assert finished.rerun() == set()
    assert finished.reports() == apart
