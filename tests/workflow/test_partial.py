"""A run of some studies adds to what is there: the tables, figures and verdicts of others stay, until they are run."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from conftest import Project

pytestmark = pytest.mark.workflow
CLAIM = """\
id: S3
paper: song2023
place: here
role: printed
statement: E‖RᵀRh‖² is as computed
dataset: chosen vectors
studies: [norms]
checks: [{criterion: equality, where: {quantity: squared_norm}, margin: 100}]
predicted: holds
"""


def prepare(project: Project) -> None:
    """A second study, with a claim and a figure of its own."""
    conf = project.path / "conf"
    norms = "task: norms\nsketch: [count_sketch, uniform_sampling]\naxes: {d: [12], b: [4]}\nset: {task.trials: 40}\n"
    (conf / "study" / "norms.yaml").write_text(norms)
    (conf / "claim" / "S3.yaml").write_text(CLAIM)


def verdicts(project: Project) -> pd.DataFrame:
    found = pd.read_csv(project.path / "reports" / "smoke" / "claims.csv", keep_default_na=False)
    return found.set_index(["claim", "method"]).sort_index()


def older(project: Project) -> list[str]:
    """The claims and sketches whose verdicts are of older code; there is no other state."""
    code = verdicts(project)["code"]
    assert set(code) <= {"", "older code"}
    return [f"{claim} {method}" for (claim, method), state in code.items() if state]


@pytest.mark.weekly
def test_a_run_of_some_studies_adds(finished: Project) -> None:
    project = finished
    prepare(project)
    project.succeed()
    whole, judged = project.reports(), verdicts(project)
    kept = {name for name in whole if Path(name).stem in ("norms", "squared_norm")}
    assert {Path(name).suffix for name in kept} == {".csv", ".svg", ".png"}
    sealed = {name: project.sealed(name) for name in ("tables/norms", "tables/tiny", "figures/squared_norm")}
    assert "not run" not in set(judged["verdict"])

    shutil.rmtree(project.path / "results" / "smoke" / "norms")  # the records of what was not chosen don't matter
    project.edit("sketchbench/sketch/uniform.py", lambda text: text + "\nRELATED = 1\n")
    output = project.succeed("studies=tiny")
    assert older(project) == ["S3 uniform_sampling"]
    assert "1 of older code" in output
    after = project.reports()
    assert {name: after[name] for name in kept} == {name: whole[name] for name in kept}
    changed = {name for name in sealed if project.sealed(name) != sealed[name]}
    assert changed == {"tables/tiny"}
    assert "norms: older code: uniform_sampling" in after["claims.md"].decode()
    assert verdicts(project).drop(columns="code").equals(judged.drop(columns="code"))

    project.succeed()
    assert older(project) == []
    assert project.sealed("tables/norms") != sealed["tables/norms"]
    assert project.reports()["tables/norms.csv"] == whole["tables/norms.csv"]
