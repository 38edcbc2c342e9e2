"""Claims, read from conf/claim and checked."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from sketchbench.base.parameters import choose
from sketchbench.measure.column import COLUMNS, CONTROLS
from sketchbench.report.claim.control import KINDS, NegativeControl, read_controls
from sketchbench.report.claim.formula import check_formula
from sketchbench.report.claim.verdict import CONFIRMED, NEEDS, CriterionSettings, Verdict
from sketchbench.run.config import schema
from sketchbench.run.config.chapters import entries_of

Entry = TypeVar("Entry")
Role = Literal["printed", "corrected", "ours", "control", "contract"]
NOTHING = "nothing"  # is predicted where a claim says nothing, and of a user's own methods
ANY = "any"  # of times, which differ from machine to machine: no verdict is predicted, and none is compared


class ClaimError(ValueError):
    """A claim that can't be evaluated as written; the message is for the user."""


@dataclass(frozen=True)
class Check:
    """One criterion of a claim, applied to rows of some studies.

    Attributes:
        criterion: a name in CRITERIA.
        where: the values, by column, of the rows that it is applied to.
        studies: the studies of these rows.
        settings: the settings of the criterion.
    """

    criterion: str
    where: Mapping[str, Any]
    studies: tuple[str, ...]
    settings: CriterionSettings


class Prediction(NamedTuple):
    """What was predicted of a claim at a scale, before its first run; nobody edits it after one.

    Attributes:
        predicted: the verdict by method, `default` for all others; empty where nothing was predicted.
        predicted_on: the day, by method likewise, as `2026-11-21`; empty where it is not known.
        reason: what was chosen where the paper leaves a choice, and why the verdict is what it is.
        not_run: whether its runs are left out at this scale.
    """

    predicted: Mapping[str, Verdict]
    predicted_on: Mapping[str, str]
    reason: str
    not_run: bool = False

    def of(self, method: str) -> str:
        """The verdict that was predicted for a method, or `NOTHING`."""
        return self.predicted.get(method, self.predicted.get("default", NOTHING))

    def day(self, method: str) -> str:
        """The day of the prediction for a method; "" where it is not known."""
        return self.predicted_on.get(method, self.predicted_on.get("default", ""))


@dataclass(frozen=True)
class Claim:
    """One entry of conf/claim; it holds where all its checks do.

    Attributes:
        id: the name of the file, or the name in a family's file, which begins with the file's.
        paper, place: where it is stated.
        statement: what is claimed, in words and formulas.
        words: the same without formulas; "" where the statement has none.
        formula: the same in symbols, as LaTeX; "" where it is none. Verdicts do not depend on it.
        dataset: what the studies compute with, in words.
        checks: what must hold.
        role: `printed`: in the words of the paper; `corrected`: what is true instead, or where it is; `ours`: beyond
            the papers; `control`: what no paper claims, and is measured for comparison; `contract`: what a method must
            keep, or it has no other verdicts (see `gate`).
        predicted, predicted_on, reason: see `Prediction`.
        on_times: whether it is about times, which differ from machine to machine.
        methods: the methods (sketches, recoveries) that it is about; None: all but the controls.
        left_out: methods that it is not about.
        may_lack: values by column that a method may have no rows for, such as the lemma of another family.
        controls: the negative controls by method, `default` for all others; a method without one has none yet.
        near_misses: likewise, of controls that violate the hypothesis by a factor of 2 to 4 only.
        scales: by the name of a scale, what was predicted there, and the reason.
        stand_ins: the scales at which data or network are a small stand-in for the setting that it speaks of.
        attacks: the attacks that were tried, of a claim that no attack succeeds. They can refute it and never prove
            it, so that it is at best `not refuted`.
    """

    id: str
    paper: str
    place: str
    statement: str
    dataset: str
    checks: tuple[Check, ...]
    role: Role
    predicted: Mapping[str, Verdict] = field(default_factory=dict)
    predicted_on: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    on_times: bool = False
    words: str = ""
    formula: str = ""
    methods: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    may_lack: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    controls: Mapping[str, NegativeControl] = field(default_factory=dict)
    near_misses: Mapping[str, NegativeControl] = field(default_factory=dict)
    scales: Mapping[str, Prediction] = field(default_factory=dict)
    stand_ins: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()

    def at(self, scale: str) -> Prediction:
        """What was predicted at a scale."""
        return self.scales.get(scale, Prediction(self.predicted, self.predicted_on, self.reason))

    def predicted_of(self, method: str, scale: str) -> str:
        """What the table of verdicts says was predicted: a verdict, `NOTHING`, or `ANY` of times. A prediction that a
        claim holds is as good as `not refuted` if attacks judge it."""
        told = ANY if self.on_times else self.at(scale).of(method)
        return "not refuted" if self.attacks and told in CONFIRMED else told

    @property
    def tried(self) -> str:
        """The attacks that were tried, in a sentence; "" for a claim that no attack judges."""
        names = "; ".join(self.attacks)
        return f"Attacks tried: {names}. They may refute the claim, and can't prove it." if names else ""

    @property
    def studies(self) -> list[str]:
        """The studies of all checks and of the controls, in alphabetical order."""
        both = (*self.controls.values(), *self.near_misses.values())
        controls = {study for control in both for study in control.studies}
        return sorted(controls | {study for check in self.checks for study in check.studies})

    def is_about(self, method: str) -> bool:
        """Whether there is to be a verdict on this method."""
        if self.methods is not None:
            return method in self.methods
        return method not in self.left_out and not method.startswith(CONTROLS)

    def role_of(self, method: str) -> Role:
        """The role of the verdict on a method."""
        return "control" if method.startswith(CONTROLS) else self.role

    def controls_of(self, method: str) -> dict[str, NegativeControl | None]:
        """The controls of a method by kind, `negative_control` and `near_miss`; None where it has none yet, and for
        what is a control itself."""
        kinds = zip(KINDS, (self.controls, self.near_misses), strict=True)
        found = {kind: controls.get(method, controls.get("default")) for kind, controls in kinds}
        unfit = self.role_of(method) == "control"
        return {kind: None if unfit or not one or one.selects_only(method) else one for kind, one in found.items()}


