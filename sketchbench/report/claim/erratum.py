"""Errata: false statements of the papers, each with the smallest known counterexample and the true statement."""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sketchbench.parameters import choose
from sketchbench.report.claim.claims import Claim, read_files

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
        id: the name of the file.
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
    """The errata of these files, in order of their names; `claims` are all claims.

    Raises, in one line, SchemaError for a file that does not fit the schema, ClaimError for one that has not the name
    of its erratum, names a claim that is not there, or has a counterexample that agrees with the print.
    """
    known = [claim.id for claim in claims]

    def erratum(content: dict[str, Any]) -> Erratum:
        for claim in content["claims"]:
            choose("claim", claim, known)
        case = Counterexample(**content["counterexample"]) if "counterexample" in content else None
        if case and not case.refutes:
            raise ValueError(f"measured={case.measured:g} must not be {case.relation} the printed {case.printed:g}")
        return Erratum(**{**content, "claims": tuple(content["claims"]), "counterexample": case})

    return read_files(sorted(paths), "erratum", erratum)
