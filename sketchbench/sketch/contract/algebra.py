"""Is a drawn operator one matrix R: linear, with its transpose, RᵀR as `project`, and the same in float32?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Kernels
from sketchbench.sketch.contract import layout
from sketchbench.sketch.contract.probes import KINDS, MOST, Floats, Subject, dense, errors, matrix_of, norms, vectors
from sketchbench.sketch.operator import Sketch

Faults = dict[str, Floats]  # by quantity, the largest error of each operator in units of rounding, (T,)
COMBINATIONS = 4
MANY = KINDS + 3  # probes, of all kinds


@dataclass(frozen=True)
class _Bench:
    """A stack, and what its results are compared with.

    x (N, d) and y (L, b) are the probes, rx (T, N, b) and rty (T, L, d) what comes of them, and size is the largest
    Frobenius norm of an operator of the stack, which bounds how much rounding errors are amplified.
    """

    stack: Sketch
    x: Floats
    y: Floats
    rx: Floats
    rty: Floats
    size: float

    @property
    def terms(self) -> int:
        return self.stack.d + self.stack.b

    def apply(self, name: str, vectors: Floats) -> Floats:
        """`sketch`, `desketch` or `project` of vectors (N, n) that all operators share, or (T, N, n), to (T, N, m)."""
        return applied(self.stack, name, vectors)


def applied(stack: Sketch, name: str, vectors: NDArray[Any], dtype: Any = np.float64) -> Floats:
    """What a method of a stack makes of vectors (N, n) or (T, N, n); NaN where it comes back in another dtype."""
    given = stack.kernels.asarray(np.ascontiguousarray(vectors if vectors.ndim == 3 else vectors[None], dtype=dtype))
    result = getattr(stack, name)(given, check_finite=False)  # what is not finite counts, and ends nothing
    found = dense(stack.kernels, result.real)
    return found if result.dtype == dtype else np.full_like(found, np.nan)


def check(subject: Subject, first: int, count: int) -> Faults:
    """Operators `first`, ..., `first + count - 1` as one stack: every fault of each of them.

    Cost: about six times what R and Rᵀ cost for d + b vectors.
    """
    stack = subject.family.draw(subject.key, operators=count, first=first, kernels=subject.kernels)
    random = subject.random("vectors")
    x, y = vectors(subject.d, random), vectors(subject.b, random)
    rx, rty = applied(stack, "sketch", x), applied(stack, "desketch", y)
    rows = rty[:, KINDS:].reshape(count, -1)  # of R, unless there are very many
    size = float(np.nan_to_num(norms(rows).max())) * (subject.b * subject.d / rows.shape[1]) ** 0.5
    bench = _Bench(stack, x, y, rx, rty, max(size, 1e-100))
    return {
        "linearity": np.maximum(_linear(bench, "sketch"), _linear(bench, "desketch")),
        "transpose": _transpose(bench),
        "projection": _projection(bench),
        "precision": np.maximum(_single(bench, "sketch"), _single(bench, "desketch")),
    }


def _sides(bench: _Bench, name: str) -> tuple[Floats, Floats]:
    return (bench.x, bench.rx) if name == "sketch" else (bench.y, bench.rty)


def _linear(bench: _Bench, name: str) -> Floats:
    """Combinations of the probes, alone, among others and in another shape; and the same again."""
    probes, results = _sides(bench, name)
    random = np.random.default_rng(len(probes))
    weights = random.standard_normal((COMBINATIONS, len(probes)))
    weights[1:] *= random.random((COMBINATIONS - 1, len(probes))) < 0.3  # of which the large ones are not always part
    weights[0] /= np.maximum(norms(probes), 1e-9)
    scale = bench.size * (abs(weights) @ norms(probes))[:, None]
    combined = bench.apply(name, weights @ probes)
    found = [errors(combined, weights @ results, scale, bench.terms + len(probes))]
    sizes = bench.size * norms(probes)[:, None]

    def same(other: Floats, expected: Floats, sizes: Floats) -> None:
        found.append(errors(other, expected, sizes, bench.terms))

    same(bench.apply(name, probes[:5]), results[:, :5], sizes[:5])
    same(bench.apply(name, probes[::-1][:7]), results[:, ::-1][:, :7], sizes[::-1][:7])
    same(bench.apply(name, -probes[:1]), -results[:, :1], sizes[:1])
    same(bench.apply(name, 0 * probes[:2]), 0 * results[:, :2], 0 * sizes[:2])
    own = np.repeat(probes[None, :3], len(results), axis=0) * (1 + np.arange(len(results)) % 3)[:, None, None]
    factors = (1 + np.arange(len(results)) % 3)[:, None, None]
    same(bench.apply(name, own), factors * results[:, :3], 3 * sizes[:3])
    found.append(layout.check(bench.stack, name, probes, results, sizes, bench.terms))
    return np.max(found, axis=0)


def _transpose(bench: _Bench) -> Floats:
    """⟨Rx, y⟩ = ⟨x, Rᵀy⟩ for all pairs of probes, and what `materialize` gives."""
    below = bench.rx @ bench.y.T
    above = (bench.rty @ bench.x.T).swapaxes(-1, -2)
    scale = bench.size * norms(bench.x)[:, None] * norms(bench.y)
    matrix = matrix_of(bench.stack)
    if matrix.shape != (len(below), bench.stack.b, bench.stack.d):
        return np.full(len(below), MOST)
    formed = errors(
        bench.x[None] @ matrix.swapaxes(-1, -2), bench.rx, bench.size * norms(bench.x)[:, None], bench.terms
    )
    return np.maximum(errors(below, above, scale, bench.terms), formed)


def _projection(bench: _Bench) -> Floats:
    x = bench.x[:MANY]
    both = bench.apply("desketch", bench.rx[:, :MANY])
    return errors(bench.apply("project", x), both, bench.size**2 * norms(x)[:, None], bench.terms)


def _single(bench: _Bench, name: str) -> Floats:
    """float32 in, float32 out, and to rounding the numbers of float64."""
    probes = _sides(bench, name)[0][:MANY]
    rounded = probes.astype(np.float32)
    single = applied(bench.stack, name, rounded, np.float32)
    double = bench.apply(name, rounded.astype(np.float64))
    return errors(single, double, bench.size * norms(probes)[:, None], bench.terms, 2.0**-23)


def check_alone(subject: Subject, number: int) -> Faults:
    """One operator by itself, and what it offers besides: SciPy's operator, padding, workspace, sparse vectors."""
    alone = subject.family.draw(subject.key, first=number, kernels=subject.kernels)
    kernels, random = subject.kernels, subject.random("alone")
    x, y = vectors(subject.d, random)[:12], vectors(subject.b, random)[:12]
    rx = dense(kernels, alone.sketch(kernels.asarray(x), check_finite=False))
    rty = dense(kernels, alone.desketch(kernels.asarray(y), check_finite=False))
    size = max(float(norms(matrix_of(alone).ravel())), 1e-100)
    down, up = size * norms(x)[:, None], size * norms(y)[:, None]
    transpose = _linear_operator(alone, (x, rx, down), (y, rty, up))
    projection = [
        *_with_workspace(kernels, alone, (x, rx, down), (y, rty, up)),
        *_padded(kernels, alone, (x, rx, down), (y, rty, up)),
        _sparse(kernels, alone, x),
    ]
    return {
        name: np.array([max(map(np.max, found))])
        for name, found in (("transpose", transpose), ("projection", projection))
    }


