"""Jobs: run resolved configs, one after the other, and write a record of each."""

import contextlib
import functools
import json
import logging
import os
import platform
import resource
import shutil
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.base import arithmetic
from sketchbench.base.course import Unfinished, can_resume, with_time_limit
from sketchbench.base.errors import MISTAKES, ConfigError, blame, message
from sketchbench.base.project import PROJECT, code_commit
from sketchbench.kernels.device import recorded_name
from sketchbench.measure.row import Row
from sketchbench.run import record
from sketchbench.run.digest import CodeDigest
from sketchbench.run.execution import execute, with_task
from sketchbench.run.signature import code_of, signature

log = logging.getLogger(__name__)
COMMIT = "SKETCHBENCH_COMMIT"

# What a task may raise; anything else is an error of the user's own code, or a defect of ours.
EXPECTED = (ValueError, TypeError, RuntimeError, ArithmeticError, OSError)
VERSIONS = (
    "sketchbench",
    "numpy",
    "scipy",
    "numba",
    "torch",
    "scikit-learn",
    "dp-accounting",
    "hydra-core",
    "snakemake",
    "pyarrow",
    "cupy-cuda13x",
)


class Outcome(NamedTuple):
    """What became of a batch: a line for each failed run, and for each unfinished run, by the path of its record. All
    other runs have their records."""

    failed: list[str]
    unfinished: dict[str, str]


class Trial(NamedTuple):
    """The record of one trial of a run."""

    number: int
    record: record.Record


def run(config: dict[str, Any], path: Path, folder: Path | None = None) -> list[Row]:
    """Execute a config, or the one trial that it names, and write its record. Returns the rows.

    A trial's record holds the raw values of the trial, as JSON: a row for each section of the task. Rows of results are
    made later from all trials. Raises Unfinished at its time limit; only checkpoints are written then.
    """
    start, cpu_start, digest = time.monotonic(), time.process_time(), CodeDigest()
    signed, code = signature(config, folder, digest), code_of(config, folder, digest)
    rows: list[Any] = _trial_rows(config, code) if "trial" in config else execute(config, code)
    provenance = {
        "signature": signed,
        "wall_seconds": round(time.monotonic() - start, 3),
        "cpu_seconds": round(time.process_time() - cpu_start, 3),
        "peak_mebibytes": _peak_mebibytes(),
    }
    record.write(path, record.Record(rows, {**provenance, **_origin(config)}))
    return rows


def _trial_rows(config: dict[str, Any], code: str) -> list[dict[str, Any]]:
    """The rows of the record of one trial, `config["trial"]`; ConfigError for a task without single trials."""
    number = config["trial"]

    def run_trial(task: Any) -> dict[str, Any]:
        if not hasattr(task, "trial"):
            raise ConfigError(f"trials of {type(task).__name__} can't be runs of their own; leave `trials` out")
        return dict(task.trial(number))

    values = with_task(config, run_trial, code)
    return [{"quantity": name, "trial": number, "values": json.dumps(value)} for name, value in values.items()]


def join(config: dict[str, Any], path: Path, trials: list[dict[str, Any]], folder: Path | None = None) -> None:
    """Write the record of a run from the records of its trials, of as many as are available; of each planned trial its
    number `trial`, and the path and signature of its record are given.

    The record has the rows that one process would have made of the same trials, and its provenance lists them. Raises
    Unfinished where trials are missing; the record is written all the same unless all are.
    """
    available = available_trials(trials)
    if available:
        values = [{row["quantity"]: json.loads(row["values"]) for row in trial.record.rows} for trial in available]
        rows: list[Row] = with_task(config, lambda task: task.rows(values), code_of(config, folder))
        provenance = {
            "signature": signature(config, folder),
            "wall_seconds": round(sum(trial.record.provenance["wall_seconds"] for trial in available), 3),
            "trials": [trial.number for trial in available],
        }
        record.write(path, record.Record(rows, {**provenance, **_origin(config)}))
    if len(available) < len(trials):
        raise Unfinished(f"{len(available)} of {len(trials)} trials are there")


def available_trials(planned: list[dict[str, Any]]) -> list[Trial]:
    """The planned trials that have a whole record with the planned signature, in the order of their numbers; argument
    as of `join`."""
    trials = []
    for entry in sorted(planned, key=lambda entry: int(entry["trial"])):
        try:
            trials.append(Trial(entry["trial"], record.read(Path(entry["record"]), entry["signature"])))
        except record.RecordError:
            continue  # the job that makes it says what is wrong with it
    return trials


