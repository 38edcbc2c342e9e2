"""What tests of tasks share: rows by their columns, and a task with other parameters."""

import dataclasses
from collections.abc import Iterable
from typing import Any


def select(rows: Iterable[Any], **where: Any) -> list[Any]:
    """The rows with these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in where.items())]


def with_parameters(task: Any, groups: Iterable[str], **change: Any) -> Any:
    """The task with other parameters, which may be those of a group of parameters, such as `training`."""
    for group in groups:
        parameters = getattr(task, group)
        own = {field.name for field in dataclasses.fields(parameters)} - {"rounds"}
        if group == "tuning":
            own -= {"participation"}
        inner = {name: change.pop(name) for name in own & change.keys()}
        task = dataclasses.replace(task, **{group: dataclasses.replace(parameters, **inner)})
    return dataclasses.replace(task, **change)
