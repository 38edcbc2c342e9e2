"""What every backend must give: the NumPy reference, and the algebra behind it."""

import ast
import functools
import inspect
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from sketchbench import kernels as backends
from sketchbench.kernels import Kernels, numba_hadamard, numba_selection
from sketchbench.kernels.numpy_kernels import PRIME

FUNCTIONS = [name for name, member in vars(Kernels).items() if inspect.isfunction(member)]
FUNCTIONS = [name for name in FUNCTIONS if not name.startswith("_")]
ROUNDING = {np.float32: 2e-6, np.float64: 1e-14}  # of a sum of at most 16 terms of size 1
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])

FOLDER = Path(str(backends.__file__)).parent

keys = st.integers(0, 2**64 - 1)
small = st.integers(1, 4)


def draw_sparse(seed: int, T: int, s: int, d: int, b: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    buckets = rng.integers(0, b, (T, s, d), dtype=np.int32)
    signs = rng.integers(-1, 2, (T, s, d), dtype=np.int8)
    dense = np.zeros((T, b, d))
    for t, r, j in itertools.product(range(T), range(s), range(d)):
        dense[t, buckets[t, r, j], j] += signs[t, r, j]
    return buckets, signs, dense


def prepare(kernels: Kernels, buckets: Any, signs: Any, b: int) -> Any:
    return kernels.prepare(kernels.asarray(buckets), kernels.asarray(signs), b)


def test_signatures(kernels: Kernels) -> None:
    assert len(FUNCTIONS) >= 12
    for name in FUNCTIONS:
        expected = list(inspect.signature(getattr(Kernels, name)).parameters)[1:]
        assert list(inspect.signature(getattr(kernels, name)).parameters) == expected, name


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*_kernels.py")), ids=lambda path: path.stem)
def test_source_without_a_device(path: Path) -> None:
    """Every module has every function, with these parameters, seen without importing it."""
    body = ast.parse(path.read_text()).body
    defined = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    imported = {alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(FUNCTIONS) <= set(defined) | imported
    for name in set(FUNCTIONS) & set(defined):
        expected = list(inspect.signature(getattr(Kernels, name)).parameters)[1:]
        assert [argument.arg for argument in defined[name].args.args] == expected, name


def test_arrays_travel_both_ways(kernels: Kernels) -> None:
    moved = kernels.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert isinstance(moved, kernels.xp.ndarray)
    back = kernels.to_numpy(moved)
    assert isinstance(back, np.ndarray)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, np.arange(6).reshape(2, 3))


# Draws


@given(keys, st.integers(0, 2**32 - 1), st.integers(0, 2**31), small, st.integers(1, 300))
def test_random_words_equal_the_reference(
    compiled: Kernels, reference: Kernels, key: int, stream: int, first: int, T: int, count: int
) -> None:
    words = compiled.to_numpy(compiled.random_words(key, stream, first, T, count))
    assert words.dtype == np.uint32
    np.testing.assert_array_equal(words, reference.random_words(key, stream, first, T, count))


@given(keys, st.integers(1, 2**31), small, st.integers(1, 300))
def test_random_integers_scale_the_words(kernels: Kernels, key: int, bound: int, T: int, count: int) -> None:
    found = kernels.to_numpy(kernels.random_integers(key, 1, 5, T, count, bound))
    words = kernels.to_numpy(kernels.random_words(key, 1, 5, T, count))
    assert found.dtype == np.int32
    assert found.tolist() == [[int(w) * bound >> 32 for w in row] for row in words.tolist()]


SUBSETS = [(1, 1), (5, 3), (77, 77), (2**16, 9), (2**16 + 1, 1), (2**17, 2**17), (100_003, 60_000)]


@pytest.mark.parametrize(("population", "count"), SUBSETS)
def test_random_subset(kernels: Kernels, population: int, count: int) -> None:
    """Against all 64-bit words in order, for populations drawn at once and in passes."""
    found = kernels.to_numpy(kernels.random_subset(2**63 + 9, 2, 2**31, 2, count, population))
    words = kernels.to_numpy(kernels.random_words(2**63 + 9, 2, 2**31, 2, 2 * population)).astype(np.uint64)
    order = np.argsort(words[:, :population] << np.uint64(32) | words[:, population:], axis=-1, kind="stable")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.sort(order[:, :count], axis=-1))


