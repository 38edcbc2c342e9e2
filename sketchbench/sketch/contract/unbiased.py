"""Measures whether E[RᵀR] = I at the largest deviation that the first half of the operators shows."""

from dataclasses import dataclass

import numpy as np

from sketchbench.sketch.contract.probes import WHOLE, Floats, Subject


@dataclass(frozen=True)
class Deviation:
    """A place, an entry or direction (`where`, in words), at which the mean of RᵀR is far from I: the value there if
    E[RᵀR] = I (`exact`), measured values (trials,), and the distance in the search, in standard errors (`score`)."""

    where: str
    exact: float
    values: Floats
    score: float


def deviations(subject: Subject, trials: int) -> dict[str, Deviation]:
    """The largest deviations of the mean of RᵀR from I: of an `entry`, a `direction`, and the mean diagonal (`trace`),
    which needs no search. `trials` operators are for the search, and as many others for the measurement."""
    # Non-finite entries break another part of the contract, and would spoil the search here.
    halves = (subject.matrices(subject.key, trials, first) for first in (0, trials))
    search, measure = (np.nan_to_num(part, nan=0.0, posinf=0.0, neginf=0.0) for part in halves)
    places = {"entry": _entry(search, measure), "direction": _direction(search, measure)}
    energy = np.concatenate([(part**2).sum(axis=(1, 2)) for part in (search, measure)]) / subject.d
    places["trace"] = Deviation("mean diagonal", 1.0, energy, _score(energy, 1.0))
    return places


def _score(values: Floats, exact: float) -> float:
    """The distance of a mean from the exact value, in standard errors."""
    distance = abs(float(values.mean()) - exact)
    error = float(values.std()) / len(values) ** 0.5
    return distance / error if error > 1e-12 else 1e12 * (distance > 1e-9)


def _entry(search: Floats, measure: Floats) -> Deviation:
    """The entry of RᵀR, among the first WHOLE columns, with the largest deviation."""
    part = search[:, :, :WHOLE]
    grams = part.swapaxes(-1, -2) @ part
    size = grams.shape[-1]
    off = abs(grams.mean(axis=0) - np.eye(size))
    spread = (grams.var(axis=0) + grams.var(axis=0).mean()) ** 0.5  # one entry's variance may be small by chance
    scores = np.where(off > 1e-9, off / np.maximum(spread / len(grams) ** 0.5, 1e-12), 0.0)
    i, j = (int(place) for place in np.unravel_index(scores.argmax(), scores.shape))
    values = (measure[:, :, i] * measure[:, :, j]).sum(axis=1)
    return Deviation(f"entry {i}, {j}", float(i == j), values, float(scores[i, j]))


def _direction(search: Floats, measure: Floats) -> Deviation:
    """The eigenvector of the mean of RᵀR - I with the largest eigenvalue in magnitude."""
    rows = search.reshape(-1, search.shape[-1])
    values, vectors = np.linalg.eigh(rows.T @ rows / len(search) - np.eye(search.shape[-1]))
    worst = vectors[:, int(abs(values).argmax())]
    before, after = (((part @ worst) ** 2).sum(axis=1) for part in (search, measure))
    return Deviation("worst direction", 1.0, after, _score(before, 1.0))
