"""Errata: false statements of the papers, each with the smallest known counterexample and the true statement."""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sketchbench.config import schema
from sketchbench.parameters import choose
from sketchbench.report.claim.claims import Claim, ClaimError

Relation = Literal["at most", "at least", "exactly"]
Kind = Literal["wrong", "vacuous", "contradictory", "misprint"]

HOLDS: dict[Relation, Callable[[float, float], bool]] = {
    "at most": operator.le,
    "at least": operator.ge,
    "exactly": operator.eq,
}


@dataclass(frozen=True)
class Counterexample:
    """A case in which the print and the truth are two numbers.

    Attributes:
        statement: the case, and what the numbers are of.
        relation: how the print relates the number to its own: `at most` that.
        printed: the print's own number, infinite where it allows none.
        measured: the number as it is, computed exactly; a number with a point is to the digits given.
    """

    statement: str
    relation: Relation
    printed: float
    measured: float

    @property
    def refutes(self) -> bool:
        """Whether the numbers contradict the print."""
        return not HOLDS[self.relation](self.measured, self.printed)


@dataclass(frozen=True)
class Erratum:
    """One file of conf/erratum.

    Attributes:
        id: its name, also that of the file.
        paper, place: where it is printed.
        kind: `wrong`; `vacuous`, true of nothing; `contradictory`, to another place; `misprint`, plainly not meant.
        printed: the statement as printed, in our words.
        why: why it is not so.
        corrected: what is true instead.
        claims: the claims that measure the one or the other.
        counterexample: None only for a misprint that changes no number.
    """

    id: str
    paper: str
    place: str
    kind: Kind
    printed: str
    why: str
    corrected: str
    claims: tuple[str, ...]
    counterexample: Counterexample | None = None


def read_errata(paths: Iterable[Path], claims: Iterable[Claim]) -> list[Erratum]:
    """The errata of these files, in order of their names.

    Arguments:
        paths: the files.
        claims: all claims.

    Raises:
        SchemaError: in one line, for a file that does not fit the schema.
        ClaimError: in one line, for a file that has not the name of its erratum, names a claim that is not there, or
            has a counterexample that agrees with the print.
    """
    known = [claim.id for claim in claims]
    errata = []
    for path in sorted(paths):
        content = schema.read(path, "erratum")
        case = content.pop("counterexample", None)
        counterexample = Counterexample(**case) if case else None
        erratum = Erratum(**{**content, "claims": tuple(content["claims"]), "counterexample": counterexample})
        try:
            _check(erratum, path.stem, known)
        except ValueError as error:
            raise ClaimError(f"{path}: {error}") from None
        errata.append(erratum)
    return errata


def _check(erratum: Erratum, name: str, known: list[str]) -> None:
    """ValueError for what a schema can't say."""
    if erratum.id != name:
        raise ValueError(f"id {erratum.id} must be the file's name")
    for claim in erratum.claims:
        choose("claim", claim, known)
    case = erratum.counterexample
    if case and not case.refutes:
        raise ValueError(f"measured={case.measured:g} must not be {case.relation} the printed {case.printed:g}")
