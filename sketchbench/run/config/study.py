"""Studies: files of conf/study at one scale, as combinations of settings for the runs of a plan."""

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.base.errors import ConfigError
from sketchbench.base.parameters import choose
from sketchbench.measure.column import COLUMNS, Column
from sketchbench.run.config import chapters
from sketchbench.run.config.composition import METHODS
from sketchbench.run.config.schema import load, validate

TRIALS = "task.trials"
SECTIONS = ("axes", "set", "with")  # of a study, which a scale may change
NO_METHOD = "any"  # the method of a study that compares nothing


class StudyPoint(NamedTuple):
    """One combination of a study's axes: the option of each group of the task's config, settings by dotted key, and the
    values of the axes by their columns in tables."""

    groups: dict[str, str]
    values: dict[str, Any]
    columns: dict[str, Any]

    @property
    def overrides(self) -> list[str]:
        """The groups in the syntax of Hydra's overrides."""
        return [f"{group}@task.{group}={option}" for group, option in self.groups.items()]


class Variation(NamedTuple):
    """Settings `set`, by dotted key, for combinations with one of the values `where` in each column."""

    where: dict[str, list[Any]]
    set: Mapping[str, Any] = {}

    def matches(self, columns: Mapping[str, Any]) -> bool:
        """Return whether a combination has one of the values in each column; `method` is a column."""
        return all(columns.get(name) in values for name, values in self.where.items())


class Long(NamedTuple):
    """The hours of a study on one core, and their source."""

    hours: float
    measured: str


@dataclass(frozen=True)
class Study:
    """One file of conf/study at one scale.

    Attributes:
        kind: the group of the compared methods, a key of `METHODS`; "" for a study without methods.
        methods: the names of the methods; `all` is every file of the group, `mine` a user's own.
        needs: keys of `theory`; a method takes part if it claims at least one.
        axes, set: the values of each axis, and the settings of all runs, by dotted key or config group.
        groups: the option of each group of the task's config.
        group_axes: the axes that are config groups.
        together: the largest number of runs in one process; None: the number in the settings.
        always: whether it runs with any chosen study, on its methods, each at the first size that it takes.
        trial_runs: whether each trial is a separate run.
        variations: settings of some combinations; the first match counts.
        seed: a number added to the root seed, so that draws differ between scales.
        long: the time of its runs, if it exceeds a day on two cores.
    """

    name: str
    task: str
    kind: str
    methods: list[str]
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
    seed: int = 0
    long: Long | None = None

    def takes(self, theory: Mapping[str, Any]) -> bool:
        """Return whether a method with this `theory` takes part."""
        return not self.needs or any(theory.get(key) is not None for key in self.needs)

    def points(self, method: str) -> Iterator[StudyPoint]:
        """Yield every combination of the axes for a method, in the order of the axes."""
        for values in itertools.product(*self.axes.values()):
            axes = dict(zip(self.axes, values, strict=True))
            columns = {key.rpartition(".")[2]: value for key, value in axes.items()}
            place = {**columns, Column.METHOD: method}
            varied = next((variation.set for variation in self.variations if variation.matches(place)), {})
            groups = self.groups | {key: value for key, value in axes.items() if key in self.group_axes}
            settings = self.set | {key: value for key, value in axes.items() if key not in self.group_axes}
            yield StudyPoint(groups, settings | dict(varied), columns)


def names(conf: Path) -> list[str]:
    """The names of all studies."""
    return list(chapters.named(conf, "study"))


def read(conf: Path, name: str, scale: str, *, gpu: bool = False) -> Study:
    """Read a study at a scale, merged with the study that it is `like`, and, with `gpu`, with its settings for a GPU.
    Raises SchemaError or ConfigError, in one line that names the file, for invalid content."""
    paths = chapters.named(conf, "study")
    path = paths.get(name, conf / "study" / f"{name}.yaml")
    text = _read(path)
    if "like" in text:
        like = choose(f"{path}: like", text.pop("like"), list(paths))
        model = _read(paths[like])
        if "like" in model:
            raise ConfigError(f"{path}: like: study {like} is itself like {model['like']}; name that one")
        text = _merged(model, text)
    validate(text, "study", str(path))
    special = text.get("scales", {}).get(scale, {})
    if gpu:
        special = _merged(special, special.get("gpu", {}))
    axes, settings, groups = ({**text.get(section, {}), **special.get(section, {})} for section in SECTIONS)
    if "share" in text:  # the smallest sizes with b/d = share
        fraction = Fraction(text["share"]).limit_denominator(1000)
        axes |= {"d": [fraction.denominator], "b": [fraction.numerator]}
    columns = {key: key.rpartition(".")[2] for key in axes}
    for key in (key for key, column in columns.items() if column not in COLUMNS):
        remedy = "add it, with its meaning, to sketchbench/measure/column.py, or use `set`"
        raise ConfigError(f"{path}: axis {key} has no column; {remedy}")
    variations = tuple(Variation(**variation) for variation in special.get("variations", ()))
    try:
        for variation in variations:
            for column in variation.where:
                choose("variations: where", column, [Column.METHOD.value, *columns.values()])
            for key in sorted(axes.keys() & variation.set.keys()):
                raise ValueError(f"variations: set: {key} is an axis, whose values are under `axes`; leave it out")
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    kind = next((kind for kind in METHODS if kind in text), "")
    methods = text.get(kind, NO_METHOD)
    return Study(
        name=name,
        task=text["task"],
        kind=kind,
        methods=[methods] if isinstance(methods, str) else methods,
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
        seed=special.get("seed", 0),
        long=Long(**special["long"]) if "long" in special else None,
    )


def _read(path: Path) -> dict[str, Any]:
    text = load(path)
    if not isinstance(text, dict):
        validate(text, "study", str(path))  # raises SchemaError
    return dict(text)


def _merged(model: dict[str, Any], text: dict[str, Any]) -> dict[str, Any]:
    """Override the model by the text: mappings key by key, other values as a whole."""
    merged = copy.deepcopy(model)
    for key, value in text.items():
        nested = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if nested else value
    return merged
