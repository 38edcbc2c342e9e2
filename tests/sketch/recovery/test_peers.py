"""The decoders that FIHT is compared with, against dense algebra and a metered operator."""

from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.sketch.recovery import peers
from sketchbench.sketch.recovery.control import Nothing
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.recovery.iht import IHT
from sketchbench.sketch.recovery.recovery import Recovery
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.task.recovery import signals
from sketchbench.task.recovery.decoders import applications

SKETCH = SubsampledHadamard(64, 40, signs=False).draw(3, kernels="numba")
PHI = np.asarray(SKETCH.materialize())
X = signals.draw_sparse(64, 4, 5, 1)


@pytest.mark.parametrize("decoder", [peers.orthogonal_matching_pursuit, peers.cosamp])
def test_sparse_signals_are_recovered(decoder: peers.Decoder) -> None:
    for x in X:
        np.testing.assert_allclose(decoder(PHI, PHI @ x, 4, 900), x, atol=1e-9)


def test_the_lasso_is_where_no_slope_is_left() -> None:
    """Where the estimate is not 0, Φᵀ(y - Φx) is the penalty with its sign; elsewhere it is at most that."""
    penalty = 0.05
    for x in X:
        y = PHI @ x
        found = peers.lasso(PHI, y, 64, 20_000, penalty=penalty)
        slope = PHI.T @ (y - PHI @ found)
        at = found != 0
        np.testing.assert_allclose(slope[at], penalty * np.sign(found[at]), atol=1e-6)
        assert (abs(slope) <= penalty + 1e-6).all()


DECODERS = {"omp": peers.orthogonal_matching_pursuit, "cosamp": peers.cosamp, "lasso": peers.lasso}
EACH = pytest.mark.parametrize("name", DECODERS)


def decode(name: str, y: Any, k: int = 4, applications: int = 60, phi: Any = PHI, exponent: int = 0) -> Any:
    """The estimate of a decoder; the LASSO with a penalty in the unit 2^exponent."""
    given = {"penalty": float(np.ldexp(0.05, exponent))} if name == "lasso" else {}
    return DECODERS[name](phi, y, k, applications, **given)  # type: ignore[operator]


@EACH
@examples(15)
@given(exponent=st.integers(-950, 1018), number=st.integers(0, 4))
def test_scale(name: str, exponent: int, number: int) -> None:
    """Measurements times a power of two, from the smallest to the largest, give the estimate times it."""
    y = PHI @ X[number] + 0.01
    found = decode(name, np.ldexp(y, exponent), exponent=exponent)
    np.testing.assert_array_equal(found, np.ldexp(decode(name, y), exponent))


@EACH
def test_nothing_is_estimated_from_nothing(name: str) -> None:
    assert not decode(name, np.zeros(40)).any()


@EACH
def test_wrong_arguments(name: str) -> None:
    y, masked = np.ones(40), np.ma.masked_array(np.ones(40), mask=np.arange(40) == 3)
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (
            ValueError,
            r"entry \(2,\) of y is nan; every entry must be finite",
            {"y": np.where(np.arange(40) == 2, np.nan, 1)},
        ),
        (ValueError, r"entry \(0,\) of y is inf", {"y": y * np.inf}),
        (TypeError, "y is a masked array, whose mask would be ignored", {"y": masked}),
        (TypeError, "y of dtype complex128 must be real numbers", {"y": y * 1j}),
        (ValueError, r"entry \(0, 0\) of phi is nan", {"y": y, "phi": PHI * np.nan}),
        (ValueError, r"y of shape \(39,\) be \(b,\)", {"y": y[1:]}),
        (ValueError, r"y of shape \(2, 40\) be \(b,\)", {"y": np.ones((2, 40))}),
        (ValueError, "k=65 <= d", {"y": y, "k": 65}),
        (ValueError, "k=0 must be >= 1", {"y": y, "k": 0}),
        (ValueError, "applications=0 must be >= 1", {"y": y, "applications": 0}),
        (OverflowError, "exceeds float64", {"y": np.full(40, 1.7e308)}),
    ]
    for kind, message, given_ in wrong:
        with pytest.raises(kind, match=message):
            decode(name, **given_)


@pytest.mark.parametrize("applications", [2, 6, 20])
def test_no_more_entries_than_are_asked_for(applications: int) -> None:
    y = PHI @ X[0]
    assert np.count_nonzero(peers.orthogonal_matching_pursuit(PHI, y, 4, applications)) <= min(4, applications // 2)
    assert np.count_nonzero(peers.cosamp(PHI, y, 4, applications)) <= 4 * (applications >= 9)
    assert np.count_nonzero(peers.lasso(PHI, y, 4, applications, penalty=0.1)) <= 4


@pytest.mark.parametrize(
    ("recovery", "expected"),
    [
        (FIHT(4, iterations=1), 2 + 5),
        (FIHT(4, iterations=3), 2 + 3 * 5),
        (IHT(4, iterations=3), 2 + 3 * 3),
        (Nothing(4), 0),
    ],
)
def test_applications_are_counted(recovery: Recovery, expected: int) -> None:
    x = signals.draw_sparse(64, 4, 1, 1, noise=0.3)[0]
    assert applications(recovery, SKETCH, SKETCH.sketch(x)) == expected