@given(keys, st.integers(1, 2**31), st.integers(0, 9), st.integers(0, 99), st.integers(0, 2**31), small, small)
def test_integer_rows_equal_the_reference(
    kernels: Kernels, reference: Kernels, key: int, bound: int, stream: int, first: int, row: int, T: int, k: int
) -> None:
    for d in (1, 5, 130):
        place = (key, stream, first, T, row, k, d, bound)
        found = kernels.to_numpy(kernels.integer_rows(*place))
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, reference.integer_rows(*place))
        assert found.min() >= 0
        assert found.max() < bound


def test_the_first_row_of_integers(kernels: Kernels) -> None:
    flat = kernels.to_numpy(kernels.random_integers(9, 2, 3, 4, 150, 77))
    np.testing.assert_array_equal(kernels.to_numpy(kernels.integer_rows(9, 2, 3, 4, 0, 2, 150, 77))[:, 0], flat)


def test_long_draws_equal_the_reference(compiled: Kernels, reference: Kernels) -> None:
    count = 2**15 + 7
    words = compiled.to_numpy(compiled.random_words(9, 2, 3, 2, count))
    np.testing.assert_array_equal(words, reference.random_words(9, 2, 3, 2, count))
    signs = compiled.to_numpy(compiled.sign_rows(9, 2, 3, 2, 5, 2, count))
    np.testing.assert_array_equal(signs, reference.sign_rows(9, 2, 3, 2, 5, 2, count))
    normals = compiled.to_numpy(compiled.gaussian_rows(9, 2, 3, 2, 5, 2, count))
    expected = reference.gaussian_rows(9, 2, 3, 2, 5, 2, count)
    np.testing.assert_allclose(normals, expected, rtol=1e-13, atol=1e-15)


@given(keys, st.integers(0, 9), st.integers(0, 99), st.integers(0, 2**31), small, small)
def test_rows_equal_the_reference(
    compiled: Kernels, reference: Kernels, key: int, stream: int, first: int, row: int, T: int, k: int
) -> None:
    for d in (1, 5, 31, 130, 300):
        place = (key, stream, first, T, row, k, d)
        signs = compiled.to_numpy(compiled.sign_rows(*place))
        assert signs.dtype == np.int8
        np.testing.assert_array_equal(signs, reference.sign_rows(*place))
        normals = compiled.to_numpy(compiled.gaussian_rows(*place))
        assert normals.dtype == np.float64
        np.testing.assert_allclose(normals, reference.gaussian_rows(*place), rtol=1e-13, atol=1e-15)


def test_operator_does_not_depend_on_its_neighbours(kernels: Kernels) -> None:
    stack = kernels.to_numpy(kernels.random_words(9, 2, 0, 6, 50))
    for t in range(6):
        alone = kernels.to_numpy(kernels.random_words(9, 2, t, 1, 33))
        np.testing.assert_array_equal(alone[0], stack[t, :33])


@pytest.mark.parametrize("name", ["sign_rows", "gaussian_rows", "integer_rows"])
def test_row_does_not_depend_on_its_neighbours(kernels: Kernels, name: str) -> None:
    draw = getattr(kernels, name)
    if name == "integer_rows":
        draw = functools.partial(draw, bound=1000)
    stack = kernels.to_numpy(draw(9, 2, 3, 4, 0, 7, 150))
    assert stack.shape == (4, 7, 150)
    for t, row in itertools.product(range(4), range(6)):
        alone = kernels.to_numpy(draw(9, 2, 3 + t, 1, row, 2, 150))
        np.testing.assert_array_equal(alone[0], stack[t, row : row + 2])


def test_key_stream_and_operator_all_count(kernels: Kernels) -> None:
    places = itertools.product([0, 1, 2**32, 2**63], [0, 1], [0, 1])
    drawn = [kernels.to_numpy(kernels.random_words(*place, 1, 4)).tobytes() for place in places]
    assert len(set(drawn)) == 16


@given(st.integers(0, 2**32), small, small, st.integers(1, 6))
def test_polynomial_hash_equals_exact_arithmetic(kernels: Kernels, seed: int, T: int, rows: int, k: int) -> None:
    coefficients = np.random.default_rng(seed).integers(0, PRIME, (T, rows, k), dtype=np.uint32)
    coefficients[-1, -1] = PRIME - 1
    hashed = kernels.to_numpy(kernels.polynomial_hash(kernels.asarray(coefficients), 50))
    assert hashed.dtype == np.uint32
    for t, r, x in itertools.product(range(T), range(rows), range(0, 50, 7)):
        exact = 0
        for power, coefficient in enumerate(reversed(coefficients[t, r].tolist())):
            exact += coefficient * x**power
        assert hashed[t, r, x] == exact % PRIME


