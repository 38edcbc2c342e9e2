"""What every task of conf/task promises, whoever wrote it."""

import dataclasses
import functools
import inspect
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
from hydra.utils import get_class
from whole_plan import whole_plan

from sketchbench.base.course import SETTINGS
from sketchbench.base.parameters import Checked, NonEmpty
from sketchbench.measure.column import CONTROLS
from sketchbench.measure.row import Row
from sketchbench.report.table.times import QUANTITIES
from sketchbench.run import execution, record
from sketchbench.run.config import composition
from sketchbench.run.config.study import read as read_study
from sketchbench.task.repeated import Repeated
from sketchbench.task.task import Task

TASKS = sorted(path.stem for path in (composition.CONF / "task").glob("*.yaml"))
# They compute or count, and draw nothing that shows in their rows.
EXACT = {
    "consensus",
    "download",
    "frontier_cost",
    "hash_tails",
    "layer_cost",
    "privacy_accounting",
    "privacy_lemmas",
    "table_2",
    "transform_cost",
}
GIVEN = {
    "kernels",
    "seed",
    "course",
    "family",
    "known",
    "recovery",
    "compressor",
}  # by the plan, not by the task's config
MOST_FIELDS = 13
Config = dict[str, Any]
# Where even the smoke scale takes seconds, less of what is repeated in a run: the same lines of code give its rows.
SHORTER: dict[str, Config] = {
    "compressed_training": {"tuning": {"rounds": 20}},
    "leakage_limits": {"conditions": {f"after {rounds} rounds": {"trained": 10} for rounds in (50, 300)}},
    "leakage_order": {"attack": {"passes": 2}},
    "rounds_factors": {"rounds": 5},
}


@functools.cache
def smoke() -> dict[str, Config]:
    """The smallest run of every task at scale=smoke; not of a control, which may have no randomness."""
    found: dict[str, Config] = {}
    for study, runs in sorted(whole_plan("smoke").runs.items()):
        task = read_study(composition.CONF, study, "smoke").task
        for run in runs.values():
            if run.columns["method"].startswith(CONTROLS):
                continue
            if task not in found or _size(run.config) < _size(found[task]):
                found[task] = run.config
    return found


def _size(config: Config) -> tuple[float, float]:
    """The sketch's; and a compressor's message, of which the largest may be refused."""
    compression = float(config["task"].get("compression", 1)) if "compressor" in config else 1.0
    return int(config.get("d", 0)) * int(config.get("b", 0)), 1 / compression


def rows(task: str, seed: int = 0) -> tuple[Row, ...]:
    config = smoke()[task]
    return tuple(execution.execute({**config, "task": merged(config["task"], SHORTER.get(task, {})), "seed": seed}))


def merged(node: Config, changes: Config) -> Config:
    """A config with values of its own in the place of those that it has; KeyError for others."""
    return node | {
        key: merged(node[key], value) if isinstance(node[key], dict) else value for key, value in changes.items()
    }


def without_times(measured: tuple[Row, ...]) -> list[Row]:
    return [row for row in measured if row["quantity"] not in QUANTITIES]


def task_class(name: str) -> Any:
    return get_class(smoke()[name]["task"]["_target_"])


@pytest.mark.parametrize("name", TASKS)
def test_it_is_a_task(name: str) -> None:
    """A frozen, documented dataclass whose fields are checked, and few enough to hold in the head."""
    cls = task_class(name)
    assert issubclass(cls, Task)
    assert issubclass(cls, Checked)
    assert dataclasses.fields(cls)
    assert cls.__dataclass_params__.frozen
    assert len(cls.__doc__ or "") > 100
    assert len(cls.__annotations__) <= MOST_FIELDS, "group what belongs together"


