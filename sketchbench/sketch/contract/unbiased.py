"""Measures whether E[RᵀR] = I at the largest deviation that other operators show."""

from dataclasses import dataclass, replace

import numpy as np

from sketchbench.sketch.contract.probes import WHOLE, Floats, Subject

KINDS = ("entry", "direction", "trace")
SHARP = 0.045  # a standard error whose interval, at the level of a run, is narrower than the margin of S1-sizes
ENTRIES = 2**24


@dataclass(frozen=True)
class Place:
    """A place at which the mean of RᵀR may be far from I: the mean of ⟨R u, R v⟩ for `sides` (2, d) of u and v, or of
    the diagonal without them. `where`: in words; `exact`: the value there if E[RᵀR] = I; `score`: the distance that a
    search has found, in standard errors; `spread`: the standard deviation of a value, as far as the search knows."""

    where: str
    exact: float
    sides: Floats | None = None
    score: float = 0.0
    spread: float = 0.0

    def values(self, matrices: Floats) -> Floats:
        """The value of every operator (T, b, d): (T,)."""
        if self.sides is None:
            return np.asarray((matrices**2).sum(axis=(1, 2)) / matrices.shape[-1])
        left, right = (matrices @ side for side in self.sides)
        return np.asarray((left * right).sum(axis=1))


def search(subject: Subject, trials: int) -> dict[str, Place]:
    """For each of KINDS, the place at which the mean of RᵀR is furthest from I. The first half of `trials` operators
    finds candidates, the second half gives their scores, so that a score does not grow with the number of places."""
    half = trials // 2
    found, judging = (_finite(subject, count, first) for count, first in ((half, 0), (trials - half, half)))
    candidates = {"entry": [_entry(found)], "direction": _directions(found), "trace": [Place("mean diagonal", 1.0)]}
    # One place's spread may be small by chance: of a coordinate that is rarely sampled, all values are 0.
    spread = float((judging**2).sum(axis=1).std(axis=0).mean())
    return {
        kind: max((_scored(place, judging, spread if kind != "trace" else 0.0) for place in places), key=_score)
        for kind, places in candidates.items()
    }


def measure(subject: Subject, place: Place, trials: int, first: int) -> Floats:
    """The values of at least `trials` operators from `first` on: as many as leave the mean an error of SHARP, if they
    have ENTRIES entries at most."""
    sharp = min(int((place.spread / SHARP) ** 2), ENTRIES // (subject.d * subject.b))
    return place.values(_finite(subject, max(trials, sharp), first))


def _finite(subject: Subject, count: int, first: int) -> Floats:
    """Matrices without the non-finite entries, which break another part of the contract, and would spoil a search."""
    return np.nan_to_num(subject.matrices(subject.key, count, first), nan=0.0, posinf=0.0, neginf=0.0)


def _scored(place: Place, matrices: Floats, spread: float) -> Place:
    """The place with its score and spread, of operators (T, b, d) that have not found it."""
    values = place.values(matrices)
    distance, whole = abs(float(values.mean()) - place.exact), float(np.hypot(values.std(), spread))
    error = whole / len(values) ** 0.5
    return replace(place, spread=whole, score=distance / error if error > 1e-12 else 1e12 * (distance > 1e-9))


def _score(place: Place) -> float:
    return place.score


def _entry(matrices: Floats) -> Place:
    """The entry of RᵀR, among the first WHOLE columns, with the largest deviation."""
    part = matrices[:, :, :WHOLE]
    grams = part.swapaxes(-1, -2) @ part
    off = abs(grams.mean(axis=0) - np.eye(grams.shape[-1]))
    spread = (grams.var(axis=0) + grams.var(axis=0).mean()) ** 0.5  # one entry's variance may be small by chance
    scores = np.where(off > 1e-9, off / np.maximum(spread / len(grams) ** 0.5, 1e-12), 0.0)
    i, j = (int(place) for place in np.unravel_index(scores.argmax(), scores.shape))
    return Place(f"entry {i}, {j}", float(i == j), np.eye(matrices.shape[-1])[[i, j]])


def _directions(matrices: Floats) -> list[Place]:
    """The eigenvectors of the mean of RᵀR with the smallest and the largest eigenvalue."""
    rows = matrices.reshape(-1, matrices.shape[-1])
    vectors = np.linalg.eigh(rows.T @ rows / len(matrices))[1]
    return [Place("worst direction", 1.0, np.stack([vectors[:, end]] * 2)) for end in (0, -1)]
