"""What every recovery config must give, on every backend, and what every sketch gives to recoveries."""

import copy
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from configs import NAMES as SKETCHES
from configs import admissible
from configs import family as sketch_family
from examples import examples
from hydra.utils import instantiate
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sketchbench.kernels import Array, Kernels
from sketchbench.run import execution
from sketchbench.run.config import composition
from sketchbench.sketch import Family, Sketch
from sketchbench.sketch.recovery import CountSketchMedian, Desketch, Recovery
from sketchbench.sketch.recovery import recovery as module
from sketchbench.sketch.recovery.iterative import Iterative
from sketchbench.task.recovery.signals import draw_sparse, relative_error

FOLDER = composition.CONF / "recovery"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))  # those in control/ recover nothing on purpose
KEY = 2**63 + 4321
D, B, K = 211, 150, 6  # padded to 216 or 256; five rows of 30 cells; enough for six nonzeros
NOISE = 0.05
EVERY = pytest.mark.parametrize("name", NAMES)
EVERY_SKETCH = pytest.mark.parametrize("name", SKETCHES)

Make = Callable[..., Recovery]
Vectors = NDArray[np.float64]


@functools.cache
def config(name: str) -> dict[str, Any]:
    overrides = ["task=reconstruction", f"recovery={name}", f"d={D}", f"b={B}", "kernels=numpy"]
    return composition.frozen(composition.compose(overrides)).config


def make(name: str) -> Make:
    return functools.partial(instantiate, config(name)["recovery"]["algorithm"])


def family(name: str) -> Family:
    made = execution.family_of(config(name))
    assert isinstance(made, Family)
    return made


def sensed(sensing: Family, kernels: Kernels, x: Vectors, dtype: Any = np.float64) -> tuple[Sketch, Array]:
    sketch = sensing.draw(KEY, kernels=kernels)
    return sketch, sketch.sketch(kernels.asarray(x.astype(dtype)))


def kept(v: Vectors, k: int) -> Vectors:
    """The k largest magnitudes of a vector, one after the other; zeros elsewhere."""
    left, found = abs(v), np.zeros_like(v)
    for _ in range(k):
        j = int(left.argmax())
        found[j], left[j] = v[j], -1
    return found


# Checks that the mutants of tests/mutant must not pass, either


def check_shapes(method: Make, sensing: Family, kernels: Kernels) -> None:
    for shape, dtype in itertools.product(((), (4,), (2, 3), (0,), (2, 0)), ("float32", "float64")):
        x = draw_sparse(D, K, int(np.prod(shape)), 1, noise=NOISE).reshape(*shape, D)
        found = method(k=K).recover(*sensed(sensing, kernels, x, dtype))
        assert found.x.shape == (*shape, D)
        assert found.iterations.shape == shape
        assert found.trace.shape[:-1] == shape
        assert found.x.dtype == found.trace.dtype == dtype
        assert kernels.to_numpy(found.iterations).dtype == np.int64
        estimates = kernels.to_numpy(found.x)
        assert np.isfinite(estimates).all()
        assert ((estimates != 0).sum(axis=-1) <= K).all()


def check_recovers(method: Make, sensing: Family, kernels: Kernels) -> None:
    """Exactly sparse signals are found: the squared error is at most 1e-5 of the square."""
    for dtype in (np.float32, np.float64):
        x = draw_sparse(D, K, 20, 2)
        found = method(k=K).recover(*sensed(sensing, kernels, x, dtype))
        assert relative_error(x, kernels.to_numpy(found.x)).max() < 1e-5


