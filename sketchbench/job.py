"""Runs: resolved configs in, a record of each out. `python -m sketchbench.job --help`."""

import logging
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sketchbench import kernels, receipt, record
from sketchbench.blame import blamed
from sketchbench.command_line import MISTAKES, Parser, check_entries, json_from_stdin, program, said
from sketchbench.digest import PROJECT
from sketchbench.execution import ConfigError, execute
from sketchbench.files import write_text
from sketchbench.measure.row import Row
from sketchbench.signature import code_of, signature

log = logging.getLogger(__name__)

# What a task may raise; anything else is an error of the user's own code, or a defect of ours.
EXPECTED = (ValueError, TypeError, RuntimeError, ArithmeticError, OSError)
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


def check_config(config: dict[str, Any]) -> None:
    """ConfigError unless the config has what every resolved config has."""
    for key, kind in {"task": dict, "kernels": str, "seed": int}.items():
        if not isinstance(config.get(key), kind):
            raise ConfigError(f"the config needs {key}, of type {kind.__name__}; `composition` makes it")


def _version(name: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the code, marked `-dirty` where it is not the whole story; None outside a checkout.

    Reports don't count, which a run changes while it goes on, nor anything else that no result depends on.
    """
    git = ["git", "-C", str(PROJECT)]
    try:
        name = subprocess.run([*git, "describe", "--always", "--abbrev=12"], capture_output=True, text=True, check=True)
        difference = [*git, "diff", "--quiet", "HEAD", "--", "sketchbench", "conf"]
        changed = subprocess.run(difference, capture_output=True, check=False)
    except (OSError, subprocess.CalledProcessError):
        return None
    return name.stdout.strip() + ("-dirty" if changed.returncode else "")


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
            check_config(entry["config"])
            if signature(entry["config"], folder) != entry["signature"]:
                raise ConfigError("the code changed since this run was planned; start snakemake again")
            run(entry["config"], path, folder)
        except (Exception, SystemExit) as error:
            line = blamed(error, folder)
            if line is None and not isinstance(error, (MemoryError, RecursionError, *MISTAKES)):
                raise
            failed.append(f"{entry['name']}: {line or said(error)}")
    return failed


def _is_there(path: Path, signed: str) -> bool:
    """Whether there is a whole record with this signature."""
    try:
        record.read(path, signed)
    except record.RecordError:
        return False
    return True


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(
        prog="python -m sketchbench.job",
        description="Do the runs of a batch, as planned by sketchbench.plan, and write their records; the batch comes"
        " as JSON on stdin. Records that are there are kept.",
    )
    parser.add_argument("--receipt", required=True, type=Path, help="the file to write when all records are there")
    parser.add_argument("--folder", type=Path, help="a user's folder with modules of their own")
    options = parser.parse_args(arguments)
    folder = options.folder and options.folder.resolve()
    if folder:
        sys.path.insert(0, str(folder))
    start_logging()
    batch = json_from_stdin("the batch")
    check_entries(batch, {"name": str, "record": str, "signature": str, "config": dict}, "the batch")
    if not batch:
        raise ValueError("the batch has no entries; Snakemake makes it of the plan")
    if failed := work_off(batch, folder):
        sys.exit("\n".join(f"sketchbench: error: {line}" for line in failed))
    write_text(options.receipt, receipt.text({entry["record"]: entry["signature"] for entry in batch}))


if __name__ == "__main__":
    main()
