"""Where the bound of zhang2021 Remark 1 is false, and where it may hold."""

import numpy as np
import pytest
from zhang2021_counterexamples import seen_and_update


def nearest_update(outputs: int, inputs: int, size: int) -> float:
    """The minimum of ‖W_old S_old Z₁ - W_new S_new Z₂ - Δ‖² over Z₁ and Z₂, over ‖Δ‖²."""
    seen, update = seen_and_update(outputs, inputs, size)
    both = np.linalg.lstsq(seen, update, rcond=None)[0]
    return float(((seen @ both - update) ** 2).sum() / (update**2).sum())


@pytest.mark.parametrize(("outputs", "size"), [(1, 1), (2, 1), (100, 50)])
def test_remark_1_of_zhang2021(outputs: int, size: int) -> None:
    """Hoped for (zhang2021 Remark 1, not claimed as proven): the best of all linear uses of both sketched weights
    misses the update by Ω(1) ‖Δ‖².

    For d_out <= 2s, the 2s columns seen span all outputs when the weights are generic: the minimum is 0.
    """
    assert nearest_update(outputs, 400, size) < 1e-20


@pytest.mark.parametrize(("outputs", "size"), [(3, 1), (101, 50)])
def test_remark_1_of_zhang2021_may_hold_beyond(outputs: int, size: int) -> None:
    """One more output, and something is left: the condition d_out <= 2s is sharp."""
    assert nearest_update(outputs, 400, size) > 1e-4
