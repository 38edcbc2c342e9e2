"""Killed, out of space, damaged: the same command recovers, byte for byte."""

import os
import random

import pytest
from conftest import Project
from trials import KINDS, leftovers, outcome, prepared, wait_for_orphans

pytestmark = pytest.mark.workflow
TRIALS = int(os.environ.get("SKETCHBENCH_TRIALS", "1"))
FIRST = int(os.environ.get("SKETCHBENCH_FIRST_TRIAL", "2"))


def test_trials(finished: Project) -> None:
    """By default that of a full disk only, since kills and damage have tests of their own in test_crashes.
    `SKETCHBENCH_TRIALS=60` makes 60, five kinds in turn (10 minutes on two quiet cores), and
    `SKETCHBENCH_FIRST_TRIAL=100` those with the seeds from 100 on; `pytest -s` shows each of them.
    `SKETCHBENCH_FIGURE=1` adds a study with a figure, and `SKETCHBENCH_MOUNT=1` a file system that is full, for which
    it takes the right to mount one."""
    project, figure = finished, "SKETCHBENCH_FIGURE" in os.environ
    whole = prepared(project, figure, again=figure or TRIALS > 1)
    kinds = list(KINDS)
    failed = []
    for number in range(FIRST, FIRST + TRIALS):
        kind = kinds[number % len(kinds)]
        told = KINDS[kind](project, random.Random(number))
        code, output = project.run(wrapper=True)
        wait_for_orphans(project)
        recovered = code == 0 and outcome(project) == whole
        print(f"{number}: {kind}: {told}: {'recovered' if recovered else 'NOT RECOVERED'}", flush=True)
        if not recovered:
            failed.append(f"{number}: {kind}: {told}\n{output}")
            project.succeed(wrapper=True)
    assert not failed, "\n".join(failed)
    assert not leftovers(project)