def check_trace(method: Make, sensing: Family, kernels: Kernels) -> None:
    """One residual norm an iteration, then NaN; the last one is that of the result."""
    x = draw_sparse(D, K, 20, 3, noise=NOISE)
    sketch, y = sensed(sensing, kernels, x)
    recovery = method(k=K)
    found = recovery.recover(sketch, y)
    iterations, trace = kernels.to_numpy(found.iterations), kernels.to_numpy(found.trace)
    assert trace.shape == (20, iterations.max())
    assert isinstance(recovery, Iterative) == (iterations > 0).all() == (iterations > 0).any()
    np.testing.assert_array_equal(np.isfinite(trace), np.arange(trace.shape[1]) < iterations[:, None])
    if isinstance(recovery, Iterative):
        residuals = np.linalg.norm(kernels.to_numpy(y - sketch.sketch(found.x)), axis=1)
        whole = (kernels.to_numpy(found.x) != 0).sum(axis=1) == K  # nothing in the padding is cut
        assert whole.sum() >= 3
        last = trace[np.arange(20), iterations - 1]
        np.testing.assert_allclose(last[whole], residuals[whole], rtol=1e-10)


def check_formula(method: Make, sensing: Family, kernels: Kernels) -> None:
    """What does not iterate equals its formula on the dense matrix, whose columns are sketches."""
    x = draw_sparse(D, K, 5, 4, noise=NOISE)
    sketch, y = sensed(sensing, kernels, x)
    recovery = method(k=K)
    found = kernels.to_numpy(recovery.recover(sketch, y).x)
    R = kernels.to_numpy(sketch.sketch(kernels.asarray(np.eye(D)))).T
    for estimate, cells in zip(found, kernels.to_numpy(y), strict=True):
        if isinstance(recovery, CountSketchMedian):
            said = [np.median(cells[column != 0] / column[column != 0]) for column in R.T]
        else:
            assert isinstance(recovery, Desketch)
            said = list(R.T @ cells)
        np.testing.assert_allclose(estimate, kept(np.array(said), K), rtol=1e-11, atol=1e-11)


def check_scale(method: Make, sensing: Family, kernels: Kernels, dtype: Any, exponents: tuple[int, ...]) -> None:
    """Powers of two scale the estimates; under the paper's stopping rule, which has a unit, tiny ones stop early."""
    x = draw_sparse(D, K, len(exponents), 13, noise=NOISE)
    sketch, y = sensed(sensing, kernels, x, dtype)
    recovery = method(k=K)
    paper = isinstance(recovery, Iterative) and recovery.stopping != "relative"
    expected = recovery.recover(sketch, 2.0**20 * y if paper else y)
    scales = [exponent - 20 * paper for exponent in exponents]
    found = recovery.recover(sketch, kernels.asarray(np.ldexp(kernels.to_numpy(y), np.array(exponents)[:, None])))
    for n, exponent in enumerate(scales):
        if paper and exponent < 0:  # some are below the paper's threshold
            assert exponent > -45 or int(found.iterations[n]) == 1
            continue
        assert int(found.iterations[n]) == int(expected.iterations[n])
        for one, other in ((found.x[n], expected.x[n]), (found.trace[n], expected.trace[n])):
            shorter = min(one.shape[0], other.shape[0])
            scaled = np.ldexp(kernels.to_numpy(other), exponent)
            np.testing.assert_array_equal(kernels.to_numpy(one)[:shorter], scaled[:shorter])


# The configs


def test_all_configs_are_found() -> None:
    assert {"fiht", "fiht_relative", "iht", "count_sketch", "desketch_srht"} <= set(NAMES)


@EVERY
def test_config_makes_what_it_says(name: str) -> None:
    frozen = config(name)["recovery"]
    assert frozen["name"] == name
    assert set(frozen) == {"name", "algorithm", "sensing"}
    recovery, sensing = make(name)(k=K), family(name)
    assert isinstance(recovery, Recovery)
    assert (recovery.k, sensing.d, sensing.b) == (K, D, B)
    for described, made in ((frozen["algorithm"], recovery), (frozen["sensing"], sensing)):
        for key, value in described.items():
            if key != "_target_":
                assert getattr(made, key) == value, key


# What every recovery gives


@EVERY
def test_shapes(kernels: Kernels, name: str) -> None:
    check_shapes(make(name), family(name), kernels)


@EVERY
def test_trace(kernels: Kernels, name: str) -> None:
    check_trace(make(name), family(name), kernels)