def read_claims(paths: Iterable[Path]) -> list[Claim]:
    """Return the claims of these files, in order of their ids.

    A file holds one claim, with the file's name as its `id`, or a family: S15.yaml holds `S15-exact: ...` and
    `S15-order: ...`, and under `shared` the keys that all of them have.

    Raises:
        SchemaError: in one line, for a file that does not fit the schema.
        ClaimError: in one line, for an unknown criterion or column, an id that does not fit the file's name, and an
            id that two files have.
    """
    return sorted(read_files(paths, "claim", _claim), key=lambda claim: _order(claim.id))


def read_files(paths: Iterable[Path], schema_name: str, make: Callable[[dict[str, Any]], Entry]) -> list[Entry]:
    """What `make` makes of each entry of the files.

    Raises SchemaError for an entry that does not fit the schema; ClaimError for its id (see `read_claims`) and for a
    ValueError of `make`.
    """
    entries: dict[str, Entry] = {}
    for path in paths:
        for place, content in entries_of(path, schema.load(path)):
            schema.validate(content, schema_name, place)
            name = content["id"]
            if place == str(path) and name != path.stem:
                raise ClaimError(f"{path}: id {name} must be the file's name")
            if name in entries:
                raise ClaimError(f"{path}: id {name} is another file's, too; choose another")
            try:
                entries[name] = make(content)
            except ValueError as error:
                raise ClaimError(f"{place}: {error}") from None
    return list(entries.values())


def _order(name: str) -> tuple[str, int, str]:
    """S2 before S2x before S10."""
    digits = re.sub(r"\D", "", name[1:].partition("-")[0])
    return name[0], int(digits or 0), name


def _claim(content: dict[str, Any]) -> Claim:
    """The claim of a file's content; ValueError for an unknown criterion or column, and a formula that can't be."""
    if "formula" in content:
        check_formula(content["formula"])
    studies, general = content.pop("studies"), _prediction(content)
    scales = {name: _prediction({**general, **one}) for name, one in content.pop("scales", {}).items()}
    parts: dict[str, Any] = {
        **general,
        "checks": tuple(_check(check, studies) for check in content["checks"]),
        "controls": read_controls(content.pop("negative_control", {})),
        "near_misses": read_controls(content.pop("near_miss", {})),
        "scales": {name: Prediction(**one) for name, one in scales.items()},
    }
    parts |= {name: tuple(content[name]) for name in ("methods", "left_out", "stand_ins", "attacks") if name in content}
    return Claim(**{**content, **parts})


def _prediction(content: dict[str, Any]) -> dict[str, Any]:
    """The keys of a prediction in a part of a file, each by method."""
    keys = {name: content.get(name, {}) for name in ("predicted", "predicted_on")}
    both = {name: told if isinstance(told, dict) else {"default": told} for name, told in keys.items()}
    more = {name: content[name] for name in ("not_run",) if name in content}
    return {**both, "reason": content.get("reason", ""), **more}


def _check(content: dict[str, Any], studies: list[str]) -> Check:
    """The check of a part of a file, whose claim has these studies; ValueError as above."""
    choose("criterion", content["criterion"], NEEDS)
    for column in content["where"]:
        choose("column", column, COLUMNS)
    settings = CriterionSettings(**{name: content[name] for name in ("margin", "over") if name in content})
    choose("over", settings.over, COLUMNS)
    return Check(content["criterion"], content["where"], tuple(content.get("studies", studies)), settings)


def check_studies(claims: list[Claim], known: Iterable[str]) -> None:
    """Raise ClaimError for a claim that names a study which does not exist."""
    names = sorted(known)
    for claim in claims:
        for study in claim.studies:
            try:
                choose("study", study, names)
            except ValueError as error:
                raise ClaimError(f"{claim.id}: {error}") from None
