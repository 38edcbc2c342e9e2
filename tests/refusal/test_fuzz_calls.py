"""Whatever the Python API is called with: a result that is right, by dense algebra where there is one, or an error.

The finds of earlier runs are in the table of `calls.py`.
"""

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis.extra import numpy as arrays

from sketchbench import kernels
from sketchbench import sketch as families
from sketchbench.base import seeds
from sketchbench.learning.dataset import partition
from sketchbench.measure.row import Row
from sketchbench.privacy.accountant import ACCOUNTANTS, epsilon
from sketchbench.privacy.mechanism import Composed, GaussianRelease
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.recovery import FIHT, IHT, Desketch
from sketchbench.theory.privacy import OutOfRangeError

D, B = 12, 4
REFUSED = (ValueError, TypeError, OverflowError)
MADE = [getattr(families, name) for name in families.__all__ if name not in ("Family", "Sketch", "Identity")]
OPERATORS = [
    family(D, B, **options).draw(3, operators=count, kernels=kernels.load(name))
    for family in MADE
    for options in ({"s": 2},)[: "s" in family.__dataclass_fields__] or ({},)
    for name, count in (("numpy", None), ("numba", None), ("numba", 2))
]
DENSE = [operator.materialize() for operator in OPERATORS]
TYPES = ["<f8", "<f4", "<f8", "<f4", ">f8", "f2", "c16", "i8", "u1", "?", "O", "U1", "M8[s]", "g"]
SHAPES = st.sampled_from(
    [(), (0,), (D,), (B,), (1, D), (1, B), (2, D), (2, B), (2, 3, D), (2, 3, B), (0, D), (2, 0, B), (D, 2)]
)
ANYTHING = (
    st.none() | st.booleans() | st.integers(-3, 2**65) | st.floats() | st.text(max_size=3) | st.lists(st.integers())
)