@EVERY
def test_sparse_signals_are_recovered_and_decoding_equals_its_formula(kernels: Kernels, name: str) -> None:
    check = check_recovers if isinstance(make(name)(k=K), Iterative) else check_formula
    check(make(name), family(name), kernels)


@EVERY
def test_signals_do_not_depend_on_their_neighbours(
    monkeypatch: pytest.MonkeyPatch, kernels: Kernels, name: str
) -> None:
    """Together, one by one, and in blocks of two: the same to rounding, after as many iterations."""
    sketch, y = sensed(family(name), kernels, draw_sparse(D, K, 7, 5, noise=NOISE))
    recovery = make(name)(k=K)
    together = recovery.recover(sketch, y)
    monkeypatch.setattr(module, "WORKSPACE", 2 * sketch.padded().d)
    in_blocks = recovery.recover(sketch, y)
    for one, other in zip(together, in_blocks, strict=True):
        np.testing.assert_allclose(kernels.to_numpy(one), kernels.to_numpy(other), rtol=1e-9, atol=1e-12)
    for t in range(7):
        alone = recovery.recover(sketch, y[t])
        assert int(alone.iterations) == int(together.iterations[t])
        for one, other in ((alone.x, together.x[t]), (alone.trace, together.trace[t])):
            length = one.shape[0]
            np.testing.assert_allclose(kernels.to_numpy(one), kernels.to_numpy(other)[:length], rtol=1e-9, atol=1e-12)


@EVERY
def test_a_stack_of_operators(monkeypatch: pytest.MonkeyPatch, kernels: Kernels, name: str) -> None:
    """Drawn or joined, whole or in blocks: what each operator gives alone, bit for bit on a CPU."""
    sizes, recovery = family(name), make(name)(k=K)
    stack = sizes.draw(KEY, operators=5, kernels=kernels)
    alone = [sizes.draw(KEY, first=t, kernels=kernels) for t in range(5)]
    units = np.array([1.0, 1e-3, 1e-200, 1.0, 1e5])[:, None, None]
    x = kernels.asarray(units * draw_sparse(D, K, 10, 5, noise=NOISE).reshape(5, 2, D))
    y = stack.sketch(x)
    wanted = [recovery.recover(one, y[t]) for t, one in enumerate(alone)]
    for several in (stack, alone[0].join(alone[1:])):
        for block in (module.WORKSPACE, 2 * stack.padded().d):
            monkeypatch.setattr(module, "WORKSPACE", block)
            found = recovery.recover(several, y)
            for t, one in enumerate(wanted):
                for part, other in zip(one, found, strict=True):
                    mine, theirs = kernels.to_numpy(part), kernels.to_numpy(other)[t]
                    theirs = theirs[:, : mine.shape[1]] if mine.ndim == 2 else theirs
                    np.testing.assert_allclose(theirs, mine, rtol=0 if kernels.NAME != "cupy" else 1e-9, atol=0)


@EVERY
def test_argument_and_earlier_results_are_left_alone(kernels: Kernels, name: str) -> None:
    sketch, y = sensed(family(name), kernels, draw_sparse(D, K, 3, 7, noise=NOISE))
    recovery = make(name)(k=K)
    before = kernels.to_numpy(y).copy()
    found = recovery.recover(sketch, y)
    first = [kernels.to_numpy(part).copy() for part in found]
    recovery.recover(sketch, -2.5 * y[::-1])
    np.testing.assert_array_equal(kernels.to_numpy(y), before)
    again = recovery.recover(sketch, y)
    for once, now, twice in zip(first, found, again, strict=True):
        np.testing.assert_array_equal(once, kernels.to_numpy(now))
        np.testing.assert_array_equal(once, kernels.to_numpy(twice))


