"""Errata: statements of the papers that are not so as printed, each with the smallest known counterexample, what is
true instead, and whether the paper's results rest on it."""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sketchbench.base.parameters import choose
from sketchbench.report.claim.claims import Claim, read_files

Relation = Literal["at most", "at least", "exactly"]
Kind = Literal["wrong", "contradictory", "misprint", "open question answered", "omitted constant"]

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
        code: at most five lines of Python, which print both numbers; "" where that takes more.
    """

    statement: str
    relation: Relation
    printed: float
    measured: float
    code: str = ""

    @property
    def refutes(self) -> bool:
        """Whether the numbers contradict the print."""
        return not HOLDS[self.relation](self.measured, self.printed)


@dataclass(frozen=True)
class Touch:
    """Whether a result that the paper uses rests on a sentence, and how."""

    result: bool
    how: str


@dataclass(frozen=True)
class Erratum:
    """One entry of conf/erratum, whose files each hold a chapter's.

    Attributes:
        id: the paper, and the place in it.
        paper, place: where it is printed, in a few words.
        kind: `wrong`; `contradictory`, to another place; `misprint`, plainly not meant; `open question answered`, which
            the paper leaves open; `omitted constant`, where it holds with another constant.
        sentence: where the sentence stands.
        printed: the sentence as printed, in our words.
        unsaid: what it does not say.
        why: why it is not so.
        corrected: what is true instead.
        touches: whether a result of the paper rests on it.
        claims: the claims that measure the one or the other.
        counterexample: None only for a misprint that changes no number.
        rank: among the five that matter most, 1 the first; None for the others.
    """

    id: str
    paper: str
    place: str
    kind: Kind
    sentence: str
    printed: str
    unsaid: str
    why: str
    corrected: str
    touches: Touch
    claims: tuple[str, ...]
    counterexample: Counterexample | None = None
    rank: int | None = None


def read_errata(paths: Iterable[Path], claims: Iterable[Claim]) -> list[Erratum]:
    """The errata of these files: by rank, then in order of their names; `claims` are all claims.

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
        parts = {"claims": tuple(content["claims"]), "counterexample": case, "touches": Touch(**content["touches"])}
        return Erratum(**{**content, **parts})

    return sorted(read_files(paths, "erratum", erratum), key=lambda one: (one.rank or math.inf, one.id))
