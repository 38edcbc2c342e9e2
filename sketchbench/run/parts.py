"""Trials as runs: a record for each trial, and the record of the run that those make that are there.

A trial's record holds what it gave, not yet what follows from it: a row for each part, with its values as JSON. The
record of the run has the rows that one process would have made of the same trials, and says in its provenance which
they are. It is made anew when there are more of them.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.errors import ConfigError
from sketchbench.measure.row import Row
from sketchbench.run import record
from sketchbench.run.execution import performed


class Part(NamedTuple):
    """A trial that has a record."""

    number: int
    stored: record.Record


def trial_rows(config: dict[str, Any], code: str) -> list[dict[str, Any]]:
    """The rows of the record of one trial, `config["trial"]`.

    Raises:
        ConfigError: for a task whose trials can't be runs.
        Unfinished: where it has come to its time limit.
    """
    number = config["trial"]

    def made(task: Any) -> dict[str, Any]:
        if not hasattr(task, "trial"):
            raise ConfigError(f"trials of {type(task).__name__} can't be runs of their own; leave `trials` out")
        return dict(task.trial(number))

    values = performed(config, made, code)
    return [{"quantity": name, "trial": number, "values": json.dumps(value)} for name, value in values.items()]


def found(entries: list[dict[str, Any]]) -> list[Part]:
    """The trials that are there, whole and as planned, in the order of their numbers.

    Arguments:
        entries: of each trial its number `trial`, and the path and signature of its record, as `Plan` lists them.
    """
    parts = []
    for entry in sorted(entries, key=lambda entry: int(entry["trial"])):
        try:
            stored = record.read(Path(entry["record"]), entry["signature"])
        except record.RecordError:
            continue  # the job that makes it says what is wrong with it
        parts.append(Part(entry["trial"], stored))
    return parts


def joined(config: dict[str, Any], code: str, parts: list[Part]) -> list[Row]:
    """The rows of a run, of the trials that are there, one at least."""
    values = [{row["quantity"]: json.loads(row["values"]) for row in part.stored.rows} for part in parts]
    rows: list[Row] = performed(config, lambda task: task.rows(values), code)
    return rows