@EVERY
def test_zero(kernels: Kernels, name: str) -> None:
    """Among other signals, too: no step is taken along nothing."""
    x = draw_sparse(D, K, 3, 8, noise=NOISE)
    x[1] = 0
    sketch, y = sensed(family(name), kernels, x)
    recovery = make(name)(k=K)
    found = recovery.recover(sketch, y)
    alone = recovery.recover(sketch, y[1])
    for estimate, trace in ((found.x[1], found.trace[1]), (alone.x, alone.trace)):
        assert not kernels.to_numpy(estimate).any()
        assert np.nansum(kernels.to_numpy(trace)) == 0
    assert int(found.iterations[1]) == int(alone.iterations) == isinstance(recovery, Iterative)
    assert kernels.to_numpy(found.x)[[0, 2]].any(axis=1).all()


@EVERY
def test_sign(kernels: Kernels, name: str) -> None:
    sketch, y = sensed(family(name), kernels, draw_sparse(D, K, 4, 9, noise=NOISE))
    one, other = (make(name)(k=K).recover(sketch, side) for side in (y, -y))
    np.testing.assert_array_equal(kernels.to_numpy(one.x), -kernels.to_numpy(other.x))
    np.testing.assert_array_equal(kernels.to_numpy(one.trace), kernels.to_numpy(other.trace))


@EVERY
@examples(15)
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]))
def test_scale(kernels: Kernels, name: str, data: st.DataObject, dtype: Any) -> None:
    """From near the smallest normal number, where no bit of a measurement is lost, to near the largest."""
    limits = np.finfo(dtype)
    exponent = st.integers(limits.minexp + limits.nmant + 20, limits.maxexp - 12)
    exponents = data.draw(st.lists(exponent, min_size=3, max_size=3))
    check_scale(make(name), family(name), kernels, dtype, (0, limits.minexp + 50, limits.maxexp - 12, *exponents))


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_and_largest_measurements(kernels: Kernels, name: str, dtype: Any) -> None:
    """An estimate, or an error that says it is beyond; a device may take float32 below the normal numbers for 0."""
    sketch, recovery, largest = family(name).draw(KEY, kernels=kernels), make(name)(k=K), np.finfo(dtype).max
    for value in (largest, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal):
        y = np.full(B, value, dtype=dtype)
        allowed = ["scale the measurements down"] if value == largest else []
        try:
            estimate = kernels.to_numpy(recovery.recover(sketch, kernels.asarray(y)).x)
        except OverflowError as error:
            refused = str(error)
            assert any(refused.endswith(text) for text in allowed), refused
        else:
            assert np.isfinite(estimate).all()
            flushed = kernels.NAME == "cupy" and dtype == np.float32 and value < np.finfo(dtype).tiny
            assert estimate.any() or flushed


@EVERY
def test_same_on_every_backend(compiled: Kernels, reference: Kernels, name: str) -> None:
    x = draw_sparse(D, K, 6, 11, noise=NOISE)
    ours = make(name)(k=K).recover(*sensed(family(name), compiled, x))
    theirs = make(name)(k=K).recover(*sensed(family(name), reference, x))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(compiled.to_numpy(one), other, rtol=1e-9, atol=1e-11)


@EVERY
@pytest.mark.parametrize("k", [1, D])
def test_fewest_and_most_nonzeros(kernels: Kernels, name: str, k: int) -> None:
    sketch, y = sensed(family(name), kernels, draw_sparse(D, K, 2, 12, noise=NOISE))
    estimates = kernels.to_numpy(make(name)(k=k).recover(sketch, y).x)
    assert np.isfinite(estimates).all()
    assert ((estimates != 0).sum(axis=1) <= k).all()
    assert estimates.any(axis=1).all()


# What every sketch gives to them


def dense(sketch: Sketch) -> Any:
    return sketch.kernels.to_numpy(sketch.materialize())


