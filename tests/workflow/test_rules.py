"""Every rule runs in a folder that holds the sources and what the rule names, and nothing else."""

import re
import shutil
from pathlib import Path

import isolated
import pytest
import yaml
from conftest import LONG, ROOT, STUDY, Project

pytestmark = pytest.mark.workflow
RULES = ROOT / "workflow" / "rules"
TRAVELLING = {RULES / "away.smk", RULES / "home.smk"}  # whose rules tests/storage runs
PRINTED = {
    "paper": "song2023",
    "place": "Table 1",
    "about": "squared errors",
    "common": {"unit": "1", "size": "any", "study": "tiny", "criterion": "open", "reason": "a test"},
    "cells": [{"cell": "one", "printed": "1"}],
}
FRONTIER = {
    "task": "frontier",
    "compressor": ["none", "top_k"],
    "axes": {"task.compression": [4]},
    "scales": {"smoke": {"set": {
        "task.trials": 2, "task.training.rounds": 2, "task.training.judged": 1,
        "task.tuning.first": 1, "task.tuning.trials": 1,
    }}},
}  # fmt: skip
TRIAL = "trial1.parquet"
COSTS = "scale,study,runs,seconds,longest,mebibytes\nsmoke,tiny,2,5,5,100\nsmoke,other,2,40,40,100\n"


def write(file: Path, content: object) -> None:
    file.write_text(yaml.safe_dump(content, sort_keys=False))


def share(project: Project, value: str) -> None:
    """Let studies share processes: `short` ones, or none."""
    project.edit("conf/workflow.yaml", lambda text: re.sub("smoke: [a-z0-9]+", f"smoke: {value}", text))


@pytest.mark.weekly
def test_each_rule_reads_and_writes_what_it_names(project: Project) -> None:
    """A job that reads another file fails, and one that writes another file does; the reports are the ordinary ones."""
    conf = project.path / "conf"
    for name, study in {"other": STUDY, "long": LONG}.items():
        (conf / "study" / f"{name}.yaml").write_text(study)
    write(conf / "study" / "frontier.yaml", FRONTIER)
    write(conf / "printed" / "song2023-table-1.yaml", PRINTED)
    (conf / "costs.csv").write_text(COSTS)
    share(project, "short")
    project.succeed()
    ordinary = project.reports()
    assert {"frontier.csv", "printed.csv", "figures/frontier.png", "tables/long.csv"} <= ordinary.keys()

    results = project.path / "results" / "smoke"
    for folder in (project.path / "reports", project.path / ".snakemake", results / "sealed", results / "first"):
        shutil.rmtree(folder)
    joined = results / "long" / "any" / "d12.parquet"  # all other trainings are kept but for one trial
    for file in (*results.glob("*/*.done"), *results.glob("tiny/*/*.parquet"), joined, joined.with_suffix("") / TRIAL):
        file.unlink()
    isolated.isolate(project)
    one_at_a_time = ("--cores", "1")
    assert "1 runs reached their time limit" in project.succeed("minutes=1.0e-9", *one_at_a_time)
    project.succeed(*one_at_a_time)
    assert project.reports() == ordinary
    share(project, "16")
    shutil.rmtree(project.path / "reports")
    project.succeed(*one_at_a_time)
    assert project.reports() == ordinary

    ran = set((project.path / isolated.RAN).read_text().split())
    assert ran == isolated.rules(*{*RULES.glob("*.smk")} - TRAVELLING)


@pytest.mark.parametrize("rule", ["claim", "run"])
def test_a_rule_that_names_too_little_fails(project: Project, rule: str) -> None:
    """The verdicts read the seals of tables, and a job writes records: neither is an input or an output."""
    isolated.isolate(project)
    uses = re.compile(r" uses=.*?(?=\n        [a-z])", re.DOTALL)
    project.edit(f"workflow/rules/{rule}.smk", lambda text: uses.sub(" uses=[],", text))
    code, told = project.run("--cores", "1")
    assert code != 0
    assert "has no seal" in told or "wrote what it does not name" in told