def tried(call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call returns, or what it says where it refuses."""
    try:
        return call(), ""
    except REFUSED as error:
        return None, str(error) or "an error that says nothing\n"


class Odd(np.ndarray):
    """A class of the caller, whose operators are its own."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("an operator of the caller's class was called")


@st.composite
def vectors(draw: st.DrawFn) -> Any:
    """An array of some dtype, shape, order, strides and values, which need not fit."""
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    shape = draw(SHAPES)
    if dtype.kind == "f":
        finite = {"allow_nan": draw(st.booleans()), "allow_infinity": draw(st.booleans())}
        x = draw(arrays.arrays(dtype, shape, elements=finite))
    else:
        x = np.zeros(shape, dtype)
    layout = draw(st.sampled_from(["as is", "Fortran", "reversed", "strided", "read only", "matrix", "own class"]))
    match layout:
        case "Fortran":
            return np.asfortranarray(x)
        case "reversed" if x.ndim:
            return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
        case "strided" if x.ndim:
            return np.repeat(x, 2, axis=-1)[..., ::2]
        case "read only":
            x.flags.writeable = False
        case "matrix" if x.ndim == 2:
            return np.asmatrix(x)
        case "own class":
            return x.view(Odd)
    return x


@examples(400)
@given(st.integers(0, len(OPERATORS) - 1), st.sampled_from(["sketch", "desketch", "project"]), vectors())
@example(0, "sketch", np.full(D, 1e308))
@example(0, "project", np.full((2, D), 3e38, np.float32))
def test_operators(number: int, side: str, x: Any) -> None:
    """Right to rounding in the dtype of x, of its leading shape, and x is as it was."""
    operator, dense = OPERATORS[number], DENSE[number]
    before = x.copy()
    found, said = tried(lambda: getattr(operator, side)(x))
    assert "\n" not in said
    assert x.tobytes() == before.tobytes()
    if said:
        return
    x = np.asarray(x)
    assert type(found) is np.ndarray
    assert found.dtype == x.dtype in (np.float32, np.float64)
    assert np.isfinite(found).all()
    matrix = {"sketch": dense, "desketch": dense.swapaxes(-1, -2), "project": dense.swapaxes(-1, -2) @ dense}[side]
    stack = matrix if operator.operators is None else matrix.reshape(2, *[1] * (x.ndim - 2), *matrix.shape[1:])
    wide = x.astype(np.longdouble)
    expected = (stack.astype(np.longdouble) @ wide[..., None])[..., 0]
    assert found.shape == expected.shape
    size = np.abs(wide).max(axis=-1, initial=0)[..., None] * D * 8
    limits = np.finfo(x.dtype)
    assert (np.abs(found - expected) <= 8 * limits.eps * size + 64 * limits.tiny).all()


@examples(150)
@given(st.sampled_from(MADE), ANYTHING, ANYTHING, ANYTHING, ANYTHING)
def test_families(family: Any, d: Any, b: Any, key: Any, operators: Any) -> None:
    """A family of any sizes, drawn with any key, is refused or works."""
    made, said = tried(lambda: family(d, b))
    assert "\n" not in said
    if said or d > 64 or b > 64:
        return
    drawn, said = tried(lambda: made.draw(key, operators=operators, kernels="numpy"))
    assert "\n" not in said
    if not said and (operators is None or operators < 8):
        assert drawn.materialize().shape[-2:] == (b, d)


PHI = families.SubsampledHadamard(16, 8, signs=False).draw(1, kernels="numpy")


@examples(150)
@given(
    st.sampled_from([FIHT, IHT, Desketch]),
    st.integers(-1, 20) | ANYTHING,
    arrays.arrays(st.sampled_from([np.float32, np.float64]), st.sampled_from([(8,), (2, 8), (0, 8), (3,)])),
)
@example(FIHT, 2, np.full(8, 1e300))
@example(IHT, 3, np.full(8, 1e30, np.float32))
def test_recoveries(method: Any, k: Any, y: Any) -> None:
    """A finite estimate with at most k nonzeros, or an error."""
    found, said = tried(lambda: method(k=k).recover(PHI, y))
    assert "\n" not in said
    if not said:
        assert found.x.shape == (*y.shape[:-1], 16)
        assert np.isfinite(found.x).all()
        assert ((found.x != 0).sum(axis=-1) <= k).all()


@given(ANYTHING, st.dictionaries(st.text(min_size=1, max_size=3), ANYTHING, max_size=2))
def test_seeds(root: Any, axes: dict[str, Any]) -> None:
    """Only integers and texts make a key: 64 bits, the same in any order."""
    if "root" in axes:
        return
    key, said = tried(lambda: seeds.key(root, **axes))
    right = type(root) is int and root >= 0 and all(type(value) in (int, str) for value in axes.values())
    assert right != bool(said)
    if right:
        assert 0 <= key < 2**64
        assert key == seeds.key(root, **dict(reversed(axes.items())))


@examples(120)
@given(st.sampled_from(["full", "poisson", "without_replacement", "with_replacement", "x"]), ANYTHING, ANYTHING)
def test_batches(kind: Any, batch: Any, records: Any) -> None:
    """A sampling that is accepted draws batches of the expected size."""
    made, said = tried(lambda: Sampling(kind, batch, records))
    if not said and records < 1000:
        drawn = made.draw(np.random.default_rng(0), (3,))
        assert drawn.shape == (3, records)
        assert kind == "poisson" or (drawn.sum(axis=-1) == batch).all()


@examples(60)
@given(
    st.sampled_from([*ACCOUNTANTS, "x"]),
    st.floats(0.5, 50) | ANYTHING,
    st.integers(1, 50) | ANYTHING,
    st.floats(1e-9, 0.5) | ANYTHING,
)
def test_accounts(accountant: str, sigma: Any, times: Any, delta: Any) -> None:
    """An ε that is a number >= 0, or an error; more releases cost no less."""
    try:
        small = epsilon(accountant, GaussianRelease(1.0, sigma), delta)
        large = epsilon(accountant, Composed(GaussianRelease(1.0, sigma), times), delta)
    except (*REFUSED, OutOfRangeError, ArithmeticError) as error:
        assert "\n" not in str(error)  # noqa: PT017 (of whatever class)
        return
    assert 0 <= small <= large * (1 + 1e-3) + 1e-9


@given(
    arrays.arrays(st.sampled_from(["i8", "i2", "f8"]), st.integers(0, 30), elements={"min_value": 0, "max_value": 3}),
    ANYTHING,
    ANYTHING,
)
def test_partitions(labels: Any, seed: Any, clients: Any) -> None:
    """Every client gets samples, and no two the same."""
    for deal in (partition.iid, partition.dirichlet):
        parts, said = tried(lambda deal=deal: deal(labels, seed, clients))
        assert "\n" not in said
        if not said:
            dealt = np.concatenate(parts)
            assert len(parts) == clients
            assert len(set(dealt.tolist())) == len(dealt) <= len(labels)


@given(st.text(max_size=4), st.dictionaries(st.sampled_from(["round", "bound", "case", "rund"]), ANYTHING, max_size=2))
def test_rows(quantity: str, columns: dict[str, Any]) -> None:
    """A row holds what it was given, or refuses it."""
    row, said = tried(lambda: Row(quantity, **columns))
    assert "\n" not in said
    if not said:
        assert dict(row) == {
            "quantity": quantity,
            **{key: value for key, value in columns.items() if value is not None},
        }


@pytest.mark.parametrize("operator", OPERATORS[:3])
def test_an_unchecked_call_is_not_refused(operator: Any) -> None:
    """`check_finite=False` leaves out both passes."""
    x = np.full((2, D), 1e308)
    assert operator.sketch(x, check_finite=False).shape == (2, B)
