"""Studies: files of conf/study with the settings of one scale, as combinations of which a plan makes runs."""

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.config.composition import METHODS
from sketchbench.config.schema import load, validate
from sketchbench.errors import ConfigError
from sketchbench.measure.column import COLUMNS, Column
from sketchbench.parameters import choose

TRIALS = "task.trials"
SECTIONS = ("axes", "set", "with")  # of a study, which a scale may change
NO_METHOD = "any"  # the method of a study that compares nothing


class Point(NamedTuple):
    """One combination of a study's axes.

    Attributes:
        groups: groups of the task's config, each with the option to take.
        values: settings, by dotted key.
        columns: the values of the axes, by their columns in tables.
    """

    groups: dict[str, str]
    values: dict[str, Any]
    columns: dict[str, Any]


class Variation(NamedTuple):
    """Settings `set`, by dotted key, of the combinations that `where` matches: the values to match, by column."""

    where: dict[str, list[Any]]
    set: Mapping[str, Any] = {}

    def matches(self, columns: Mapping[str, Any]) -> bool:
        """Whether a combination has one of the values in each column; `method` is a column, too."""
        return all(columns.get(name) in values for name, values in self.where.items())


class Long(NamedTuple):
    """The time that the runs of a study take: hours of one processor core, and the measurement behind this number."""

    hours: float
    measured: str


@dataclass(frozen=True)
class Study:
    """One file of conf/study at one scale.

    Attributes:
        kind: the group of the methods that it compares, a key of `METHODS`; "" for a study without methods.
        methods: the names of its methods, or `all` for every file of the group.
        scales: the scales that have it.
        needs: keys of a method's `theory`, of which a method must claim one at least to take part.
        axes: the values of each axis, by dotted key or config group.
        set: settings of all runs, by dotted key.
        groups: groups of the task's config, each with the option to take.
        group_axes: the axes that are config groups.
        together: the largest number of its runs in one process; None: the number that settings give.
        always: whether it is run with any studies that are chosen, on their methods, and on each method at the first
            size that this method takes.
        trial_runs: whether each trial is a run of its own.
        variations: settings of some combinations; the first that matches counts.
        long: the time that its runs take, where that is more than a day of two processor cores.
    """

    name: str
    task: str
    kind: str
    methods: list[str] | str
    scales: tuple[str, ...]
    needs: tuple[str, ...]
    axes: dict[str, list[Any]]
    set: dict[str, Any]
    groups: dict[str, str]
    group_axes: frozenset[str] = frozenset()
    together: int | None = None
    always: bool = False
    trial_runs: bool = False
    variations: tuple[Variation, ...] = ()
    long: Long | None = None

    def takes(self, theory: Mapping[str, Any]) -> bool:
        """Whether a method with this `theory` takes part."""
        return not self.needs or any(theory.get(key) is not None for key in self.needs)

    def points(self, method: str) -> Iterator[Point]:
        """Every combination of the axes for a method, in the order of the axes."""
        for values in itertools.product(*self.axes.values()):
            axes = dict(zip(self.axes, values, strict=True))
            columns = {key.rpartition(".")[2]: value for key, value in axes.items()}
            place = {**columns, Column.METHOD: method}
            varied = next((variation.set for variation in self.variations if variation.matches(place)), {})
            groups = self.groups | {key: value for key, value in axes.items() if key in self.group_axes}
            settings = self.set | {key: value for key, value in axes.items() if key not in self.group_axes}
            yield Point(groups, settings | dict(varied), columns)


def names(conf: Path) -> list[str]:
    """The names of all studies."""
    return sorted(path.stem for path in (conf / "study").glob("*.yaml"))


def read(conf: Path, name: str, scale: str, *, gpu: bool = False) -> Study:
    """A study at a scale, with what it takes from the study that it is `like`.

    Arguments:
        conf: the folder of all configs.
        name: of the study.
        scale: a key of its `scales`, or another scale, at which nothing differs.
        gpu: whether to apply the settings for a GPU, which does in minutes what takes a processor days.

    Raises:
        SchemaError, ConfigError: in one line that names the file, for content that does not fit.
    """
    path = conf / "study" / f"{name}.yaml"
    text = _read(path)
    if "like" in text:
        text = _merged(_model(path, text.pop("like")), text)
    validate(text, "study", str(path))
    special = text.get("scales", {}).get(scale, {})
    if gpu:
        special = _merged(special, special.get("gpu", {}))
    axes, settings, groups = ({**text.get(section, {}), **special.get(section, {})} for section in SECTIONS)
    if "share" in text:
        axes |= _sizes(text["share"])
    columns = [key.rpartition(".")[2] for key in axes]
    for key, column in zip(axes, columns, strict=True):
        if column not in COLUMNS:
            raise ConfigError(
                f"{path}: axis {key} has no column; add it, with its meaning, to sketchbench/measure/column.py,"
                " or use `set`"
            )
    variations = tuple(Variation(**variation) for variation in special.get("variations", ()))
    for variation in variations:
        _check_variation(path, variation, axes, [Column.METHOD.value, *columns])
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
        groups=groups,
        group_axes=frozenset(key for key in axes if (conf / key).is_dir()),
        together=text.get("together"),
        always=text.get("always", False),
        trial_runs="trials" in special,
        variations=variations,
        long=Long(**special["long"]) if "long" in special else None,
    )


def _check_variation(path: Path, variation: Variation, axes: Mapping[str, Any], columns: list[str]) -> None:
    """Raise ConfigError for a variation by an unknown column, or of the value of an axis."""
    for column in variation.where:
        try:
            choose("variations: where", column, columns)
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from None
    for key in sorted(axes.keys() & variation.set.keys()):
        raise ConfigError(f"{path}: variations: set: {key} is an axis, whose values are under `axes`; leave it out")


def _read(path: Path) -> dict[str, Any]:
    text = load(path)
    if not isinstance(text, dict):
        validate(text, "study", str(path))  # raises SchemaError
    return dict(text)


def _model(path: Path, name: Any) -> dict[str, Any]:
    """The text of the study that another study is `like`; a chain of these is refused, which nobody could follow."""
    text = _read(path.with_name(f"{choose(f'{path}: like', name, names(path.parents[1]))}.yaml"))
    if "like" in text:
        raise ConfigError(f"{path}: like: study {name} is itself like {text['like']}; name that one")
    return text


def _merged(model: dict[str, Any], text: dict[str, Any]) -> dict[str, Any]:
    """The model, overridden by the text: mappings key by key, other values as a whole."""
    merged = copy.deepcopy(model)
    for key, value in text.items():
        nested = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if nested else value
    return merged


def _sizes(share: float) -> dict[str, list[int]]:
    """The smallest sizes with b/d = share."""
    fraction = Fraction(share).limit_denominator(1000)
    return {"d": [fraction.denominator], "b": [fraction.numerator]}
