"""The commands that repeat the measurement behind a verdict."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sketchbench.config.study import Point, Study, read


def workflow(scale: str, studies: Sequence[str]) -> str:
    """The command that makes the tables of these studies and the verdicts."""
    return f"snakemake --config scale={scale} studies={','.join(studies)}"


def single_run(conf: Path, scale: str, row: Mapping[Any, Any], method: str = "") -> str:
    """The command of the single run behind a verdict; "" where the verdict takes several runs or the study is gone.

    Arguments:
        conf: the folder of configs.
        scale: the scale of the run.
        row: a row of the table of verdicts.
        method: the name to write in the place of the row's method; "" for the method itself.
    """
    if not row["study"] or " " in row["study"]:
        return ""
    try:
        study = read(conf, row["study"], scale)
    except (ValueError, OSError):  # the study has been removed
        return ""
    if study.trial_runs or row["method"].startswith("control/"):
        return ""
    points = [point for point in study.points(row["method"]) if _fits(point, row["case"])]
    points = points[:1] if study.always else points  # at the first size that the method takes
    return _command(study, scale, method or row["method"], points[0]) if len(points) == 1 else ""


def _fits(point: Point, case: str) -> bool:
    """Whether the settings of a point agree with the values in the name of a case, such as `flat, d=16, b=4`."""
    named = dict(part.split("=", 1) for part in case.split(", ") if part.count("=") == 1)
    return all(name not in named or named[name] == _short(value) for name, value in point.columns.items())


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _command(study: Study, scale: str, method: str, point: Point) -> str:
    parts = [f"task={study.task}", *([f"{study.kind}={method}"] if study.kind else []), f"scale={scale}"]
    parts += [f"{group}@task.{group}={option}" for group, option in point.groups.items()]
    parts += [f"{key}={_value(value)}" for key, value in point.values.items()]
    return " ".join(["sketchbench run", *map(shlex.quote, parts)])


def _value(value: Any) -> str:
    """A value in the syntax of a Hydra override."""
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{_value(part)}' for key, part in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_value, value))}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
