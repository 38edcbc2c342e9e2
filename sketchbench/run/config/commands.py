"""The commands that repeat the measurement behind a verdict."""

import functools
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sketchbench.run.config.overrides import quote
from sketchbench.run.config.study import Study, StudyPoint, read


def workflow(scale: str, studies: Sequence[str]) -> str:
    """The command that makes the tables of these studies and the verdicts."""
    return f"sketchbench results --scale {scale} --studies {','.join(studies)}"


def own(folder: Path | None) -> str:
    """The options, after a space, that restrict a command to a user's folder; "" for none."""
    return f" --folder {shlex.quote(str(folder))} --only mine" if folder else ""


@functools.cache
def read_once(conf: Path, name: str, scale: str) -> Study:
    """Read a study once in a process; see `study.read`."""
    return read(conf, name, scale)


def single_run(
    conf: Path, scale: str, row: Mapping[Any, Any], method: str = "", settings: Mapping[str, str] | None = None
) -> str:
    """The command of the single run behind a row of the table of verdicts.

    It is "" for a verdict on several runs or on none, and for a removed study. `method`, unless "", replaces the row's
    method. `settings` are those of the row's records; by default those of a plan with the seed 0."""
    if not row["study"] or " " in row["study"]:
        return ""
    try:
        study = read_once(conf, row["study"], scale)
    except (ValueError, OSError):  # the study has been removed
        return ""
    if study.trial_runs or row["method"].startswith("control/") or (study.kind and not row["method"]):
        return ""
    points = [point for point in study.points(row["method"]) if _fits(point, row["case"])]
    if len(points) != 1 and not (points and study.always):  # which is run at the first size that the method takes
        return ""
    chosen = [f"{study.kind}={method or row['method']}"] if study.kind else []
    parts = [f"task={study.task}", *chosen, f"scale={scale}", *points[0].overrides]
    apart = {"seed": study.seed} if settings is None and study.seed else dict(settings or {})
    parts += [_override(key, value) for key, value in [*points[0].values.items(), *sorted(apart.items(), reverse=True)]]
    return " ".join(["sketchbench run", *map(shlex.quote, parts)])


def _fits(point: StudyPoint, case: str) -> bool:
    """Return whether a point's settings agree with the name of a case, such as `flat, d=16, b=4`."""
    named = dict(part.split("=", 1) for part in case.split(", ") if part.count("=") == 1)
    settings = {name: f"{v:g}" if isinstance(v, int | float) else str(v) for name, v in point.columns.items()}
    return all(named.get(name, value) == value for name, value in settings.items())


def _override(key: str, value: Any) -> str:
    """An override; a part of the key that Hydra takes only within a mapping, such as `one class`, is set by one."""
    parts = key.split(".")
    odd = next((place for place, part in enumerate(parts) if not re.fullmatch(r"\w+", part, re.ASCII)), len(parts))
    for part in reversed(parts[odd:]):
        value = {part: value}
    return f"{'.'.join(parts[:odd])}={_value(value)}"


def _value(value: Any) -> str:
    """A value in the syntax of a Hydra override."""
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{_value(part)}' for key, part in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_value, value))}]"
    if value is None:
        return "null"
    if isinstance(value, str) and not re.fullmatch(r"[\w./-]+", value, re.ASCII):
        return quote(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