Side = tuple[Floats, Floats, Floats]  # vectors, what comes of them, and the size of the sums


def _linear_operator(alone: Sketch, x: Side, y: Side) -> list[Floats]:
    """SciPy's operator, which refuses results that are not finite."""
    linear = alone.as_linear_operator()
    try:
        down, up = linear.matmat(x[0].T).T, linear.rmatmat(y[0].T).T
    except OverflowError:
        return [np.array([MOST])]
    return [errors(down, x[1], x[2], alone.d + alone.b), errors(up, y[1], y[2], alone.d + alone.b)]


def _with_workspace(kernels: Kernels, alone: Sketch, x: Side, y: Side) -> list[Floats]:
    """The same results twice, with memory of its own."""
    working, found = alone.with_workspace(), []
    for _ in range(2):
        down = dense(kernels, working.sketch(kernels.asarray(x[0]), check_finite=False)).copy()
        up = dense(kernels, working.desketch(kernels.asarray(y[0]), check_finite=False)).copy()
        found += [errors(down, x[1], x[2], alone.d + alone.b), errors(up, y[1], y[2], alone.d + alone.b)]
    return found


def _padded(kernels: Kernels, alone: Sketch, x: Side, y: Side) -> list[Floats]:
    """On the padded domain: R of what is padded by zeros, and a transpose whose first d entries are Rᵀy."""
    whole = alone.padded()
    longer = np.concatenate([x[0], np.zeros((len(x[0]), whole.d - alone.d))], axis=1)
    down = dense(kernels, whole.sketch(kernels.asarray(longer), check_finite=False))
    up = dense(kernels, whole.desketch(kernels.asarray(y[0]), check_finite=False))
    terms = whole.d + alone.b
    return [errors(down, x[1], x[2], terms), errors(up[:, : alone.d], y[1], y[2], terms)]


def _sparse(kernels: Kernels, alone: Sketch, x: Floats) -> Floats:
    """A sum of two sparse vectors, of three entries at most each."""
    count = min(3, alone.d)
    at = np.linspace(0, alone.d - 1, count).astype(np.int32)
    other = np.arange(count, dtype=np.int32)
    values = x[:4, :count]
    whole = np.zeros((4, alone.d))
    whole[:, at] += values
    whole[:, other] += 2 * values
    places = [kernels.asarray(np.repeat(place[None], 4, axis=0)) for place in (at, other)]
    terms = zip(places, map(kernels.asarray, (values.copy(), 2 * values)), strict=True)
    found = dense(kernels, alone.sketch_sparse(*terms))
    expected = dense(kernels, alone.sketch(kernels.asarray(whole), check_finite=False))
    return errors(found, expected, alone.d * norms(whole)[:, None], alone.d + alone.b)