@pytest.mark.parametrize("name", TASKS)
def test_it_composes_by_itself(name: str) -> None:
    """As `sketchbench run task=NAME` does it; what its config sets are the class's own fields."""
    config = composition.compose([f"task={name}", "kernels=numpy"])["task"]
    names = {field.name for field in dataclasses.fields(task_class(name))}
    assert set(config) - {"_target_", *SETTINGS} == names - GIVEN
    assert set(SETTINGS) <= set(config) or not issubclass(task_class(name), Repeated)
    assert not set(SETTINGS) & set(config) or "course" in names


@pytest.mark.parametrize("name", TASKS)
def test_its_rows(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Rows that can be recorded, not all lost; the log says how far it is; the seed is all of their randomness."""
    with caplog.at_level(logging.INFO, "sketchbench"):
        measured = rows(name)
    assert any(entry.name.startswith("sketchbench") for entry in caplog.records), "nothing was logged"
    check_valid(measured, tmp_path / "rows.parquet")
    assert without_times(rows(name)) == without_times(measured)
    if name not in EXACT:
        assert without_times(rows(name, seed=1)) != without_times(measured)


def check_valid(measured: tuple[Row, ...], path: Path) -> None:
    assert all(isinstance(row, Row) for row in measured)
    assert {"mean", "count", "value", "hits"} & {column for row in measured for column in row}
    record.write(path, record.Record(measured, {}))
    read = record.read(path).rows
    assert [{k: v for k, v in row.items() if v is not None} for row in read] == [dict(row) for row in measured]
    for row in measured:
        assert not any(isinstance(value, float) and not math.isfinite(value) for value in row.values())
        if "mean" not in row and "count" not in row and "value" not in row and "hits" not in row:
            assert row.get("status") not in (None, "finite"), f"{row} has no number and no status"


WRONG: dict[Any, list[Any]] = {
    bool: ["maybe", 2],
    int: [1.5, True, "many", -1],
    float: ["much", math.nan, True],
    list: ["one"],
    dict: [["one"]],
}


def _kind(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_origin(hint) or hint


def _wrong_values(hint: Any, value: Any) -> Iterator[Any]:
    """Values that a field with this type and this value in the config can't have."""
    yield from WRONG.get(_kind(hint), [])
    if NonEmpty in get_args(hint):
        yield type(value)()


def _wrong(cls: Any, config: Config, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Keys of a task's own parameters, and of groups of them, with values that can't stand there."""
    for field in dataclasses.fields(cls):
        value = config.get(field.name)
        target = value.get("_target_", "") if isinstance(value, dict) else ""
        if target.startswith("sketchbench.task."):
            yield from _wrong(get_class(target), value, (*prefix, field.name))
        elif field.name in config and not target:
            for wrong in _wrong_values(field.type, value):
                yield (*prefix, field.name), wrong


def _changed(node: Config, keys: tuple[str, ...], value: Any) -> Config:
    first, *rest = keys
    return {**node, first: _changed(node[first], tuple(rest), value) if rest else value}


@pytest.mark.parametrize("name", TASKS)
def test_bad_parameters_are_refused_by_name(name: str) -> None:
    """Of a wrong type, below any range or empty: in one line that names the parameter, before anything is measured."""
    config = smoke()[name]
    for keys, wrong in _wrong(task_class(name), config["task"]):
        bad = {**config, "task": _changed(config["task"], keys, wrong)}
        with pytest.raises((ValueError, TypeError)) as caught:
            execution.execute(bad)
        message = str(caught.value)
        assert message.startswith(f"{keys[-1]}="), f"{'.'.join(keys)}={wrong!r}: {message}"
        assert "\n" not in message


def test_every_task_has_a_study() -> None:
    assert smoke().keys() == set(TASKS)


def test_the_contract_covers_every_task_class() -> None:
    import sketchbench.task

    files = {path.stem for path in Path(str(sketchbench.task.__file__)).parent.rglob("*.py")}
    configured = {inspect.getfile(task_class(name)).rpartition("/")[2].removesuffix(".py") for name in TASKS}
    assert files - configured == {
        "__init__",
        "task",
        "repeated",
        "trials",
        "signals",
        "vectors",
        "probes",
        "worst_pair",
        "attackers_view",
        "challenge",
    }
