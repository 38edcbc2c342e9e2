"""One run: a resolved config in, one record out. `python -m sketchbench.job --help`."""

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
from sketchbench.measure.row import Row
from sketchbench.signature import code_of, signature

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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.job",
        description="Run one frozen config, as planned by sketchbench.plan, and write its record.",
    )
    parser.add_argument("--config", required=True, help="the resolved config, as JSON")
    parser.add_argument("--signature", required=True, help="of config and code, as planned")
    parser.add_argument("--result", required=True, type=Path, help="the Parquet file to write")
    parser.add_argument("--folder", type=Path, help="a user's folder with modules of their own")
    options = parser.parse_args(arguments)
    if options.folder:
        sys.path.insert(0, str(options.folder))
    start_logging()
    try:
        config = json.loads(options.config)
        if signature(config, options.folder) != options.signature:
            raise ConfigError("the code changed since this run was planned; start snakemake again")
        run(config, options.result, options.folder)
    except (ValueError, TypeError, RuntimeError, ArithmeticError, OSError) as error:
        sys.exit(f"sketchbench: error: {error}")


if __name__ == "__main__":
    main()
