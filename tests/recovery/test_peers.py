"""The decoders that FIHT is compared with, against dense algebra and a metered operator."""

import numpy as np
import pytest

from sketchbench.recovery import peers
from sketchbench.recovery.control import Nothing
from sketchbench.recovery.fiht import FIHT
from sketchbench.recovery.iht import IHT
from sketchbench.recovery.recovery import Recovery
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.task import signals
from sketchbench.task.decoders import applications

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
