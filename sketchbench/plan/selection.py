"""The methods of a study, including a user's own, and the folders of results."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sketchbench.base.errors import ConfigError
from sketchbench.base.files import display_path
from sketchbench.base.parameters import choose
from sketchbench.measure.column import CONTROLS
from sketchbench.run.config.chapters import entries_of, files
from sketchbench.run.config.composition import METHODS
from sketchbench.run.config.schema import YAML
from sketchbench.run.config.study import Study
from sketchbench.theory.known import ALWAYS

ALL, MINE = "all", "mine"  # in a study's list: all methods of its kind, with the user's; the user's alone
Methods = Mapping[str, Sequence[str]]  # names of methods by kind, or by study
Own = Mapping[str, Mapping[str, Mapping[str, Any]]]
NAMED = {"tails": "lemma", "inner_products": "case"}  # keys of `theory` that claim by names: the column of a name


class Places(NamedTuple):
    """The folders of records, logs, and reports."""

    results: str
    logs: str
    reports: str


def places_of(scale: str, user: Path | None, apart: bool) -> Places:
    """Return the folders of a plan. Reports on a user's folder go there; with `apart`, also records and logs."""
    # The reports of the quick scale are committed, at the top.
    shared = Places(f"results/{scale}", f"logs/{scale}", "reports" if scale == "quick" else f"reports/{scale}")
    if user is None:
        return shared
    own = Places(*(f"{display_path(user)}/{name}/{scale}" for name in Places._fields))
    if re.search("[{}\n\ud800-\udfff]", own.results):
        raise ConfigError(f"folder {user}: Snakemake takes no path with {{, }}, line breaks or broken UTF-8; rename it")
    return own if apart else shared._replace(reports=own.reports)


@dataclass(frozen=True)
class Selection:
    """The methods of each study.

    Attributes:
        ours: the project's methods by kind.
        own: the user's methods by kind, each with the `theory` of its config.
        beside: the reference methods of the project, by kind; None: all methods of all studies.
        needed: with `beside`, the negative controls for the claims on the user's methods, by study.
    """

    ours: Methods
    own: Own
    beside: Methods | None = None
    needed: Methods = field(default_factory=dict)

    def left_out(self, study: Study) -> str | None:
        """The reason why a study is left out; None if it takes part."""
        if self.beside is None or study.name in self.needed:
            return None
        if not _takes_up(study):
            return "only=mine: it compares a fixed list of methods"
        claiming = f" that claims {' or '.join(study.needs)} under `theory`" if study.needs else ""
        return f"only=mine: the folder has no {study.kind}{claiming}"

    def methods(self, study: Study) -> list[str]:
        """The methods of a study that takes part, without duplicates."""
        listed, own = study.methods, sorted(self.own.get(study.kind, ()))
        if self.beside is None:
            lists = {ALL: sorted([*self.ours.get(study.kind, ()), *own]), MINE: own}
            return list(dict.fromkeys(method for name in listed for method in lists.get(name, [name])))
        beside = self.beside.get(study.kind, ())
        chosen = [name for name in listed if name.startswith(CONTROLS)]
        chosen += [name for name in self.needed.get(study.name, ()) if name in listed or ALL in listed]
        if _takes_up(study):
            chosen += [*own, *(name for name in beside if name in listed or ALL in listed)]
        return list(dict.fromkeys(chosen or [name for name in listed if name in beside] or listed))


def selection_of(studies: Sequence[Study], conf: Path, own: Own, beside: Methods | None) -> Selection:
    """Return the methods of studies; `own` and `beside` are attributes of `Selection`. Raises ValueError for a method
    in `beside` that the project lacks."""
    ours = {kind: sorted(path.stem for path in (conf / kind).glob("*.yaml")) for kind in METHODS}
    if beside is None:
        return Selection(ours, own)
    for kind, names in beside.items():
        for name in names:
            choose(f"beside: {kind}", name, ours[kind])
    taking = {one.name for one in studies if _takes_up(one) and any(map(one.takes, own.get(one.kind, {}).values()))}
    kinds = {study.name: study.kind for study in studies}
    needed = {name: methods for name, methods in _needed(conf, taking).items() if name in kinds}
    for study in studies:
        if study.always and study.name in needed:  # verdicts on negative controls rest on the contract, too
            methods = {method for name, several in needed.items() if kinds[name] == study.kind for method in several}
            needed[study.name] = sorted(method for method in methods if not method.startswith(CONTROLS))
    return Selection(ours, own, beside, needed)


def _takes_up(study: Study) -> bool:
    """Return whether a user's methods take part in a study."""
    return not {ALL, MINE}.isdisjoint(study.methods)


def _needed(conf: Path, taking: set[str]) -> dict[str, list[str]]:
    """Return the negative controls for the claims on a user's methods, by study: the studies `taking` the methods, and
    all other studies of these claims."""
    from sketchbench.report.claim.control import KINDS, read_controls  # half a second that other plans do without

    needed: dict[str, list[str]] = {name: [] for name in taking}
    for claim in _claims(conf):
        checked = {study for check in claim["checks"] for study in check.get("studies", claim["studies"])}
        if checked & taking:
            for controls in (read_controls(claim.get(kind, {})) for kind in KINDS):
                for study in checked.union(*(control.studies for control in controls.values())):
                    needed.setdefault(study, [])
                if (control := controls.get("default")) and control.method:
                    for study in control.studies or checked:
                        needed[study].append(control.method)
    return needed


def _claims(conf: Path) -> Iterator[dict[str, Any]]:
    """Yield the claims that name no methods. Judging checks their form."""
    whole = ((path, yaml.load(path.read_text(encoding="utf-8"), YAML)) for path in files(conf, "claim"))
    for _, content in itertools.chain.from_iterable(itertools.starmap(entries_of, whole)):
        if isinstance(content, dict) and "methods" not in content and {"checks", "studies"} <= content.keys():
            yield content


def unjudged(conf: Path, theory: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each name in a config's `theory` that no claim reads: its study, its key, and the remedy."""
    for study, column in NAMED.items():
        claimed, names = theory.get(study) or {}, set()
        for claim in _claims(conf) if claimed else ():
            for check in claim["checks"]:
                if study in check.get("studies", claim["studies"]):
                    values = check["where"].get(column, [])
                    names |= set(values if isinstance(values, list) else [values])
        for name in claimed:
            if name not in names and name != ALWAYS:
                reason = f"no claim reads this name; choose one of {', '.join(sorted(names))}"
                yield study, f"{study}.{name}", reason
