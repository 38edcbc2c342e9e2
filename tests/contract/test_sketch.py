"""What every sketch config must give, on every backend."""

import dataclasses
import functools
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from configs import NAMES, B, D, admissible, config, family, known, one_of_each_operator
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch import Family, Identity, Sketch
from sketchbench.sketch.control import Zero
from sketchbench.sketch.ordered import RowsInOrder

KEY = 2**63 + 12345
EVERY = pytest.mark.parametrize("name", NAMES)
EACH_OPERATOR = pytest.mark.parametrize("name", one_of_each_operator())
SIDES = pytest.mark.parametrize("side", ["sketch", "desketch"])
ROUNDING = {np.float32: 1e-5, np.float64: 1e-13}  # of sums of at most 33 terms of size 10


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def dense(sketch: Sketch) -> Any:
    return sketch.kernels.to_numpy(sketch.materialize())


def normal(kernels: Kernels, *shape: int, dtype: Any = np.float64, seed: int = 0) -> Array:
    return kernels.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def length(sketch: Sketch | Family, side: str) -> int:
    return sketch.d if side == "sketch" else sketch.b


def check_adjoint(sketch: Sketch, seed: int) -> None:
    """<Rx, y> = <x, R'y>, for every operator of a stack."""
    stack = () if sketch.operators is None else (sketch.operators,)
    x = normal(sketch.kernels, *stack, sketch.d, seed=seed)
    y = normal(sketch.kernels, *stack, sketch.b, seed=seed + 1)
    below = sketch.kernels.to_numpy((sketch.sketch(x) * y).sum(axis=-1))
    above = sketch.kernels.to_numpy((x * sketch.desketch(y)).sum(axis=-1))
    np.testing.assert_allclose(below, above, rtol=1e-11, atol=1e-11, err_msg=f"<Rx,y> = {below}, <x,R'y> = {above}")


# The configs


def test_all_configs_are_found() -> None:
    assert {"count_sketch", "gaussian", "control/equal_signs"} <= set(NAMES)
    assert len(NAMES) >= 16


@EVERY
def test_config_makes_the_family_that_it_names(name: str) -> None:
    frozen = config(name)
    assert frozen["sketch"]["name"] == name
    made = family(name)
    assert (made.d, made.b) == (D, D if isinstance(made, Identity) else B)
    for key, value in frozen["sketch"]["family"].items():
        if key != "_target_":
            assert getattr(made, key) == value


@EVERY
def test_theory_can_be_called(name: str) -> None:
    theory, sizes = known(name), family(name)
    g, h = rng().standard_normal((2, 5, D))
    assert theory.embedding_constant is not None
    assert theory.second_moment is not None
    assert theory.norm is not None
    assert 0 <= theory.embedding_constant <= D
    assert theory.second_moment(g, h, b=sizes.b).shape == (5,)
    assert theory.norm(h, b=sizes.b).shape == (5,)
    thresholds = {**theory.tails, **theory.always, **theory.inner_products}
    sure = thresholds.pop("always", None)
    values = [threshold(0.01, d=sizes.d, b=sizes.b) for threshold in thresholds.values()]
    values += [sure()] if sure else []
    assert all(np.isfinite(value) and value > 0 for value in values)


@EVERY
def test_moments_agree_with_one_another(name: str) -> None:
    """E|R'Rh|^2 is the sum of E(e_i'R'Rh)^2 over the basis, and bounded as the config says."""
    theory, b = known(name), family(name).b
    assert theory.second_moment is not None
    assert theory.norm is not None
    h = rng().standard_normal(D)
    total = theory.second_moment(np.eye(D), np.broadcast_to(h, (D, D)), b=b).sum()
    assert theory.norm(h, b=b) == pytest.approx(total, rel=1e-12)


# The operator


@EVERY
def test_project(kernels: Kernels, name: str) -> None:
    for operators in (None, 4):
        sketch = family(name).draw(KEY, operators=operators, kernels=kernels)
        x = normal(kernels, operators or 1, 3, sketch.d)
        both = sketch.desketch(sketch.sketch(x))
        np.testing.assert_allclose(*map(kernels.to_numpy, (sketch.project(x), both)), 1e-13, 1e-13)
        with pytest.raises(ValueError, match=f"d={sketch.d}"):
            sketch.project(x[..., :-1])


@EVERY
@SIDES
def test_application_equals_the_matrix(kernels: Kernels, name: str, side: str) -> None:
    sketch = family(name).draw(KEY, operators=3, kernels=kernels)
    matrix = dense(sketch) if side == "desketch" else dense(sketch).swapaxes(-1, -2)
    x = normal(kernels, 3, 5, length(sketch, side))
    result = kernels.to_numpy(getattr(sketch, side)(x))
    np.testing.assert_allclose(result, kernels.to_numpy(x) @ matrix, rtol=1e-12, atol=1e-12)