@EVERY_SKETCH
@examples(15)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_sketch_of_sparse_vectors(kernels: Kernels, name: str, data: st.DataObject, seed: int) -> None:
    """That of the dense sum, where terms overlap, too: before and after padding, with memory or not."""
    sizes = data.draw(st.sampled_from(admissible(name)))
    terms, N = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 4))
    sketch = sizes.draw(seed, kernels=kernels)
    rng = np.random.default_rng(seed)
    for phi in (sketch, sketch.padded(), sketch.with_workspace(), sketch.padded().with_workspace()):
        for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-13)):
            k = int(rng.integers(1, phi.d + 1))
            x, pairs = np.zeros((N, phi.d)), []
            for _ in range(terms):
                every = np.tile(np.arange(phi.d, dtype=np.int32), (N, 1))
                at = np.sort(rng.permuted(every, axis=1)[:, :k], axis=1)
                values = rng.uniform(-1, 1, (N, k)).astype(dtype)
                np.add.at(x, (np.arange(N)[:, None], at), values)
                pairs.append((kernels.asarray(at), kernels.asarray(values)))
            found = kernels.to_numpy(phi.sketch_sparse(*pairs))
            assert found.dtype == dtype
            np.testing.assert_allclose(found, x @ dense(phi).T, rtol=0, atol=tolerance * 10 * phi.d**0.5)


@EVERY_SKETCH
def test_padded_domain(kernels: Kernels, name: str) -> None:
    """R P = R there, with P padding; the operator itself stays as it was."""
    for sizes in admissible(name)[:: max(1, len(admissible(name)) // 12)]:
        sketch = sizes.draw(KEY, kernels=kernels)
        whole = sketch.padded()
        R, S = dense(sketch), dense(whole)
        alone = name.endswith("_quarter")  # made of another family, whose padding is its own
        assert whole.d == (sizes.d if alone else getattr(sizes, "n", sizes.d))
        assert (S.shape, R.shape) == ((sizes.b, whole.d), (sizes.b, sizes.d))
        np.testing.assert_allclose(S[:, : sizes.d], R, rtol=1e-13, atol=1e-13)
        assert whole.padded().d == whole.d
        y = kernels.asarray(np.random.default_rng(1).standard_normal((2, sizes.b)))
        up = kernels.to_numpy(whole.desketch(y))
        np.testing.assert_allclose(up[:, : sizes.d], kernels.to_numpy(sketch.desketch(y)), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(up, kernels.to_numpy(y) @ S, rtol=1e-12, atol=1e-12)


@EVERY_SKETCH
def test_memory_of_its_own_changes_nothing(kernels: Kernels, name: str) -> None:
    sketch = sketch_family(name).draw(KEY, kernels=kernels)
    working = sketch.with_workspace()
    rng = np.random.default_rng(2)
    for shape, dtype in itertools.product(((3,), (), (2, 4), (1,), (7,), (0,)), (np.float64, np.float32, np.float64)):
        for side, length in (("sketch", sketch.d), ("desketch", sketch.b)):
            v = kernels.asarray(rng.standard_normal((*shape, length)).astype(dtype))
            before = copy.copy(kernels.to_numpy(v))
            expected = kernels.to_numpy(getattr(sketch, side)(v))
            found = kernels.to_numpy(getattr(working, side)(v))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(kernels.to_numpy(v), before)


@EVERY_SKETCH
def test_sketches_outlive_the_memory_they_came_from(kernels: Kernels, name: str) -> None:
    """What `sketch` and `sketch_sparse` return is good for ever; what `desketch` does, until the next."""
    working = sketch_family(name).draw(KEY, kernels=kernels).with_workspace()
    x = kernels.asarray(np.random.default_rng(3).standard_normal((3, working.d)))
    y = working.sketch(x)
    at = kernels.asarray(np.tile(np.arange(working.d, dtype=np.int32), (3, 1)))
    z = working.sketch_sparse((at, x))
    up = working.desketch(y)
    kept_y, kept_z, kept_up = (kernels.to_numpy(part).copy() for part in (y, z, up))
    working.sketch(2 * x)
    working.sketch_sparse((at, -x))
    np.testing.assert_array_equal(kernels.to_numpy(up), kept_up)
    working.desketch(3 * y)
    np.testing.assert_array_equal(kernels.to_numpy(y), kept_y)
    np.testing.assert_array_equal(kernels.to_numpy(z), kept_z)
