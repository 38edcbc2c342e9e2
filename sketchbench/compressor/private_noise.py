"""The noise that clients add to sums, on which a statement of privacy rests: is there as much as `grid` states, and is
it drawn anew in each round, and unknown to the server?"""

import dataclasses
import logging
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At
from sketchbench.compressor.contract import CompressorSubject, Values, raw
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.parties import party, rooted
from sketchbench.privacy.secure_sum import SecureSum

log = logging.getLogger(__name__)
LAYOUT = Layout(((16,),))  # without compression, and without padding: rows are an orthonormal basis
SUMS = SecureSum(clients=3, sensitivity=0.1, largest=6.0, rounds=20, rate=0.1, epsilon=1.0, delta=1e-4)


def protected(subject: CompressorSubject) -> CompressorSubject | None:
    """Return the compressor with noise for SUMS, at LAYOUT; None if it has no noise, or too few bits for it."""
    if not isinstance(subject.compressor, traits.Modular):
        return None
    small = dataclasses.replace(subject.compressor, layout=LAYOUT, limit=byte_limit(LAYOUT, 1))
    try:
        return dataclasses.replace(subject, compressor=small.protect(SUMS))
    except ValueError as error:
        log.info("noise is not measured: %s", error)
        return None


def noise(subject: CompressorSubject, draws: int) -> Iterator[tuple[str, float, Values]]:
    """Measure the noise of a protected compressor, along the change of its step by a change of the first client's
    update, in the standard deviation that `grid` states.

    Yields names, exact means, and values (draws,): the square is 1 in the mean; the product of two rounds with the same
    key is 0, and so is that of two roots of the clients' randomness, which the server does not know.
    """
    grid = traits.grid(subject.compressor)
    assert grid is not None
    x = np.zeros((draws, grid.clients, subject.compressor.layout.d), dtype=np.float32)
    change = x.copy()
    change[:, 0] = SUMS.largest / LAYOUT.d**0.5
    here = _round(subject, draws, 0, 0)
    silent = _step(subject, x, here)
    along = _step(subject, change, here) - silent
    square = (along**2).sum(axis=1)
    scale = SUMS.largest / (grid.unit * (grid.clients * grid.variance) ** 0.5) / np.where(square > 0, square, np.inf)
    drawn = scale * (silent * along).sum(axis=1)
    later, other = (
        scale * (_step(subject, x, _round(subject, draws, *place)) * along).sum(axis=1) for place in ((1, 0), (0, 1))
    )
    yield "square", 1.0, drawn**2
    yield "two rounds", 0.0, drawn * later
    yield "two roots", 0.0, drawn * other


def _round(subject: CompressorSubject, draws: int, number: int, root: int) -> At:
    """A round with the key of round 0, and with a root of the clients' randomness."""
    return party(subject.at(draws, number, "noise"), lambda at: at._replace(round=0), rooted(root))


def _step(subject: CompressorSubject, x: NDArray[np.float32], at: At) -> Values:
    memory = subject.compressor.begin(len(x), x.shape[1], subject.kernels)
    step = subject.compressor.exchange(subject.kernels.asarray(x), memory, at).step
    return raw(subject, step).astype(np.float64)
