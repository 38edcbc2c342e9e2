"""Is E[RᵀR] = I, in every entry and in every direction? The first operators find where it is not, others measure it."""

from dataclasses import dataclass

import numpy as np

from sketchbench.sketch.contract.probes import WHOLE, Floats, Subject


@dataclass(frozen=True)
class Deviation:
    """Where E[RᵀR] is furthest from I: in words, what is exact there, what was measured, and how many standard errors
    it seemed to be off in the search."""

    where: str
    exact: float
    values: Floats
    score: float


def deviations(subject: Subject, trials: int) -> dict[str, Deviation]:
    """The worst entry, the worst direction, and the mean of the diagonal.

    Arguments:
        subject: a family at one size.
        trials: operators that search, and as many that measure. The mean of the diagonal is searched for nowhere, and
            has all of them.
    """
    # Entries that are not finite break C2; here they would end the search.
    drawn = (subject.matrices(subject.key, trials, first) for first in (0, trials))
    search, measure = (np.nan_to_num(part, nan=0.0, posinf=0.0, neginf=0.0) for part in drawn)
    found = {"entry": _entry(search, measure), "direction": _direction(search, measure)}
    energy = np.concatenate([(part**2).sum(axis=(1, 2)) for part in (search, measure)]) / subject.d
    found["trace"] = Deviation("mean diagonal", 1.0, energy, _score(energy, 1.0))
    return found


def _score(values: Floats, exact: float) -> float:
    """How many standard errors a mean is from the exact value."""
    distance = abs(float(values.mean()) - exact)
    error = float(values.std()) / len(values) ** 0.5
    return distance / error if error > 1e-12 else 1e12 * (distance > 1e-9)


def _entry(search: Floats, measure: Floats) -> Deviation:
    """Of the first columns, if there are many."""
    part = search[:, :, :WHOLE]
    grams = part.swapaxes(-1, -2) @ part
    size = grams.shape[-1]
    off = abs(grams.mean(axis=0) - np.eye(size))
    spread = (grams.var(axis=0) + grams.var(axis=0).mean()) ** 0.5  # that of one entry may be small by chance
    scores = np.where(off > 1e-9, off / np.maximum(spread / len(grams) ** 0.5, 1e-12), 0.0)
    i, j = (int(place) for place in np.unravel_index(scores.argmax(), scores.shape))
    values = (measure[:, :, i] * measure[:, :, j]).sum(axis=1)
    return Deviation(f"entry {i}, {j}", float(i == j), values, float(scores[i, j]))


def _direction(search: Floats, measure: Floats) -> Deviation:
    """The eigenvector of the largest deviation of the mean of RᵀR from I."""
    rows = search.reshape(-1, search.shape[-1])
    values, vectors = np.linalg.eigh(rows.T @ rows / len(search) - np.eye(search.shape[-1]))
    worst = vectors[:, int(abs(values).argmax())]
    found, again = (((part @ worst) ** 2).sum(axis=1) for part in (search, measure))
    return Deviation("worst direction", 1.0, again, _score(found, 1.0))
