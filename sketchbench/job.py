"""Runs: resolved configs in, a record of each out. `python -m sketchbench.job --help`."""

import argparse
import json
import logging
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sketchbench import kernels, record
from sketchbench.digest import PROJECT
from sketchbench.execution import ConfigError, execute
from sketchbench.files import FileError, write_text
from sketchbench.measure.row import Row
from sketchbench.signature import code_of, signature

log = logging.getLogger(__name__)

VERSIONS = (
    "sketchbench",
    "numpy",
    "scipy",
    "numba",
    "torch",
    "dp-accounting",
    "hydra-core",
    "snakemake",
    "pyarrow",
    "cupy-cuda13x",
)


def run(config: dict[str, Any], path: Path, folder: Path | None = None) -> list[Row]:
    """Execute a config and write its record. Returns the rows."""
    start = time.monotonic()
    signed = signature(config, folder)
    rows = execute(config, code_of(config, folder))
    provenance = {
        "signature": signed,
        "config": config,
        "kernels": kernels.resolve(config["kernels"]),
        "wall_seconds": round(time.monotonic() - start, 3),
        "commit": _commit(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: _version(name) for name in VERSIONS},
    }
    record.write(path, record.Record(rows, provenance))
    return rows


def _version(name: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the code, marked where it is not the whole story; None outside a checkout."""
    command = ["git", "-C", str(PROJECT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def start_logging() -> None:
    """Progress lines, unbuffered, on standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")


def work_off(batch: list[dict[str, Any]], folder: Path | None = None) -> list[str]:
    """Do the runs of a batch whose records are not there, one after the other.

    Arguments:
        batch: of each run its name, the path of its record, its signature and its config, as `plan.Batch` lists them.
        folder: a user's own, whose modules count, too.

    Returns:
        A line for each run that failed. The others have their records.
    """
    failed = []
    for entry in batch:
        path = Path(entry["record"])
        if _is_there(path, entry["signature"]):
            continue
        log.info("%s", entry["name"])
        try:
            if signature(entry["config"], folder) != entry["signature"]:
                raise ConfigError("the code changed since this run was planned; start snakemake again")
            run(entry["config"], path, folder)
        except (ValueError, TypeError, RuntimeError, ArithmeticError, OSError) as error:
            failed.append(f"{entry['name']}: {error}")
    return failed


def _is_there(path: Path, signed: str) -> bool:
    """Whether there is a whole record with this signature."""
    try:
        record.read(path, signed)
    except record.RecordError:
        return False
    return True


def _batch(text: str) -> list[dict[str, Any]]:
    """The batch on stdin; an exit in one line for anything else."""
    try:
        batch = json.loads(text)
        texts = (entry[key] for entry in batch for key in ("name", "record", "signature"))
        if batch and isinstance(batch, list) and all(isinstance(text, str) for text in texts):
            return [{**entry, "config": dict(entry["config"])} for entry in batch]
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    sys.exit("sketchbench: error: stdin must be a batch as JSON, a list of name, record, signature and config")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.job",
        description="Do the runs of a batch, as planned by sketchbench.plan, and write their records; the batch comes"
        " as JSON on stdin. Records that are there are kept.",
    )
    parser.add_argument("--receipt", required=True, type=Path, help="the file to write when all records are there")
    parser.add_argument("--folder", type=Path, help="a user's folder with modules of their own")
    options = parser.parse_args(arguments)
    if options.folder:
        sys.path.insert(0, str(options.folder))
    start_logging()
    batch = _batch(sys.stdin.read())
    if failed := work_off(batch, options.folder):
        sys.exit("\n".join(f"sketchbench: error: {line}" for line in failed))
    try:
        write_text(options.receipt, record.receipt({entry["record"]: entry["signature"] for entry in batch}))
    except FileError as error:
        sys.exit(f"sketchbench: error: {error}")


if __name__ == "__main__":
    main()
