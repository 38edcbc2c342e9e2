"""The constants C_s and C_n of a recovery with one operator (tang2021 Lemma 2), measured on probe signals."""

from collections.abc import Iterator

import numpy as np

from sketchbench.base import seeds
from sketchbench.measure.sparsity import tail_constants
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import Recovery
from sketchbench.task.recovery import signals
from sketchbench.theory.compressed_sensing import SensingConstants, orthogonal_constants

SIZES = (0.01, 0.1, 1.0)  # norms of the probes' tails and noise, relative to the signal


def constants(sketch: Sketch, recovery: Recovery, count: int, seed: int) -> SensingConstants:
    """C_s and C_n: derived for an orthogonal Φ, else the largest constants that probe signals need.

    Measured constants are lower limits of the true constants. A probe's noise is spread over all measurements, or is
    the sketch of k wrong coordinates, which is worse.

    Arguments:
        sketch: Φ, one operator.
        recovery: of k entries.
        count: number of probe signals of each kind.
        seed: of the probe signals.
    """
    if sketch.b == sketch.d:
        matrix = sketch.kernels.to_numpy(sketch.materialize())
        if np.allclose(matrix @ matrix.T, np.eye(sketch.d)):
            return orthogonal_constants(recovery.k, sketch.d)
    return SensingConstants(
        _tail_constant(sketch, recovery, count, seed), _noise_constant(sketch, recovery, count, seed)
    )


def errors(sketch: Sketch, recovery: Recovery, x: signals.Signals, w: signals.Signals | float) -> signals.Signals:
    """The errors ‖A(Φx + w) - x‖₂ of a recovery A, (N,), for signals x (N, d) and noise w (N, b)."""
    y = sketch.sketch(sketch.kernels.asarray(x)) + sketch.kernels.asarray(w + np.zeros((len(x), sketch.b)))
    recovered = sketch.kernels.to_numpy(recovery.recover(sketch, y).x)
    return np.asarray(np.linalg.norm(recovered - x, axis=-1))


def _tail_constant(sketch: Sketch, recovery: Recovery, count: int, seed: int) -> float:
    """The smallest C_s >= 0 for signals with a dense tail, over tails of several sizes."""
    largest = 0.0
    for size in SIZES:
        x = signals.draw_sparse(sketch.d, recovery.k, count, seed, noise=size)
        needed = tail_constants(errors(sketch, recovery, x, 0.0), x, recovery.k)
        largest = max(largest, float(needed.max()))
    return largest


def _noise_constant(sketch: Sketch, recovery: Recovery, count: int, seed: int) -> float:
    """The smallest C_n for exactly sparse signals, over noise of both kinds and several sizes."""
    largest = 0.0
    x = signals.draw_sparse(sketch.d, recovery.k, count, seed, noise=0.0)
    for noise in _noises(sketch, recovery.k, count, seed):
        for size in SIZES:
            w = size * noise * np.linalg.norm(x, axis=-1, keepdims=True)
            w /= np.linalg.norm(noise, axis=-1, keepdims=True)
            ratios = errors(sketch, recovery, x, w) / np.linalg.norm(w, axis=-1)
            largest = max(largest, float(ratios.max()))
    return largest


def _noises(sketch: Sketch, k: int, count: int, seed: int) -> Iterator[signals.Signals]:
    """The two kinds of noise, each (count, b): spread over all measurements, and sketches of k wrong coordinates."""
    d, b = sketch.d, sketch.b
    yield seeds.generator(seed, data="feedback bound", d=d, b=b).standard_normal((count, b))
    wrong = signals.draw_sparse(d, k, count, seed, first=count, noise=0.0)
    yield sketch.kernels.to_numpy(sketch.sketch(sketch.kernels.asarray(wrong)))
