"""Checks of single results: numbers of nonzeros, exact signals, true reports, and the weight of each measurement."""

import itertools

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.contract.subject import (
    DTYPES,
    MOST,
    ROUNDING,
    RecoverySubject,
    Signals,
    Values,
    bounded,
    flags,
    numpy_of,
    recover,
    relative,
    states,
)
from sketchbench.sketch.recovery.recovery import Recovered
from sketchbench.sketch.scattered import Scattered

SIGNALS = 6  # of each k and dtype
SMALL = 640  # largest d at which every place is tried
EVERY = 33  # largest d at which every k is tried
SHARP = 2.0**8  # rounding of an entry without iterations, in units of eps; half precision has 2^12 of float32
STOPS = (1, 2, 5)  # iterations
SHAPES = ((), (0,), (2, 3), (2, 0))  # leading axes
CLOSE = 1e-5  # largest squared error of iterations, relative to the squared norm, when convergence is certain
CERTAIN = 0.25  # bound of the isometry constant of order 3k, far below 0.57, up to which iterations converge
APART = 1e-3  # a column is the best match of its own sketch by this share
NUMBERLESS = (float("nan"), float("inf"), float("-inf"))


def sparsities(d: int) -> list[int]:
    """Numbers of nonzeros from 1 to d, all of them for small d; for large d, a number that 16 bits can't hold."""
    if d <= EVERY:
        return list(range(1, d + 1))
    wanted = {1, 2, d // 3, d - 1, d} if d <= SMALL else {1, 2**16 + 1, d}
    return sorted(k for k in wanted if 1 <= k <= d)


def count_nonzeros(subject: RecoverySubject) -> Values:
    """The numbers of nonzeros in units of k; MOST for a number that is not finite, or a wrong shape or dtype."""
    phi, parts = subject.operator(), []
    for dtype in DTYPES:
        for k in sparsities(subject.d):
            x = subject.noisy(f"nonzeros {k}", SIGNALS)
            found = recover(subject.recovery(k), phi, subject.sense(phi, x, dtype))
            finite = np.isfinite(found.x).all(axis=1) & (found.x.dtype == found.trace.dtype == dtype)
            parts.append(np.where(finite, (found.x != 0).sum(axis=1) / k, MOST))
    for shape in SHAPES:
        x = np.ones((*shape, subject.d))
        found = recover(subject.recovery(), phi, subject.sense(phi, x))
        right = (found.x.shape, found.iterations.shape, found.trace.shape[:-1]) == (x.shape, shape, shape)
        parts.append(flags(np.array([not right])))
    return np.concatenate(parts)


def check_zeros(subject: RecoverySubject) -> Values:
    """MOST if the estimate of measurements 0 or its trace is not 0, alone or beside others."""
    phi, x = subject.operator(), subject.noisy("zeros", 3)
    x[1] = 0
    parts = []
    for dtype in DTYPES:
        y = subject.sense(phi, x, dtype)
        beside, alone = (recover(subject.recovery(), phi, part) for part in (y, y[1:2]))
        for found, at in ((beside, 1), (alone, 0)):
            parts.append(bool(found.x[at].any() or np.nansum(found.trace[at])))
    return flags(np.array(parts))


def find_single_entries(subject: RecoverySubject) -> Values:
    """Errors of signals with one nonzero, at every place (at some, for large d), with k = 1.

    A signal is judged if its column of Φ is the best match of its sketch, among all columns, by APART, and if no other
    column of a hashing sketch shares half of its cells, so that medians, too, find the place. The estimate must then
    have its largest entry at this place, with the right sign. The entry's error counts, relative to the rounding of the
    dtype, if the recovery does not iterate and the column has norm 1.
    """
    random, phi, d = subject.random("single entries"), subject.operator(), subject.d
    places = np.arange(d)
    if d > SMALL:
        edges = [0, 2**16 - 1, 2**16, d - 1]
        places = np.unique([*(place for place in edges if place < d), *random.choice(d, 2)])
    rows = np.arange(len(places))
    ones = np.zeros((len(places), d))
    ones[rows, places] = random.choice([-1.0, 1.0], len(places))
    match = abs(numpy_of(phi, phi.padded().desketch(subject.sense(phi, ones))))
    own = match[rows, places].copy()
    match[rows, places] = 0
    judged = own * (1 - APART) > match.max(axis=1)
    if isinstance(phi, Scattered):
        matrix = phi._matrix
        cells = phi._changed(_matrix=phi.kernels.prepare(matrix.buckets, abs(matrix.signs), phi.b))
        shared = numpy_of(phi, cells.desketch(cells.sketch(phi.kernels.asarray(abs(ones)))))
        shared[rows, places] = 0
        judged &= shared.max(axis=1) < own / 2
    x = ones * 10 ** random.uniform(-3, 3, (len(places), 1))
    parts = []
    for dtype in DTYPES:
        found = recover(subject.recovery(1), phi, subject.sense(phi, x, dtype))
        entry, wanted = found.x[rows, places].astype(float), x[rows, places]
        misplaced = (abs(found.x).argmax(axis=1) != places) | (np.sign(entry) != np.sign(wanted))
        sharp = (found.iterations == 0) & (abs(own - 1) < APART * ROUNDING * np.finfo(np.float32).eps)
        error = bounded(abs(entry / wanted - own) / (SHARP * np.finfo(dtype).eps))
        parts.append(np.maximum(flags(misplaced), np.where(sharp, error, 0.0))[judged])
    return np.concatenate(parts)


def find_all_entries(subject: RecoverySubject) -> Values:
    """Errors of signals with k nonzeros, for many k, relative to the rounding of the dtype: (N,), empty unless the
    columns of Φ are orthonormal, so that x = Φᵀy."""
    random, phi, parts = subject.random("all entries"), subject.operator(), []
    if not _is_isometric(subject, phi) or not states(subject.recovery(), "exact"):
        return np.zeros(0)
    for dtype in DTYPES:
        for k in sparsities(subject.d):
            x = subject.sparse(random, SIGNALS if subject.d <= SMALL else 2, k)
            found = recover(subject.recovery(k), phi, subject.sense(phi, x, dtype))
            error = abs(found.x - x).max(axis=1) / abs(x).max(axis=1)
            parts.append(bounded(error / (ROUNDING * np.finfo(dtype).eps)))
    return np.concatenate(parts)


def _is_isometric(subject: RecoverySubject, phi: Sketch) -> bool:
    """Return whether ΦᵀΦ = I, by two random vectors: another matrix moves them with probability 1."""
    x = subject.random("isometry").standard_normal((2, subject.d))
    moved = numpy_of(phi, phi.desketch(subject.sense(phi, x)))
    return phi.padded().d == subject.d and bool(abs(moved - x).max() <= ROUNDING * np.finfo(np.float64).eps)


def approach(subject: RecoverySubject, count: int) -> Values:
    """Squared errors of iterations relative to ‖x‖², in units of CLOSE, for the largest k at which convergence is
    certain: the isometry constant of order 3k is at most CERTAIN, by Gershgorin's circles. Empty if there is no k."""
    phi = subject.operator().padded()
    if phi.d > SMALL:
        return np.zeros(0)
    gram = abs(numpy_of(phi, phi.desketch(phi.sketch(phi.kernels.xp.eye(phi.d)))) - np.eye(phi.d))
    radius = np.sort(gram, axis=1)[:, ::-1].cumsum(axis=1).max(axis=0)  # of order 1, 2, ..., n
    k = min(int((radius <= CERTAIN).sum()) // 3, subject.d // 4)
    if k < 1 or not states(subject.recovery(), "exact"):
        return np.zeros(0)
    x = subject.sparse(subject.random("approach"), count, k)
    phi = subject.operator()
    found = recover(subject.recovery(k), phi, subject.sense(phi, x))
    return (relative(found.x, x) ** 2 / CLOSE)[found.iterations > 0]


def check_reports(subject: RecoverySubject, count: int) -> Values:
    """Differences of the last number of each trace from ‖y - Φx‖₂, relative to the rounding of ‖y‖₂; MOST for a trace
    with another length than the iterations. A recovery with a field `iterations` is also stopped after 1, 2
    and 5 of them: these traces must be the beginnings of the whole trace, with true last numbers."""
    phi, parts, recovery = subject.operator(), [], subject.recovery()
    most = getattr(recovery, "iterations", 0)
    most = most if isinstance(most, int) else 0
    for dtype in DTYPES:
        y = subject.sense(phi, subject.noisy("reports", count), dtype)
        whole = recover(recovery, phi, y)
        parts.append(_false_report(subject, phi, y, whole))
        for stop in (stop for stop in STOPS if stop <= most):
            found = recover(subject.recovery(iterations=stop), phi, y)
            begins = np.array_equal(found.trace, whole.trace[:, :stop], equal_nan=True)
            counts = found.iterations == np.minimum(whole.iterations, stop)
            parts.append(np.maximum(_false_report(subject, phi, y, found), flags(~counts | (not begins))))
    return np.concatenate(parts)


def _false_report(subject: RecoverySubject, phi: Sketch, y: Array, found: Recovered) -> Values:
    count, iterations, trace = len(found.x), found.iterations, found.trace
    if trace.shape != (count, iterations.max()) or iterations.dtype.kind != "i" or iterations.min() < 0:
        return np.full(count, MOST)
    within = np.arange(trace.shape[1]) < iterations[:, None]
    misshapen = ((np.isfinite(trace) & (trace >= 0)) != within).any(axis=1) | (np.isnan(trace) != ~within).any(axis=1)
    if not iterations.any():
        return flags(misshapen)
    cells = numpy_of(phi, y).astype(float)
    residual = np.linalg.norm(cells - numpy_of(phi, subject.sense(phi, found.x.astype(float))), axis=1)
    said = trace[np.arange(count), np.maximum(iterations, 1) - 1].astype(float)
    allowed = ROUNDING * np.finfo(y.dtype).eps * np.linalg.norm(cells, axis=1)
    # an estimate with nonzeros in the padding is cut, and has another residual
    judged = (iterations > 0) & ((phi.padded().d == phi.d) | ((found.x != 0).sum(axis=1) == subject.k))
    off = abs(said - residual) / np.maximum(allowed, np.finfo(y.dtype).tiny)
    return np.maximum(flags(misshapen), np.where(judged, bounded(off), 0.0))


def find_ignored(subject: RecoverySubject) -> Values:
    """MOST for each measurement whose sign does not change the estimate of d entries, although it is larger than all
    others together and its row of Φ is not 0: (b,), or a sample for large b. The median of other measurements, too,
    moves between its neighbours."""
    phi, b = subject.operator(), subject.family.b
    random = subject.random("ignored")
    places = np.arange(b) if b <= SMALL else random.choice(b, SMALL, replace=False)
    cells: Signals = np.repeat(random.standard_normal((1, b)), len(places), axis=0)
    units = np.zeros_like(cells)
    units[np.arange(len(places)), places] = 2 * abs(cells[0]).sum()
    heard = numpy_of(phi, phi.desketch(phi.kernels.asarray(units))).any(axis=1)
    one, other = (
        recover(subject.recovery(subject.d), phi, phi.kernels.asarray(cells + side * units)).x for side in (1, -1)
    )
    return flags((one == other).all(axis=1) & heard)


def check_refusals(subject: RecoverySubject) -> Values:
    """MOST for each kind of measurements that should raise ValueError, and does not: with NaN or an infinity in the
    first or the last of three signals, or of another length; and for k = d + 1."""
    phi = subject.operator()
    y = subject.sense(phi, subject.noisy("refusals", 3))
    wrong = []
    for number, place in itertools.product(NUMBERLESS, (0, -1)):
        broken = y.copy()
        broken[place, place] = number
        wrong.append((subject.k, broken))
    wrong += [(subject.k, phi.kernels.xp.concatenate([y, y], axis=1)), (subject.d + 1, y)]
    return flags(np.array([_accepts(subject, k, phi, cells) for k, cells in wrong]))


def _accepts(subject: RecoverySubject, k: int, phi: Sketch, y: Array) -> bool:
    try:
        subject.recovery(k).recover(phi, y)
    except ValueError:
        return False
    return True
