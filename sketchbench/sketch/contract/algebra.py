"""Checks that a drawn operator is one matrix R: linear, with its transpose, with RᵀR as `project`, and in float32."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Kernels
from sketchbench.sketch.contract import layout
from sketchbench.sketch.contract.probes import (
    KINDS,
    MOST,
    Floats,
    Subject,
    dense,
    errors,
    matrix_of,
    norms,
    supports,
    units,
    vectors,
)
from sketchbench.sketch.operator import Sketch

Faults = dict[str, Floats]  # quantity -> largest error of each operator in units of rounding, (T,)
COMBINATIONS = 4
FEW = 100  # operators at each size that are applied to vectors of their own
EACH = 8  # vectors of its own for each of these operators
MANY = KINDS + 3  # probes, of all kinds


@dataclass(frozen=True)
class _Bench:
    """A stack of T operators with probes x (N, d) and y (L, b), and their images R x (T, N, b) and Rᵀ y (T, L, d).
    `size` is the largest Frobenius norm of an operator, which bounds the amplification of rounding errors."""

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
        """Apply a method to vectors (N, n), shared by all operators, or (T, N, n): (T, N, m)."""
        return apply_method(self.stack, name, vectors)


def apply_method(stack: Sketch, name: str, vectors: NDArray[Any], dtype: Any = np.float64) -> Floats:
    """The result of `sketch`, `desketch` or `project` of T operators: (T, N, m), NaN if it has another dtype than
    `dtype`. Vectors are (N, n), shared by all operators, or (T, N, n)."""
    batch = stack.kernels.asarray(np.ascontiguousarray(vectors if vectors.ndim == 3 else vectors[None], dtype=dtype))
    result = getattr(stack, name)(batch, check_finite=False)  # non-finite entries are faults, and raise nothing
    real = dense(stack.kernels, result.real)
    return real if result.dtype == dtype else np.full_like(real, np.nan)


def check(subject: Subject, first: int, count: int) -> Faults:
    """The faults of operators `first`, ..., `first + count - 1` as one stack; six times the cost of R and Rᵀ."""
    stack = subject.family.draw(subject.key, operators=count, first=first, kernels=subject.kernels)
    random = subject.random("vectors")
    x, y = vectors(subject.d, random), vectors(subject.b, random)
    rx, rty = apply_method(stack, "sketch", x), apply_method(stack, "desketch", y)
    # Rows and columns of R, all of them or a sample, in which a sparse R may have nothing.
    parts = [part[:, KINDS:].reshape(count, -1) for part in (rx, rty)]
    entries = subject.b * subject.d
    size = max(float(np.nan_to_num(norms(part).max())) * (entries / part.shape[1]) ** 0.5 for part in parts)
    bench = _Bench(stack, x, y, rx, rty, max(size, 1e-100))
    faults = {
        "linearity": np.maximum(_linear(bench, "sketch"), _linear(bench, "desketch")),
        "transpose": _transpose(bench),
        "projection": _projection(bench),
        "precision": np.maximum(_single(bench, "sketch"), _single(bench, "desketch")),
    }
    if not first and (faults["transpose"] < MOST).all():
        few = min(count, FEW)
        transposed = faults["transpose"][:few] <= 1  # else there is no matrix to compare with
        for name, found in _of_supports(subject, few, bench.size).items():
            # Their rounding errors say nothing new, and would change the rows of families without a fault.
            faults[name][:few] = np.maximum(faults[name][:few], np.where(transposed & (found > 1), found, 0))
    return faults


def _sides(bench: _Bench, name: str) -> tuple[Floats, Floats]:
    return (bench.x, bench.rx) if name == "sketch" else (bench.y, bench.rty)


def _linear(bench: _Bench, name: str) -> Floats:
    """Errors of linear combinations of the probes, of other batches and layouts, and of repeated calls, (T,)."""
    probes, results = _sides(bench, name)
    random = np.random.default_rng(len(probes))
    weights = random.standard_normal((COMBINATIONS, len(probes)))
    weights[1:] *= random.random((COMBINATIONS - 1, len(probes))) < 0.3  # so that some lack the largest probes
    weights[0] /= np.maximum(norms(probes), 1e-9)
    scale = bench.size * (abs(weights) @ norms(probes))[:, None]
    combined = bench.apply(name, weights @ probes)
    faults = [errors(combined, weights @ results, scale, bench.terms + len(probes))]
    sizes = bench.size * norms(probes)[:, None]

    def same(other: Floats, expected: Floats, sizes: Floats) -> None:
        faults.append(errors(other, expected, sizes, bench.terms))

    same(bench.apply(name, probes[:5]), results[:, :5], sizes[:5])
    same(bench.apply(name, probes[::-1][:7]), results[:, ::-1][:, :7], sizes[::-1][:7])
    same(bench.apply(name, -probes[:1]), -results[:, :1], sizes[:1])
    same(bench.apply(name, 0 * probes[:2]), 0 * results[:, :2], 0 * sizes[:2])
    own = np.repeat(probes[None, :3], len(results), axis=0) * (1 + np.arange(len(results)) % 3)[:, None, None]
    factors = (1 + np.arange(len(results)) % 3)[:, None, None]
    same(bench.apply(name, own), factors * results[:, :3], 3 * sizes[:3])
    faults.append(layout.check(bench.stack, name, probes, results, sizes, bench.terms))
    return np.max(faults, axis=0)


def _transpose(bench: _Bench) -> Floats:
    """Errors of ⟨Rx, y⟩ = ⟨x, Rᵀy⟩ for all pairs of probes, and of `materialize`, (T,)."""
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


def _of_supports(subject: Subject, count: int, size: float) -> Faults:
    """Errors (count,) against the dense matrix, of vectors of integers times a power of two, `EACH` for each operator.

    Numbers of nonzeros are log-uniform, powers of two come from the whole range of the type (`probes.supports`,
    `probes.units`). A fault of vectors with s to r s nonzeros meets one of the EACH · FEW vectors with probability 1 -
    (1 - log r/log d)^(EACH · FEW): at d = 640 and r = 1.1 it is missed with probability 7e-6."""
    stack = subject.family.draw(subject.key, operators=count, kernels=subject.kernels)
    random, whole, terms = subject.random("supports"), matrix_of(stack), subject.d + subject.b
    faults: dict[str, list[Floats]] = {"linearity": [], "projection": [], "precision": []}
    for name, matrix in (("sketch", whole.swapaxes(-1, -2)), ("desketch", whole)):
        integers = supports(count, EACH, matrix.shape[1], random)
        room = np.log2(64.0 * matrix.shape[1] * max(size, 1.0) ** 2)
        for kind, dtype in (("linearity", np.float64), ("precision", np.float32)):
            powers = units(count, EACH, room, dtype, random)
            vectors = np.ldexp(integers, powers).astype(dtype)

            def add(kind: str, method: str, expected: Floats, size: float) -> None:
                found = np.ldexp(apply_method(stack, method, vectors, dtype), -powers)  # noqa: B023 (called at once)
                info = np.finfo(dtype)  # noqa: B023
                unit = np.ldexp(float(info.smallest_subnormal) / float(info.eps), -powers)  # noqa: B023
                scale = size * norms(integers)[..., None] + max(size, 1.0) * terms**0.5 * unit  # noqa: B023
                faults[kind].append(errors(found, expected, scale, terms, float(info.eps)))

            add(kind, name, integers @ matrix, size)
            if name == "sketch":
                add("projection" if dtype == np.float64 else kind, "project", integers @ matrix @ whole, size**2)
    return {name: np.max(found, axis=0) for name, found in faults.items()}


def _projection(bench: _Bench) -> Floats:
    x = bench.x[:MANY]
    both = bench.apply("desketch", bench.rx[:, :MANY])
    return errors(bench.apply("project", x), both, bench.size**2 * norms(x)[:, None], bench.terms)


def _single(bench: _Bench, name: str) -> Floats:
    """Errors of float32 results against float64 results, in units of float32's rounding, (T,)."""
    probes = _sides(bench, name)[0][:MANY]
    rounded = probes.astype(np.float32)
    single = apply_method(bench.stack, name, rounded, np.float32)
    double = bench.apply(name, rounded.astype(np.float64))
    return errors(single, double, bench.size * norms(probes)[:, None], bench.terms, 2.0**-23)