def test_polynomial_hash_is_reduced(kernels: Kernels) -> None:
    """x - 1 is 0 at 1, not the prime."""
    coefficients = np.array([[[1, PRIME - 1]]], dtype=np.uint32)
    hashed = kernels.to_numpy(kernels.polynomial_hash(kernels.asarray(coefficients), 3))
    assert hashed[0, 0].tolist() == [PRIME - 1, 0, 1]


def test_polynomial_hash_far_out(kernels: Kernels) -> None:
    coefficients = np.full((1, 1, 4), PRIME - 1, dtype=np.uint32)
    hashed = kernels.to_numpy(kernels.polynomial_hash(kernels.asarray(coefficients), 2**20))
    for x in range(2**20 - 5, 2**20):
        assert hashed[0, 0, x] == -(x**3 + x**2 + x + 1) % PRIME


@given(st.integers(0, 2**32), small, st.integers(1, 6), st.integers(0, 20), st.integers(1, 30))
def test_distinct(kernels: Kernels, reference: Kernels, seed: int, T: int, s: int, extra: int, d: int) -> None:
    b = s + extra
    words = np.random.default_rng(seed).integers(0, 2**32, (T, s, d), dtype=np.uint32)
    chosen = kernels.to_numpy(kernels.distinct(kernels.asarray(words), b))
    assert chosen.dtype == np.int32
    assert chosen.min() >= 0
    assert chosen.max() < b
    ordered = np.sort(chosen, axis=1)
    assert (ordered[:, 1:] > ordered[:, :-1]).all()
    np.testing.assert_array_equal(chosen, reference.distinct(words, b))


@pytest.mark.parametrize(("b", "s"), [(5, 2), (5, 3), (4, 4), (6, 1)])
def test_distinct_is_uniform(kernels: Kernels, b: int, s: int) -> None:
    """Exact: words in the middle of every cell give every subset equally often."""
    cells = itertools.product(*(range(b - s + r + 1) for r in range(s)))
    words = [[int((c + 0.5) / (b - s + r + 1) * 2**32) for r, c in enumerate(cs)] for cs in cells]
    stack = np.array(words, dtype=np.uint32).T[None]
    chosen = kernels.to_numpy(kernels.distinct(kernels.asarray(stack), b))[0]
    counts = Counter(frozenset(column) for column in chosen.T.tolist())
    assert set(counts) == {frozenset(c) for c in itertools.combinations(range(b), s)}
    assert len(set(counts.values())) == 1


@pytest.mark.parametrize("entries", ["gaussian", "signs"])
@DTYPES
@given(keys, st.integers(0, 2**31), small, small, st.integers(1, 9), st.integers(1, 3000))
def test_dense_products_equal_the_rows(
    kernels: Kernels, entries: Any, dtype: Any, key: int, first: int, T: int, N: int, b: int, d: int
) -> None:
    """What is applied without being formed is the matrix that the rows form."""
    rows = kernels.gaussian_rows if entries == "gaussian" else kernels.sign_rows
    dense = kernels.to_numpy(rows(key, 3, first, T, 0, b, d)).astype(np.float64)
    rng = np.random.default_rng(d)
    for stack in {1, T}:
        x = rng.uniform(-1, 1, (stack, N, d)).astype(dtype)
        y = rng.uniform(-1, 1, (stack, N, b)).astype(dtype)
        place = (entries, key, 3, first, T)
        down = kernels.to_numpy(kernels.dense_sketch(*place, b, kernels.asarray(x)))
        up = kernels.to_numpy(kernels.dense_desketch(*place, d, kernels.asarray(y)))
        assert down.dtype == up.dtype == dtype
        tolerance = {"rtol": 0, "atol": 5 * d * ROUNDING[dtype]}
        np.testing.assert_allclose(down, x @ dense.swapaxes(1, 2), **tolerance)
        np.testing.assert_allclose(up, y @ dense, rtol=0, atol=5 * b * ROUNDING[dtype])


# Sparse matrices


