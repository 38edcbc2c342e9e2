"""One run: a resolved config in, one record out. `python -m sketchbench.job --help`."""

import argparse
import hashlib
import importlib
import inspect
import json
import logging
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hydra.utils import instantiate

from sketchbench import kernels, record
from sketchbench.digest import PROJECT, code_digest
from sketchbench.measure.row import Row
from sketchbench.theory.known import Known

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


class ConfigError(ValueError):
    """A config that can't be run; the message is for the user."""


def family_of(config: dict[str, Any]) -> Any:
    """The sketch family that a resolved config describes: the sketch's, or a recovery's `sensing`.

    Raises ConfigError if its class can't be imported, and ValueError if the sizes don't fit it.
    """
    kind, key = ("sketch", "family") if "sketch" in config else ("recovery", "sensing")
    described = dict(config[kind][key])
    target = described.pop("_target_")
    module, _, attribute = target.rpartition(".")
    try:
        family = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # whatever a user's module raises while it is imported
        cause: BaseException = error
        while inner := cause.__cause__ or cause.__context__:
            cause = inner
        reason = f"{type(cause).__name__}: {str(cause).splitlines()[0]}"
        name = config[kind]["name"]
        raise ConfigError(f"{kind} {name}: can't import {target}: {reason}") from None
    return family(**described, d=config["d"], b=config["b"])


def execute(config: dict[str, Any], folder: Path | None = None) -> list[Row]:
    """Run the task of a resolved config and return its rows.

    A task is given what it asks for of kernels, seed, code (see `code_of`), family, known and recovery.
    """
    given: dict[str, Any] = {"kernels": kernels.load(config["kernels"]), "seed": config["seed"]}
    if "sketch" in config:
        given["family"] = family_of(config)
        theory = instantiate(config["sketch"]["theory"] or {}, _convert_="all")
        given["known"] = Known(**theory)
    if "recovery" in config:
        given["family"] = family_of(config)
        given["recovery"] = instantiate(config["recovery"]["algorithm"], _partial_=True)
    make_task = instantiate(config["task"], _partial_=True, _convert_="all")
    asked = inspect.signature(make_task.func).parameters
    if "code" in asked:  # few tasks do, and it takes a moment
        given["code"] = code_of(config, folder)
    rows: list[Row] = make_task(**{k: given[k] for k in given if k in asked}).run()
    return rows


def targets(node: Any) -> Iterator[str]:
    """Every `_target_` in a config."""
    if isinstance(node, dict):
        if "_target_" in node:
            yield node["_target_"]
        for value in node.values():
            yield from targets(value)


def code_of(
    config: dict[str, Any],
    folder: Path | None = None,
    digest: Callable[..., str] = code_digest,
) -> str:
    """16 hex digits that change with the code that a resolved config runs.

    digest: another `code_digest`, such as one that remembers its answers while no file changes.
    """
    modules = {f"sketchbench.kernels.{config['kernels']}_kernels", "sketchbench.job"}
    modules |= {target.rpartition(".")[0] for target in targets(config)}
    return digest(tuple(sorted(modules)), (folder,) if folder else ())


def signature(
    config: dict[str, Any],
    folder: Path | None = None,
    digest: Callable[..., str] = code_digest,
) -> str:
    """16 hex digits that change with a resolved config and with the code that it runs; digest as for `code_of`."""
    text = json.dumps([config, code_of(config, folder, digest)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(config: dict[str, Any], path: Path, folder: Path | None = None) -> list[Row]:
    """Execute a config and write its record. Returns the rows."""
    start = time.monotonic()
    signed = signature(config, folder)
    rows = execute(config, folder)
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
