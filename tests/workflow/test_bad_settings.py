"""A wrong setting is one clear line, and nothing is begun."""

import pytest
from conftest import LONGEST, STARTED, Project

from sketchbench import kernels

pytestmark = pytest.mark.workflow
CASES = [  # one for each kind of error that the Snakefile catches; tests/refusal has the other settings
    ("scal=quick", "('scal' was unexpected); did you mean scale?"),
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


def dry(project: Project, *options: str) -> str:
    """What a dry run by the profile for a GPU says that fails."""
    arguments = ["--dry-run", "--workflow-profile", "workflow/profiles/gpu", *options]
    code, output = STARTED.run(arguments, project.path, project.environment(), LONGEST)
    assert code != 0
    assert "Traceback" not in output
    return output


@pytest.mark.skipif(kernels.device_missing() is None, reason="there is a CUDA device")
def test_the_gpu_profile_keeps_its_kernels(project: Project) -> None:
    """Beside --config; and where --configfile takes them away, or --config others, it says so."""
    assert "kernels=cupy can't run here: " in dry(project, "--config", "scale=smoke")
    assert "this profile is for kernels=cupy, not kernels=auto" in dry(project, "--configfile", "conf/workflow.yaml")


def test_a_setting_that_is_there_twice(project: Project) -> None:
    project.edit("conf/workflow.yaml", lambda text: f"{text}seed: 1\n")
    code, output = project.run()
    assert code != 0
    assert "duplicate key seed; remove one" in output
    assert not (project.path / "results").exists()


def test_an_unknown_criterion(finished: Project) -> None:
    """No verdicts are there then, as little as those from before the edit."""
    finished.edit("conf/claim/S1.yaml", lambda text: text.replace("criterion: equality", "criterion: equal"))
    code, output = finished.run()
    assert code != 0
    assert "criterion=equal is unknown; choose one of equality" in output
    assert not (finished.path / "reports" / "smoke" / "claims.csv").exists()