@DTYPES
@given(st.integers(0, 2**32), small, small, small, st.integers(1, 12), st.integers(1, 12))
def test_sparse_equals_dense(kernels: Kernels, dtype: Any, seed: int, T: int, N: int, s: int, d: int, b: int) -> None:
    buckets, signs, dense = draw_sparse(seed, T, s, d, b)
    matrix = prepare(kernels, buckets, signs, b)
    rng = np.random.default_rng(seed + 1)
    for first in {1, T}:
        x = rng.uniform(-1, 1, (first, N, d)).astype(dtype)
        y = rng.uniform(-1, 1, (first, N, b)).astype(dtype)
        down = kernels.to_numpy(kernels.scatter(matrix, kernels.asarray(x)))
        up = kernels.to_numpy(kernels.gather(matrix, kernels.asarray(y)))
        assert down.dtype == up.dtype == dtype
        tolerance = 16 * ROUNDING[dtype]
        np.testing.assert_allclose(
            down, np.einsum("tbd,tnd->tnb", dense, np.broadcast_to(x, (T, N, d))), atol=tolerance
        )
        np.testing.assert_allclose(up, np.einsum("tbd,tnb->tnd", dense, np.broadcast_to(y, (T, N, b))), atol=tolerance)


@DTYPES
@pytest.mark.parametrize("d", [40, 2**17])
def test_projecting_is_scattering_and_gathering(kernels: Kernels, dtype: Any, d: int) -> None:
    buckets, signs, _ = draw_sparse(3, 2, 2, d, 12)
    matrix = prepare(kernels, buckets, signs, 12)
    for first in (1, 2):
        x = kernels.asarray(np.random.default_rng(4).standard_normal((first, 3, d)).astype(dtype))
        both = kernels.to_numpy(kernels.gather(matrix, kernels.scatter(matrix, x)))
        once = kernels.to_numpy(kernels.project(matrix, x))
        assert once.dtype == dtype
        np.testing.assert_allclose(once, both, 0, abs(both).max() * ROUNDING[dtype])


