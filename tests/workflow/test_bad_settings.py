"""A wrong setting is one clear line, and nothing is begun."""

import pytest
from conftest import Project

from sketchbench import kernels

pytestmark = pytest.mark.workflow
CASES = [
    ("scale=huge", "settings: at scale: 'huge' is not one of ['smoke', 'quick', 'paper']"),
    ("kernels=fast", "settings: at kernels: 'fast' is not one of"),
    ("scal=quick", "'scal' was unexpected"),
    ("seed=-1", "settings: at seed: -1 is less than the minimum of 0"),
    ("studies=tinny", "study=tinny is unknown; choose one of tiny"),
    ("folder=/nonexistent", "folder /nonexistent needs a folder `sketch`"),
]
if kernels.device_missing():
    CASES.append(("kernels=cupy", "kernels=cupy can't run here: "))


@pytest.mark.parametrize(("setting", "message"), CASES)
def test_bad_settings(project: Project, setting: str, message: str) -> None:
    code, output = project.run(setting)
    assert code != 0
    assert sum(message in line for line in output.splitlines()) == 1, output
    assert "Traceback" not in output
    assert not (project.path / "results").exists()


def test_an_unknown_criterion(project: Project) -> None:
    project.edit("conf/claim/S1.yaml", lambda text: text.replace("criterion: equality", "criterion: equal"))
    code, output = project.run()
    assert code != 0
    assert "criterion=equal is unknown; choose one of equality" in output
    assert not (project.path / "reports" / "smoke" / "claims.csv").exists()