@EACH_OPERATOR
@SIDES
def test_leading_axes(kernels: Kernels, name: str, side: str) -> None:
    sizes = family(name)
    n, m = length(sizes, side), sizes.b if side == "sketch" else sizes.d
    one = getattr(sizes.draw(KEY, kernels=kernels), side)
    stack = getattr(sizes.draw(KEY, operators=4, kernels=kernels), side)
    for shape in ((), (5,), (2, 3), (0,), (1, 2, 0)):
        x = normal(kernels, *shape, n)
        assert one(x).shape == (*shape, m)
        assert stack(kernels.xp.stack([x] * 4)).shape == (4, *shape, m)
        np.testing.assert_allclose(
            kernels.to_numpy(stack(x[None])), kernels.to_numpy(stack(kernels.xp.stack([x] * 4))), rtol=1e-13, atol=1e-13
        )
    x = normal(kernels, 2, 3, n)
    singly = [kernels.to_numpy(one(row)) for row in x.reshape(6, n)]
    np.testing.assert_allclose(kernels.to_numpy(one(x)).reshape(6, m), singly, rtol=1e-13, atol=1e-13)


@EACH_OPERATOR
@SIDES
def test_dtypes_agree(kernels: Kernels, name: str, side: str) -> None:
    sketch = family(name).draw(KEY, operators=2, kernels=kernels)
    x = normal(kernels, 2, 3, length(sketch, side), dtype=np.float32)
    single, double = getattr(sketch, side)(x), getattr(sketch, side)(x.astype(np.float64))
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(kernels.to_numpy(single), kernels.to_numpy(double), rtol=1e-5, atol=1e-5)
    assert sketch.materialize(np.float32).dtype == np.float32


@EACH_OPERATOR
@SIDES
def test_argument_is_left_alone(kernels: Kernels, name: str, side: str) -> None:
    sketch = family(name).draw(KEY, kernels=kernels)
    x = normal(kernels, 2, length(sketch, side))
    before = kernels.to_numpy(x).copy()
    result = getattr(sketch, side)(x)
    first = kernels.to_numpy(result).copy()
    result += 1.0
    np.testing.assert_array_equal(kernels.to_numpy(x), before)
    np.testing.assert_array_equal(kernels.to_numpy(getattr(sketch, side)(x)), first)


@EACH_OPERATOR
@SIDES
def test_strided_argument(kernels: Kernels, name: str, side: str) -> None:
    sketch = family(name).draw(KEY, kernels=kernels)
    x = normal(kernels, 4, length(sketch, side), 3)
    strided = kernels.xp.moveaxis(x, -1, 0)[:, ::2]
    packed = kernels.xp.ascontiguousarray(strided)
    np.testing.assert_array_equal(
        kernels.to_numpy(getattr(sketch, side)(strided)), kernels.to_numpy(getattr(sketch, side)(packed))
    )


# Draws


@EVERY
def test_stack_holds_the_operators_of_its_numbers(kernels: Kernels, name: str) -> None:
    stack = dense(family(name).draw(KEY, operators=5, first=7, kernels=kernels))
    for t in range(5):
        alone = dense(family(name).draw(KEY, first=7 + t, kernels=kernels))
        np.testing.assert_allclose(stack[t], alone, rtol=1e-13, atol=1e-13)


@EVERY
def test_other_numbers_and_keys_give_other_operators(kernels: Kernels, name: str) -> None:
    made = family(name)
    places = [(KEY, 0), (KEY, 1), (KEY + 1, 0), (KEY - 2**32, 0)]
    drawn = [dense(made.draw(key, first=first, kernels=kernels)) for key, first in places]
    different = [not np.array_equal(drawn[0], other) for other in drawn[1:]]
    assert different == [not isinstance(made, Identity | Zero | RowsInOrder)] * 3
    np.testing.assert_array_equal(drawn[0], dense(made.draw(KEY, kernels=kernels)))


@EVERY
def test_same_operator_on_every_backend(compiled: Kernels, reference: Kernels, name: str) -> None:
    ours = dense(family(name).draw(KEY, operators=3, kernels=compiled))
    theirs = dense(family(name).draw(KEY, operators=3, kernels=reference))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@EVERY
def test_family_is_data(name: str) -> None:
    made = family(name)
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.b = 1  # type: ignore[misc]