def _origin(config: dict[str, Any]) -> dict[str, Any]:
    """The part of a record's provenance that is the same for all runs of a process, with the config."""
    return {
        "config": with_time_limit(config),
        "kernels": recorded_name(config["kernels"]),
        "commit": _commit(),
        "arithmetic": arithmetic.name(),
        "machine": f"{_system()}, Python {platform.python_version()}",
        "versions": {name: _version(name) for name in VERSIONS},
    }


def check_config(config: dict[str, Any]) -> None:
    """ConfigError unless the config has what every resolved config has."""
    for key, kind in {"task": dict, "kernels": str, "seed": int}.items():
        if not isinstance(config.get(key), kind):
            raise ConfigError(f"the config needs {key}, of type {kind.__name__}; `composition` makes it")


def _system() -> str:
    """The system with its C library, whose versions differ in the last bit of a logarithm now and then."""
    return " ".join(filter(None, [platform.system(), platform.machine(), *platform.libc_ver()]))


@functools.cache
def _version(name: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _peak_mebibytes() -> int:
    """The most memory that this process has had so far, with the runs that it did before."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (2**20 if sys.platform == "darwin" else 2**10)  # bytes there, KiB elsewhere


@functools.cache
def _commit() -> str | None:
    """The commit of the code. Asked once: what a process runs is what it has loaded. Code that came without its
    checkout says its commit by a variable."""
    commit = code_commit(PROJECT)
    return commit.name if commit else os.environ.get(COMMIT)


def start_logging() -> None:
    """Progress lines, unbuffered, on standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")


def run_batch(batch: list[dict[str, Any]], folder: Path | None = None) -> Outcome:
    """Do the runs of a batch, as `batch.Batch` describes them, whose records are not there, one after the other; one
    with `trials` is made of the records of its trials. The modules of a user's folder count, too."""
    failed, unfinished = [], {}
    start, worked = time.monotonic(), False
    for entry in batch:
        path = Path(entry["record"])
        if is_there(path, entry):
            continue
        config = _with_time_left(entry["config"], time.monotonic() - start)
        if worked and config is None:
            unfinished[entry["record"]] = f"{entry['name']}: it has not begun"
            continue
        log.info("%s", entry["name"])
        worked = True
        try:
            _do({**entry, "config": config or entry["config"]}, path, folder)
        except Unfinished as left:
            unfinished[entry["record"]] = f"{entry['name']}: {left}"
        except (Exception, SystemExit) as error:
            line = blame(error, folder)
            if line is None and not isinstance(error, (MemoryError, RecursionError, *MISTAKES)):
                raise
            failed.append(f"{entry['name']}: {line or message(error)}")
    return Outcome(failed, unfinished)


def _do(entry: dict[str, Any], path: Path, folder: Path | None) -> None:
    """Do one run of a batch; its checkpoints are removed when all of it is there."""
    config = entry["config"]
    check_config(config)
    if signature(config, folder) != entry["signature"]:
        raise ConfigError("the code changed since this run was planned; start snakemake again")
    with contextlib.chdir("."):  # own code may go elsewhere
        if "trials" in entry:
            join(config, path, entry["trials"], folder)
        else:
            run(config, path.absolute(), folder)
    forget_checkpoints(config)


def forget_checkpoints(config: dict[str, Any]) -> None:
    """Remove the checkpoints of a finished run."""
    if checkpoints := config["task"].get("checkpoints"):
        own = f"trial{config['trial']}" if "trial" in config else ""  # others may need what it shares with them
        shutil.rmtree(Path(checkpoints, own), ignore_errors=True)


def _with_time_left(config: dict[str, Any], seconds: float) -> dict[str, Any] | None:
    """The config with what is left of its time limit, which is that of a batch, after some seconds; None where nothing
    is left."""
    if not can_resume(config) or not config["task"]["minutes"]:
        return config
    left = config["task"]["minutes"] - seconds / 60
    return with_time_limit(config, left, config["task"]["checkpoints"]) if left > 0 else None


def is_there(path: Path, entry: dict[str, Any]) -> bool:
    """Whether there is a whole record with the signature of an entry; of a run of trials, with all of them."""
    try:
        stored = record.read(path, entry["signature"])
    except record.RecordError:
        return False
    planned = len(entry.get("trials", []))
    return record.trials(stored.provenance, planned) == planned
