"""Studies: conf/study read, with the settings of a scale, as the combinations that a plan makes runs of."""

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.config.composition import METHODS
from sketchbench.config.schema import load, validate
from sketchbench.errors import ConfigError
from sketchbench.measure.column import COLUMNS, Column
from sketchbench.parameters import choose

TRIALS = "task.trials"
PARTS = ("axes", "set", "with")  # what a scale may change
NO_METHOD = "any"  # of a study that compares nothing


class Point(NamedTuple):
    """One combination of a study's axes.

    parts: groups of the task with their options; values: settings by dotted key; columns: the axes by the names
    that they have in tables; trials: how many of it are runs of their own; None: none is, and `values` say how many
    there are.
    """

    parts: dict[str, str]
    values: dict[str, Any]
    columns: dict[str, Any]
    trials: int | None


class Some(NamedTuple):
    """What is otherwise in some combinations: those with one of these values in each of the columns, of which `method`
    is one. trials: how many are made of them, 0 for none; None: as many as of the others. set: settings by dotted key.
    """

    where: dict[str, list[Any]]
    trials: int | None = None
    set: Mapping[str, Any] = {}

    def meets(self, columns: Mapping[str, Any]) -> bool:
        """Whether a combination is one of them."""
        return all(columns.get(name) in values for name, values in self.where.items())


ALL_THE_SAME = Some({})


class Long(NamedTuple):
    """What the runs of a study take: hours of one processor core, and what this number is from."""

    hours: float
    measured: str


@dataclass(frozen=True)
class Study:
    """One file of conf/study at one scale.

    kind: the group of the methods that it compares, a key of `METHODS`, or "" for none. methods: their names,
    `all` for every file of the group. scales: those that it is for. needs: what a sketch's config must claim under
    `theory`, one of these at least. groups: the config groups that an axis may name. together: how many of its runs
    share a process at most; None: as many as those of other studies. always: whether it is run, of the methods that the
    chosen studies have, when it is not chosen itself, and of each method at the first size that it takes. trials:
    how many trials there are, each of them a run of its own; None: they are as many as `set` says, in one run. some:
    what is otherwise in some combinations; the first that is met counts. long: what it takes, where that is more than a
    day of two processor cores; None where it is less.
    """

    name: str
    task: str
    kind: str
    methods: list[str] | str
    scales: tuple[str, ...]
    needs: tuple[str, ...]
    axes: dict[str, list[Any]]
    set: dict[str, Any]
    parts: dict[str, str]
    groups: frozenset[str] = field(default=frozenset())
    together: int | None = None
    always: bool = False
    trials: int | None = None
    some: tuple[Some, ...] = ()
    long: Long | None = None

    def asks_for(self, theory: Mapping[str, Any]) -> bool:
        """Whether a method with this `theory` is one that it is for."""
        return not self.needs or any(theory.get(key) is not None for key in self.needs)

    def points(self, method: str) -> Iterator[Point]:
        """Every combination of the axes for a method, in their order."""
        for chosen in itertools.product(*self.axes.values()):
            axes = dict(zip(self.axes, chosen, strict=True))
            columns = {key.rpartition(".")[2]: value for key, value in axes.items()}
            some = next((some for some in self.some if some.meets({**columns, Column.METHOD: method})), ALL_THE_SAME)
            parts = self.parts | {key: value for key, value in axes.items() if key in self.groups}
            values = self.set | {key: value for key, value in axes.items() if key not in self.groups}
            yield Point(parts, values | dict(some.set), columns, self.trials if some.trials is None else some.trials)


def names(conf: Path) -> list[str]:
    """The names of all studies."""
    return sorted(path.stem for path in (conf / "study").glob("*.yaml"))


def read(conf: Path, name: str, scale: str, *, gpu: bool = False) -> Study:
    """A study, with what it takes from the one that it is `like`, with the settings of its scale, and with those that
    it has there for a GPU, which does in minutes what takes a processor days.

    Raises:
        SchemaError, ConfigError: in one line that names the file, for what does not fit.
    """
    path = conf / "study" / f"{name}.yaml"
    text = _read(path)
    if "like" in text:
        text = _merged(_model(path, text.pop("like")), text)
    validate(text, "study", str(path))
    special = text.get("scales", {}).get(scale, {})
    if gpu:
        special = _merged(special, special.get("gpu", {}))
    axes, settings, parts = ({**text.get(part, {}), **special.get(part, {})} for part in PARTS)
    if "share" in text:
        axes |= _sizes(text["share"])
    groups = frozenset(key for key in axes if (conf / key).is_dir())
    for key in axes:
        if key.rpartition(".")[2] not in COLUMNS:
            raise ConfigError(
                f"{path}: axis {key} has no column; add it, with its meaning, to sketchbench/measure/column.py,"
                " or use `set`"
            )
    some = tuple(Some(**some) for some in special.get("some", ()))
    told_apart = [Column.METHOD.value, *(key.rpartition(".")[2] for key in axes)]
    for column in (column for each in some for column in each.where):
        try:
            choose("some: where", column, told_apart)
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from None
    if twice := sorted(axes.keys() & {key for each in some for key in each.set}):
        raise ConfigError(f"{path}: some: set: {twice[0]} is an axis, whose values are under `axes`; leave it out")
    kind = next((kind for kind in METHODS if kind in text), "")
    return Study(
        name=name,
        task=text["task"],
        kind=kind,
        methods=text.get(kind, [NO_METHOD]),
        scales=tuple(text.get("only", (scale,))),
        needs=tuple(text.get("needs", ())),
        axes=axes,
        set=settings,
        parts=parts,
        groups=groups,
        together=text.get("together"),
        always=text.get("always", False),
        trials=special.get("trials"),
        some=some,
        long=Long(**special["long"]) if "long" in special else None,
    )


def _read(path: Path) -> dict[str, Any]:
    text = load(path)
    if not isinstance(text, dict):
        validate(text, "study", str(path))  # which refuses it
    return dict(text)


def _model(path: Path, name: Any) -> dict[str, Any]:
    """The study that another one is like; one that is itself like another would hide what a reader looks for."""
    text = _read(path.with_name(f"{choose(f'{path}: like', name, names(path.parents[1]))}.yaml"))
    if "like" in text:
        raise ConfigError(f"{path}: like: study {name} is itself like {text['like']}; name that one")
    return text


def _merged(model: dict[str, Any], text: dict[str, Any]) -> dict[str, Any]:
    """The model with what the text says instead: mappings key by key, all else as a whole."""
    merged = copy.deepcopy(model)
    for key, value in text.items():
        nested = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if nested else value
    return merged


def _sizes(share: float) -> dict[str, list[int]]:
    """The smallest d and b with b/d = share, for what depends on the share only."""
    fraction = Fraction(share).limit_denominator(1000)
    return {"d": [fraction.denominator], "b": [fraction.numerator]}
