"""Every command that a report prints parses, and makes what it says that it makes."""

import csv
import functools
import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from all_claims import CLAIMS
from published import reports
from weekly import weekly
from whole_plan import whole_plan

from sketchbench.base.project import CONF
from sketchbench.command.main import main, sketchbench
from sketchbench.report.frontier import TRAINING, TRAININGS
from sketchbench.run import record
from sketchbench.run.config import commands, overrides
from sketchbench.run.config.chapters import named
from sketchbench.run.config.composition import compose, frozen

PLACES = {"quick": ".", "paper": "paper"}


def rows(scale: str, report: str) -> list[dict[str, Any]]:
    with (reports() / PLACES[scale] / report).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def printed(scale: str) -> dict[str, str]:
    """The commands of the reports of a scale, and those that the site and the terminal print of its claims, each with
    the study of its run, where that is known."""
    found = {row["command"]: "" for report in ("frontier.csv", "printed.csv") for row in rows(scale, report)}
    cells = [{**row, "case": f"compression={row['compression']}"} for row in rows(scale, "frontier.csv")]
    judged = rows(scale, "claims.csv") + [{**cell, "study": study} for study in TRAININGS for cell in cells]
    found |= {commands.single_run(CONF, scale, row): row["study"] for row in judged}
    found |= {commands.workflow(scale, claim.studies): "" for claim in CLAIMS.values()}
    return {command: study for command, study in found.items() if command}


def words(command: str) -> list[str]:
    program, *rest = shlex.split(command)
    assert program == "sketchbench"
    return rest


def kept(config: dict[str, Any]) -> str:
    """A config without the backend, which is that of the machine."""
    return json.dumps({key: value for key, value in config.items() if key != "kernels"}, sort_keys=True)


@pytest.mark.parametrize("scale", PLACES)
def test_all_parse(scale: str) -> None:
    single = [words(command)[1:] for command in printed(scale) if words(command)[0] == "run"]
    assert len(single) > 400
    for one in single:
        overrides.check(one, CONF)
        assert overrides.product(one, [CONF]) == [one]
    for name, *options in (words(command) for command in printed(scale) if words(command)[0] != "run"):
        command = sketchbench.get_command(click.Context(sketchbench), name)
        assert command is not None
        given = command.make_context(name, list(options)).params
        assert {*given["studies"].split(",")} <= named(CONF, "study").keys(), options


@pytest.mark.parametrize("scale", weekly(PLACES, lambda scale: scale == "paper"))
def test_they_make_runs_of_the_plan(scale: str) -> None:
    """The longest command of the frontier, of each study that adds to the seed, and of twelve others."""
    plan = whole_plan(scale)
    by_length = sorted(printed(scale), key=lambda one: (len(words(one)), one))
    longest = {printed(scale)[command]: command for command in by_length if printed(scale)[command] in plan.runs}
    always = {study: study == TRAINING or commands.read_once(CONF, study, scale).seed != 0 for study in longest}
    chosen = sorted(longest, key=lambda study: (always[study], len(words(longest[study]))))[
        -12 - sum(always.values()) :
    ]
    for study, command in ((study, longest[study]) for study in chosen):
        planned = {kept(run.config) for run in plan.runs[study].values()}
        assert kept(frozen(compose(words(command)[1:])).config) in planned, command


@pytest.mark.parametrize("study", TRAININGS)
def test_one_of_each_study_of_trainings_runs(study: str, tmp_path: Path) -> None:
    command = commands.single_run(CONF, "smoke", {"study": study, "method": "top_k", "case": "compression=16"})
    main([*words(command), "--result", str(tmp_path / "one.parquet")])
    found = record.read(tmp_path / "one.parquet")
    assert kept(found.provenance["config"]) in {kept(run.config) for run in whole_plan("smoke").runs[study].values()}
    assert len(found.rows)
