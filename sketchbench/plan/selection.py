"""Which methods a study compares, a user's own among them, and where the results go."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sketchbench.config.composition import METHODS, YAML
from sketchbench.config.study import Study
from sketchbench.files import display_path
from sketchbench.measure.column import CONTROLS
from sketchbench.parameters import choose
from sketchbench.theory.known import ALWAYS

ALL, MINE = "all", "mine"  # in a study's list: all methods of its kind, a user's among them; and a user's alone
Own = Mapping[str, Mapping[str, Mapping[str, Any]]]
NAMED = {"tails": "lemma", "inner_products": "case"}  # studies of what a config claims by names: the column of these


class Places(NamedTuple):
    """The folders of a run's records, logs, and reports."""

    results: str
    logs: str
    reports: str


def places_of(scale: str, user: Path | None, apart: bool) -> Places:
    """Where a run writes. With a folder of one's own reports go there, and `apart` from others' all the rest, too."""
    # The quick scale is the one whose reports are committed, at the top.
    shared = Places(f"results/{scale}", f"logs/{scale}", "reports" if scale == "quick" else f"reports/{scale}")
    if user is None:
        return shared
    own = Places(*(f"{display_path(user)}/{name}/{scale}" for name in Places._fields))
    return own if apart else shared._replace(reports=own.reports)


@dataclass(frozen=True)
class Selection:
    """Which methods run.

    Attributes:
        ours: all of the project's by kind.
        own: the user's by kind, each with the `theory` of its config, if it has one.
        beside: those of ours, by kind, that the user's own are compared with; None: all methods of all studies.
        needed: with `beside`, by study what claims on the user's methods hold these against.
    """

    ours: Mapping[str, Sequence[str]]
    own: Own
    beside: Mapping[str, Sequence[str]] | None = None
    needed: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def left_out(self, study: Study) -> str | None:
        """Why a study is left out, or None."""
        if self.beside is None or study.name in self.needed:
            return None
        if not _takes_up(study):
            return "only=mine: it compares a fixed list of methods"
        asked = f" that claims {' or '.join(study.needs)} under `theory`" if study.needs else ""
        return f"only=mine: the folder has no {study.kind}{asked}"

    def methods(self, study: Study) -> list[str]:
        """The methods of a study that is not left out, each once."""
        listed = [study.methods] if isinstance(study.methods, str) else study.methods
        if self.beside is None:
            meant = {ALL: [*self.ours.get(study.kind, ()), *self.own.get(study.kind, ())], MINE: self._own(study)}
            named = [method for name in listed for method in (sorted(meant[name]) if name in meant else [name])]
            return list(dict.fromkeys(named))
        chosen = [name for name in listed if name.startswith(CONTROLS)]
        chosen += [name for name in self.needed.get(study.name, ()) if name in listed or ALL in listed]
        if _takes_up(study):
            chosen += [*self._own(study), *(n for n in self._beside(study) if ALL in listed or n in listed)]
        chosen = chosen or [name for name in listed if name in self._beside(study)] or list(listed)
        return list(dict.fromkeys(chosen))

    def _own(self, study: Study) -> Sequence[str]:
        return sorted(self.own.get(study.kind, ()))

    def _beside(self, study: Study) -> Sequence[str]:
        return (self.beside or {}).get(study.kind, ())


def selection_of(
    studies: Sequence[Study], conf: Path, own: Own, beside: Mapping[str, Sequence[str]] | None
) -> Selection:
    """What runs of these studies; the arguments are those of `Selection`.

    Raises:
        ValueError: for a method in `beside` that is not one of the project's.
    """
    ours = {kind: sorted(path.stem for path in (conf / kind).glob("*.yaml")) for kind in METHODS}
    if beside is None:
        return Selection(ours, own)
    for kind, names in beside.items():
        for name in names:
            choose(f"beside: {kind}", name, ours[kind])
    taking = {
        study.name
        for study in studies
        if _takes_up(study) and any(study.takes(theory) for theory in own.get(study.kind, {}).values())
    }
    kinds = {study.name: study.kind for study in studies}
    needed = {name: methods for name, methods in _needed(conf, taking).items() if name in kinds}
    for study in studies:
        if study.always and study.name in needed:  # verdicts on negative controls rest on the contract, too
            methods = {method for name, found in needed.items() if kinds[name] == study.kind for method in found}
            needed[study.name] = sorted(method for method in methods if not method.startswith(CONTROLS))
    return Selection(ours, own, beside, needed)


def _takes_up(study: Study) -> bool:
    """Whether a user's methods are in it."""
    return bool({ALL, MINE} & set([study.methods] if isinstance(study.methods, str) else study.methods))


def _needed(conf: Path, taking: set[str]) -> dict[str, list[str]]:
    """The studies that take up a user's methods, and all others of the claims that judge them there, each with the
    methods that are their negative controls."""
    from sketchbench.report.claim.control import read_controls  # half a second that other plans do without

    needed: dict[str, list[str]] = {name: [] for name in taking}
    for claim in _claims(conf):
        checked = {study for check in claim["checks"] for study in check.get("studies", claim["studies"])}
        if not checked & taking:
            continue
        controls = read_controls(claim.get("negative_control", {}))
        for study in checked.union(*(control.studies for control in controls.values())):
            needed.setdefault(study, [])
        if (control := controls.get("default")) and control.method:
            for study in control.studies or checked:
                needed[study].append(control.method)
    return needed


def _claims(conf: Path) -> Iterator[dict[str, Any]]:
    """The claims that are about methods which they don't name. Checked for form where they are judged."""
    for path in sorted((conf / "claim").glob("*.yaml")):
        content = yaml.load(path.read_text(encoding="utf-8"), YAML)
        if isinstance(content, dict) and "methods" not in content and {"checks", "studies"} <= content.keys():
            yield content


def unjudged(conf: Path, theory: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What of a config's `theory` no claim reads: the study that measures it, the key, and what to do about it."""
    for study, column in NAMED.items():
        claimed = theory.get(study) or {}
        names: list[str] = []
        for claim in _claims(conf) if claimed else ():
            for check in claim["checks"]:
                if study in check.get("studies", claim["studies"]):
                    values = check["where"].get(column, [])
                    names += values if isinstance(values, list) else [values]
        for name in claimed:
            if name not in names and name != ALWAYS:
                known = ", ".join(sorted(set(names)))
                yield study, f"{study}.{name}", f"no claim reads a name like this; one of {known} would be judged"