@pytest.mark.parametrize(
    ("N", "d", "b", "s"), [(1, 70_000, 200, 1), (1, 40_000, 3000, 3), (1, 20_000, 4, 1), (2, 2000, 64, 3)]
)
def test_long_vectors_equal_the_reference(
    compiled: Kernels, reference: Kernels, N: int, d: int, b: int, s: int
) -> None:
    """Two operators of two vectors, and one vector that is long enough to be shared out."""
    rng = np.random.default_rng(d)
    buckets = rng.integers(0, b, (N, s, d), dtype=np.int32)
    signs = rng.integers(-1, 2, (N, s, d), dtype=np.int8)
    x, y = rng.standard_normal((N, N, d)), rng.standard_normal((N, N, b))
    ours, theirs = prepare(compiled, buckets, signs, b), prepare(reference, buckets, signs, b)
    down = compiled.to_numpy(compiled.scatter(ours, compiled.asarray(x)))
    up = compiled.to_numpy(compiled.gather(ours, compiled.asarray(y)))
    np.testing.assert_allclose(down, reference.scatter(theirs, x), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(up, reference.gather(theirs, y), rtol=1e-12, atol=1e-12)


@DTYPES
@given(st.integers(0, 2**32), small, small, st.integers(1, 8), st.integers(1, 50), small)
def test_median_equals_numpy(kernels: Kernels, dtype: Any, seed: int, T: int, N: int, s: int, d: int, b: int) -> None:
    buckets, signs, _ = draw_sparse(seed, T, s, d, b)
    matrix = prepare(kernels, buckets, signs, b)
    for first in {1, T}:
        y = np.random.default_rng(seed).uniform(-1, 1, (first, N, b)).astype(dtype)
        found = kernels.to_numpy(kernels.median(matrix, kernels.asarray(y)))
        assert found.dtype == dtype
        for t, n, j in itertools.product(range(T), range(N), range(d)):
            cells = y[t % first, n, buckets[t, :, j]] * signs[t, :, j]
            assert found[t, n, j] == pytest.approx(np.median(cells), abs=2e-7)


@DTYPES
@given(st.integers(0, 2**32), small, small, st.integers(1, 40), st.integers(0, 60), st.booleans())
def test_collect_and_spread(
    kernels: Kernels, dtype: Any, seed: int, T: int, N: int, d: int, k: int, shared: bool
) -> None:
    """Against loops; places repeat, indices and vectors may be shared."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, d, (T, 1 if shared else N, k), dtype=np.int32), axis=-1)
    values = rng.integers(-9, 9, (T, N, k)).astype(dtype)
    before = rng.integers(-9, 9, (T, N, d)).astype(dtype)
    for first in {1, T}:
        found = kernels.to_numpy(kernels.collect(kernels.asarray(before[:first]), kernels.asarray(at)))
        assert found.shape == (T, N, k)
        assert found.dtype == dtype
        for t, n in itertools.product(range(T), range(N)):
            expected = before[t % first, n, at[t, n % at.shape[1]]]
            np.testing.assert_array_equal(found[t, n], expected)
    for keep in (False, True):
        expected = before.copy() if keep else np.zeros_like(before)
        for t, n, i in itertools.product(range(T), range(N), range(k)):
            expected[t, n, at[t, n % at.shape[1], i]] += values[t, n, i]
        out = kernels.asarray(before.copy())
        result = kernels.spread(kernels.asarray(at), kernels.asarray(values), out, keep)
        np.testing.assert_array_equal(kernels.to_numpy(result), expected)
        np.testing.assert_array_equal(kernels.to_numpy(out), expected)


@pytest.mark.parametrize("k", [1, 7, 1000, 300_000])
@pytest.mark.parametrize("repeats", [False, True])
def test_spread_over_long_vectors(compiled: Kernels, reference: Kernels, k: int, repeats: bool) -> None:
    """Long enough to be shared out, with runs of equal places across every boundary."""
    d = 2**19
    rng = np.random.default_rng(k)
    at = rng.integers(0, d, (1, 1, k)) if not repeats else rng.integers(0, 9, (1, 1, k)) * 1000
    at = np.sort(at, axis=-1).astype(np.int32)
    values = rng.integers(-9, 9, (1, 1, k)).astype(np.float64)
    for keep in (False, True):
        ours, theirs = compiled.xp.ones((1, 1, d)), np.ones((1, 1, d))
        compiled.spread(compiled.asarray(at), compiled.asarray(values), ours, keep)
        reference.spread(at, values, theirs, keep)
        np.testing.assert_array_equal(compiled.to_numpy(ours), theirs)


@DTYPES
@given(st.integers(0, 2**32), small, st.integers(1, 200), st.floats(0, 1), st.booleans())
def test_largest(kernels: Kernels, dtype: Any, seed: int, N: int, d: int, share: float, tie: bool) -> None:
    """The k largest magnitudes; of equal ones, the first. Signs and zeros of either sign don't count."""
    k = round(share * d)
    x = np.random.default_rng(seed).standard_normal((N, d)).astype(dtype)
    if tie:
        x = np.round(x)
    found = kernels.to_numpy(kernels.largest(kernels.asarray(x), k))
    assert found.dtype == np.int32
    assert found.shape == (N, k)
    for row, indices in zip(x, found.tolist(), strict=True):
        order = sorted(range(d), key=lambda j: (-abs(row[j]), j))
        assert indices == sorted(order[:k])


@DTYPES
@pytest.mark.parametrize("kind", ["normal", "equal", "zero", "tiny", "two_values", "wide"])
def test_largest_of_many(compiled: Kernels, reference: Kernels, dtype: Any, kind: str) -> None:
    """Long rows, and the distributions that are hard for a selection by digits."""
    normal = np.random.default_rng(3).standard_normal((2, 40_000))
    x = {
        "normal": normal,
        "equal": np.where(normal > 0, 3.0, -3.0),
        "zero": np.where(normal > 0, 0.0, -0.0),
        "tiny": normal * np.finfo(dtype).tiny,  # subnormal, most of them
        "two_values": np.where(normal > 1, 1.0, np.nextafter(1, 2, dtype=dtype)),
        "wide": np.exp(20 * normal),
    }[kind].astype(dtype)
    for k in (1, 777, 39_999, 40_000):
        found = compiled.to_numpy(compiled.largest(compiled.asarray(x), k))
        np.testing.assert_array_equal(found, reference.largest(x, k))


def test_largest_after_a_wrong_guess(monkeypatch: pytest.MonkeyPatch, reference: Kernels) -> None:
    x = np.random.default_rng(4).standard_normal((3, 30_000))

    def guess(bits: Any, magnitude: Any, wanted: int, least: Any, work: int) -> None:
        least[:] = [0, np.float64(2).view(np.uint64), magnitude]

    monkeypatch.setattr(numba_selection, "_guess", guess)
    np.testing.assert_array_equal(numba_selection.largest(x, 9000), reference.largest(x, 9000))


# Arithmetic


@DTYPES
@pytest.mark.parametrize("d", [1, 100, 9_000, 50_000])
def test_an_inner_product_depends_on_no_other_row(compiled: Kernels, dtype: Any, d: int) -> None:
    """So that a recovery gives the same whatever signals are beside it."""
    rows = compiled.asarray(np.random.default_rng(d).standard_normal((2, 7, d)).astype(dtype))
    whole = compiled.to_numpy(compiled.inner(*rows))
    for count in (1, 2, 5):
        part = compiled.inner(*(one[7 - count :] for one in rows))
        np.testing.assert_array_equal(compiled.to_numpy(part), whole[7 - count :])


@DTYPES
@pytest.mark.parametrize("shape", [(0, 3), (2, 1), (3, 100), (2, 50_000)])
def test_arithmetic_equals_the_reference(
    kernels: Kernels, reference: Kernels, dtype: Any, shape: tuple[int, int]
) -> None:
    """Sums to rounding, all else bit for bit; short rows, and some that take several chunks and a team."""
    rng = np.random.default_rng(shape)
    u, v = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    scale = rng.standard_normal((len(u), 1)).astype(dtype)
    found = kernels.to_numpy(kernels.inner(kernels.asarray(u), kernels.asarray(v)))
    assert found.dtype == dtype
    exact = (u.astype(np.float64) * v).sum(axis=1)
    np.testing.assert_allclose(found, exact, rtol=0, atol=10 * ROUNDING[dtype] * shape[1] ** 0.5)
    out = kernels.asarray(v.copy())
    assert kernels.add_to_scaled(kernels.asarray(u), kernels.asarray(scale), out) is out
    np.testing.assert_array_equal(kernels.to_numpy(out), reference.add_to_scaled(u, scale, v.copy()))
    k = shape[1] // 2 + 1
    places = np.sort(rng.integers(0, shape[1], (2, len(u), k), dtype=np.int32), axis=-1)
    terms = [(at, rng.standard_normal(at.shape).astype(dtype)) for at in places]
    moved = [tuple(map(kernels.asarray, term)) for term in terms]
    out = kernels.asarray(v.copy())
    assert kernels.scale_and_add(out, kernels.asarray(scale), moved) is out
    np.testing.assert_allclose(
        kernels.to_numpy(out), reference.scale_and_add(v.copy(), scale, terms), atol=9 * ROUNDING[dtype]
    )


@DTYPES
@given(st.integers(0, 2**32), st.integers(0, 4), st.integers(1, 60), st.floats(0, 1), st.floats(0, 1))
def test_move_shared(kernels: Kernels, dtype: Any, seed: int, N: int, d: int, first: float, second: float) -> None:
    rng = np.random.default_rng(seed)
    at, others = (
        np.argsort(rng.random((N, d)), axis=1)[:, : round(share * d)].astype(np.int32) for share in (first, second)
    )
    at, others = np.sort(at, axis=1), np.sort(others, axis=1)
    values, entries = (rng.integers(1, 9, places.shape).astype(dtype) for places in (at, others))

    def dense(places: Any, numbers: Any) -> Any:
        whole = np.zeros((N, d))
        np.put_along_axis(whole, places, numbers, axis=1)
        return whole

    total = dense(at, values) + dense(others, entries)
    ours = [kernels.asarray(part.copy()) for part in (at, values, others, entries)]
    kernels.move_shared(*ours)
    one, two = (dense(kernels.to_numpy(ours[i]), kernels.to_numpy(ours[i + 1])) for i in (0, 2))
    np.testing.assert_array_equal(one + two, total)
    assert not (one * two).any()


@DTYPES
def test_empty(kernels: Kernels, dtype: Any) -> None:
    for shape in ((3, 5), (0, 4), (2**10,)):
        made = kernels.empty(shape, dtype)
        assert made.shape == shape
        assert made.dtype == dtype
        assert made.flags.c_contiguous
        if kernels.NAME != "cupy" and made.size:
            assert made.ctypes.data % 64 == 0


# Transforms


@DTYPES
@pytest.mark.parametrize("n", [1, 2, 4, 8, 64, 512])
def test_walsh_hadamard_equals_scipy(kernels: Kernels, dtype: Any, n: int) -> None:
    x = np.random.default_rng(n).standard_normal((2, 3, n)).astype(dtype)
    expected = x.astype(np.float64) @ scipy.linalg.hadamard(n) / np.sqrt(n)
    result = kernels.to_numpy(kernels.walsh_hadamard(kernels.asarray(x.copy())))
    assert result.dtype == dtype
    assert result.shape == x.shape
    np.testing.assert_allclose(result, expected, atol=20 * ROUNDING[dtype])


@DTYPES
@pytest.mark.parametrize(
    "shape", [(1, 2**14), (3, 2**15), (1, 2**17), (1, 2**20), (300, 16), (5, 1024), (0, 8), (2, 0, 4)]
)
def test_walsh_hadamard_of_every_size(
    compiled: Kernels, reference: Kernels, dtype: Any, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    result = compiled.to_numpy(compiled.walsh_hadamard(compiled.asarray(x.copy())))
    assert result.shape == shape
    tolerance = 20 * ROUNDING[dtype]
    np.testing.assert_allclose(result, reference.walsh_hadamard(x), rtol=0, atol=tolerance)


@DTYPES
@pytest.mark.parametrize("n", [1, 4, 32, 64, 128, 2**11, 2**15, 2**17])
@pytest.mark.parametrize("short", [False, True])
def test_walsh_hadamard_bit_for_bit(monkeypatch: pytest.MonkeyPatch, dtype: Any, n: int, short: bool) -> None:
    ours, reference = backends.load("numba"), backends.load("numpy")
    if short:
        shorten(monkeypatch)
    x = np.random.default_rng(n).standard_normal((3, n)).astype(dtype)
    np.testing.assert_array_equal(ours.walsh_hadamard(x.copy()), reference.walsh_hadamard(x))


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and panels as if caches were small, so that short transforms take all the passes of long ones."""
    for name, value in {"_LEAST": 2**10, "_MOST": 2**11, "_PANEL": 2**12}.items():
        monkeypatch.setattr(numba_hadamard, name, value)


@DTYPES
@pytest.mark.parametrize(("T", "N", "n"), [(1, 1, 1), (2, 3, 16), (1, 2, 2**11), (2, 1, 2**15), (1, 1, 2**17)])
@pytest.mark.parametrize("short", [False, True])
def test_hadamard_of_sparse_and_of_some(
    monkeypatch: pytest.MonkeyPatch,
    kernels: Kernels,
    reference: Kernels,
    dtype: Any,
    T: int,
    N: int,
    n: int,
    short: bool,
) -> None:
    """Bit for bit what spreading, transforming and collecting make; places repeat, and are shared by vectors."""
    if short:
        shorten(monkeypatch)
    rng, exact = np.random.default_rng(n), kernels.NAME != "cupy"
    at = np.sort(rng.integers(0, n, (T, 1, n // 3 + 1), dtype=np.int32), axis=-1)
    terms = [(at, rng.standard_normal((T, N, n // 3 + 1)).astype(dtype))]
    few = np.sort(rng.integers(0, n, (T, N, 5), dtype=np.int32), axis=-1)
    terms.append((np.sort(few, axis=-1), rng.standard_normal((T, N, 5)).astype(dtype)))
    if N > 1:
        terms[0] = (np.repeat(at, N, axis=1), terms[0][1])

    def room() -> Any:
        return kernels.xp.full((T, N, n), 7, dtype=dtype)

    def check(found: Any, expected: Any) -> None:
        assert found.dtype == dtype
        tolerance = 0 if exact else 50 * ROUNDING[dtype]
        np.testing.assert_allclose(kernels.to_numpy(found), expected, rtol=0, atol=tolerance)

    moved = [tuple(map(kernels.asarray, term)) for term in terms]
    up = reference.spread(at, terms[0][1] * dtype(1.7), np.empty((T, N, n), dtype))
    found = kernels.spread_hadamard(kernels.asarray(at), moved[0][1], 1.7, room())
    check(found, reference.walsh_hadamard(up))
    total = reference.spread(*terms[0], np.empty((T, N, n), dtype))
    reference.spread(*terms[1], total, keep=True)
    wanted = reference.collect(reference.walsh_hadamard(total), at) * dtype(0.3)
    check(kernels.spread_hadamard_collect(moved, room(), kernels.asarray(at), 0.3), wanted)
    check(kernels.hadamard_collect(kernels.asarray(total.copy()), kernels.asarray(at), 0.3), wanted)
    shared = reference.collect(reference.walsh_hadamard(total[:1]), at) * dtype(0.3)
    check(kernels.hadamard_collect(kernels.asarray(total[:1].copy()), kernels.asarray(at), 0.3), shared)


@DTYPES
@pytest.mark.parametrize("short", [True, False], ids=["in one call", "in passes"])
@pytest.mark.parametrize(("d", "n"), [(1, 1), (5, 8), (1000, 1024), (2**12 + 1, 2**13), (2**14, 2**14)])
@pytest.mark.parametrize(("T", "N", "vectors"), [(1, 1, "one"), (3, 2, "each"), (3, 2, "shared"), (3, 2, "unsigned")])
def test_sampled_hadamard(
    monkeypatch: pytest.MonkeyPatch, kernels: Kernels, reference: Kernels, dtype: Any, d: int, n: int, T: int, N: int,
    vectors: str, short: bool,
) -> None:  # fmt: skip
    """The same bits as padding, signs, transform and samples one after the other; the input stays."""
    shorten(monkeypatch)
    if not short:
        monkeypatch.setattr(numba_hadamard, "_SHORT", 0)
    rng, lines = np.random.default_rng(d), 1 if vectors in ("shared", "unsigned") else T
    signs = None if vectors == "unsigned" else rng.choice(np.array([-1, 1], np.int8), (T, 1, d))
    x, at = rng.standard_normal((lines, N, d)).astype(dtype), np.sort(rng.integers(0, n, (T, 1, 7), dtype=np.int32))
    padded = np.zeros((lines if signs is None else T, N, n), dtype)
    padded[..., :d] = x if signs is None else x * signs
    wanted = kernels.hadamard_collect(kernels.asarray(padded.copy()), kernels.asarray(at), 0.3)
    given, moved = kernels.asarray(x), None if signs is None else kernels.asarray(signs)
    room = functools.partial(kernels.xp.full, padded.shape, 7, dtype=dtype)
    found = kernels.to_numpy(kernels.sampled_hadamard(given, moved, n, kernels.asarray(at), 0.3, room))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, kernels.to_numpy(wanted))
    np.testing.assert_array_equal(kernels.to_numpy(given), x)
    expected = reference.collect(reference.walsh_hadamard(padded), at) * dtype(0.3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=50 * ROUNDING[dtype])


@DTYPES
@pytest.mark.parametrize(("T", "N", "terms"), [(1, 1, 1), (1, 1, 2), (2, 3, 2)])
def test_hadamard_of_few_entries(
    monkeypatch: pytest.MonkeyPatch, kernels: Kernels, reference: Kernels, dtype: Any, T: int, N: int, terms: int
) -> None:
    """So few that what is collected may be made in parts; places repeat, and are shared by vectors."""
    shorten(monkeypatch)
    n, rng, parts = 2**14, np.random.default_rng(T), []
    if kernels.NAME == "numba":
        monkeypatch.setattr(numba_hadamard, "_collect_last", None)
    for _ in range(terms):
        at = np.sort(rng.integers(0, n, (T, N, 300), dtype=np.int32), axis=-1)
        parts.append((at, rng.standard_normal((T, N, 300)).astype(dtype)))
    wanted = np.sort(rng.integers(0, n, (T, 1, 5000), dtype=np.int32), axis=-1)
    room = kernels.xp.full((T, N, n), 7, dtype=dtype)
    moved = [tuple(map(kernels.asarray, part)) for part in parts]
    found = kernels.to_numpy(kernels.spread_hadamard_collect(moved, room, kernels.asarray(wanted), 1.7))
    expected = reference.spread_hadamard_collect(parts, np.empty((T, N, n), dtype), wanted, 1.7)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=50 * ROUNDING[dtype])


@DTYPES
def test_walsh_hadamard_works_in_place(compiled: Kernels, dtype: Any) -> None:
    x = compiled.asarray(np.random.default_rng(2).standard_normal((2, 256)).astype(dtype))
    result = compiled.walsh_hadamard(x)
    np.testing.assert_array_equal(compiled.to_numpy(result), compiled.to_numpy(x))


def test_walsh_hadamard_of_a_strided_array(kernels: Kernels) -> None:
    x = np.random.default_rng(0).standard_normal((8, 3, 2))
    expected = np.moveaxis(x, 0, -1) @ scipy.linalg.hadamard(8) / np.sqrt(8)
    strided = kernels.xp.moveaxis(kernels.asarray(x), 0, -1)
    np.testing.assert_allclose(kernels.to_numpy(kernels.walsh_hadamard(strided)), expected, atol=1e-14)


@DTYPES
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 25])
def test_cosine_pair(kernels: Kernels, dtype: Any, n: int) -> None:
    """The orthonormal DCT-II by its definition, and its transpose."""
    k, j = np.arange(n)[:, None], np.arange(n)[None, :]
    matrix = np.sqrt(2 / n) * np.cos(np.pi * (2 * j + 1) * k / (2 * n))
    matrix[0] = n**-0.5
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(n), atol=1e-13)
    x = np.random.default_rng(n).standard_normal((2, 3, n)).astype(dtype)
    for apply, dense in ((kernels.cosine, matrix.T), (kernels.cosine_transpose, matrix)):
        result = kernels.to_numpy(apply(kernels.asarray(x)))
        assert result.dtype == dtype
        np.testing.assert_allclose(result, x.astype(np.float64) @ dense, atol=20 * ROUNDING[dtype])
    back = kernels.cosine_transpose(kernels.cosine(kernels.asarray(x)))
    np.testing.assert_allclose(kernels.to_numpy(back), x, atol=20 * ROUNDING[dtype])