def check_alone(subject: Subject, number: int) -> Faults:
    """The faults of one operator without a stack: SciPy's operator, padding, workspace and sparse vectors."""
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
        name: np.array([max(map(np.max, faults))])
        for name, faults in (("transpose", transpose), ("projection", projection))
    }


Side = tuple[Floats, Floats, Floats]  # vectors, their images, and the sizes of the summed terms


def _linear_operator(alone: Sketch, x: Side, y: Side) -> list[Floats]:
    """Errors of SciPy's operator, which raises OverflowError for non-finite results."""
    linear = alone.as_linear_operator()
    try:
        down, up = linear.matmat(x[0].T).T, linear.rmatmat(y[0].T).T
    except OverflowError:
        return [np.array([MOST])]
    return [errors(down, x[1], x[2], alone.d + alone.b), errors(up, y[1], y[2], alone.d + alone.b)]


def _with_workspace(kernels: Kernels, alone: Sketch, x: Side, y: Side) -> list[Floats]:
    """Errors of two calls of the operator with a workspace."""
    working, faults = alone.with_workspace(), []
    for _ in range(2):
        down = dense(kernels, working.sketch(kernels.asarray(x[0]), check_finite=False)).copy()
        up = dense(kernels, working.desketch(kernels.asarray(y[0]), check_finite=False)).copy()
        faults += [errors(down, x[1], x[2], alone.d + alone.b), errors(up, y[1], y[2], alone.d + alone.b)]
    return faults


def _padded(kernels: Kernels, alone: Sketch, x: Side, y: Side) -> list[Floats]:
    """Errors on the padded domain: of R for zero-padded vectors, and of the first d entries of the transpose."""
    whole = alone.padded()
    longer = np.concatenate([x[0], np.zeros((len(x[0]), whole.d - alone.d))], axis=1)
    down = dense(kernels, whole.sketch(kernels.asarray(longer), check_finite=False))
    up = dense(kernels, whole.desketch(kernels.asarray(y[0]), check_finite=False))
    terms = whole.d + alone.b
    return [errors(down, x[1], x[2], terms), errors(up[:, : alone.d], y[1], y[2], terms)]


def _sparse(kernels: Kernels, alone: Sketch, x: Floats) -> Floats:
    """Errors of `sketch_sparse` for a sum of two sparse vectors with at most three entries each."""
    count = min(3, alone.d)
    at = np.linspace(0, alone.d - 1, count).astype(np.int32)
    other = np.arange(count, dtype=np.int32)
    values = x[:4, :count]
    whole = np.zeros((4, alone.d))
    whole[:, at] += values
    whole[:, other] += 2 * values
    places = [kernels.asarray(np.repeat(place[None], 4, axis=0)) for place in (at, other)]
    terms = zip(places, map(kernels.asarray, (values.copy(), 2 * values)), strict=True)
    sparse = dense(kernels, alone.sketch_sparse(*terms))
    expected = dense(kernels, alone.sketch(kernels.asarray(whole), check_finite=False))
    return errors(sparse, expected, alone.d * norms(whole)[:, None], alone.d + alone.b)