@EVERY
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_every_admissible_size(kernels: Kernels, name: str, data: st.DataObject, seed: int) -> None:
    made = data.draw(st.sampled_from(admissible(name)))
    sketch = made.draw(seed, operators=2, kernels=kernels)
    matrix = dense(sketch)
    assert matrix.shape == (2, made.b, made.d)
    check_adjoint(sketch, seed % 1000)
    for dtype in (np.float32, np.float64):
        x = normal(kernels, 2, 3, made.d, dtype=dtype, seed=seed % 1000)
        result = kernels.to_numpy(sketch.sketch(x))
        expected = kernels.to_numpy(x).astype(np.float64) @ matrix.swapaxes(-1, -2)
        np.testing.assert_allclose(result, expected, rtol=ROUNDING[dtype], atol=20 * ROUNDING[dtype])


# SciPy


@EVERY
def test_linear_operator(kernels: Kernels, name: str) -> None:
    sketch = family(name).draw(KEY, kernels=kernels)
    operator, matrix = sketch.as_linear_operator(), dense(sketch)
    x, y = rng().standard_normal((D, 3)), rng().standard_normal((sketch.b, 3))
    assert operator.shape == matrix.shape
    assert operator.dtype == np.float64
    close = functools.partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12)
    close(operator.matvec(x[:, 0]), matrix @ x[:, 0])
    close(operator.matvec(x[:, :1]), matrix @ x[:, :1])
    close(operator.rmatvec(y[:, 0]), matrix.T @ y[:, 0])
    close(operator.matmat(x), matrix @ x)
    close(operator.rmatmat(y), matrix.T @ y)
    close((operator.T @ operator) @ x, matrix.T @ (matrix @ x))


# Vectors, sizes and keys that every sketch refuses


def wrong(n: int, letter: str) -> Iterator[tuple[int | None, Any, str]]:
    """Numbers of operators, vectors that do not fit them, and the messages; n: the right length."""
    for shape in ((n + 1,), (2, n - 1), (n, 2), ()):
        yield None, np.ones(shape), f"an array of shape {shape} must end in {letter}={n}"
    for dtype in ("int64", "complex128", "float16", "bool"):
        yield None, np.ones(n, dtype=dtype), f"dtype {dtype} must be float32 or float64"
    for value in (np.nan, np.inf, -np.inf):
        x = np.ones((2, 3, n), dtype=np.float32)
        x[1, 2, 5] = value
        yield 2, x, f"entry (1, 2, 5) of the vector is {value}; every entry must be finite"
    for shape in ((2, n), (4, 3, n), (n,), (0, n)):
        yield 3, np.ones(shape), f"shape {shape} for a stack of 3 operators must start with 3, or with 1"


@EACH_OPERATOR
@SIDES
def test_wrong_vectors(kernels: Kernels, name: str, side: str) -> None:
    made = family(name)
    for operators, x, message in wrong(*((made.d, "d") if side == "sketch" else (made.b, "b"))):
        apply = getattr(made.draw(1, operators=operators, kernels=kernels), side)
        with pytest.raises((ValueError, TypeError), match=re.escape(message)):
            apply(kernels.asarray(x))
    with pytest.raises(TypeError, match=r"not builtins\.list; convert with kernels\.asarray"):
        made.draw(1, kernels=kernels).sketch([1.0] * made.d)


@EACH_OPERATOR
@SIDES
def test_unchecked_nan_passes(kernels: Kernels, name: str, side: str) -> None:
    made = family(name)
    if isinstance(made, Zero):
        pytest.skip("R = 0 looks at no entry")
    x = np.full(made.d if side == "sketch" else made.b, np.nan)
    apply = getattr(made.draw(1, kernels=kernels), side)
    result = kernels.to_numpy(apply(kernels.asarray(x), check_finite=False))
    assert np.isnan(result).any()


@EVERY
def test_sizes_below_one(name: str) -> None:
    for b in (0, -3):
        with pytest.raises(ValueError, match=f"sketch size b={b} must satisfy 1 <= b"):
            dataclasses.replace(family(name), b=b)
    with pytest.raises(ValueError, match="dimension d=0 must be >= 1"):
        dataclasses.replace(family(name), d=0)


@EVERY
@pytest.mark.parametrize("value", [8.0, True, "8", None])
def test_sizes_of_another_type(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=re.escape(f"sketch size b={value!r} must be an integer")):
        dataclasses.replace(family(name), b=value)  # type: ignore[arg-type]


@EACH_OPERATOR
def test_bad_draws(kernels: Kernels, name: str) -> None:
    for key in (-1, 2**64):
        with pytest.raises(ValueError, match=f"key={key} must be an integer of 64 bits"):
            family(name).draw(key, kernels=kernels)
    with pytest.raises(ValueError, match="operators=0 must be >= 1"):
        family(name).draw(1, operators=0, kernels=kernels)
