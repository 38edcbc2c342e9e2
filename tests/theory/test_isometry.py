"""tang2021 Proposition 1, and what it says of measured constants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.kernels import load
from sketchbench.sketch import SubsampledHadamard
from sketchbench.task.sketches.isometry import Isometry
from sketchbench.theory.isometry import proposition_1


def test_by_hand() -> None:
    """16 ln²16 ln 2048 / 64 = 16 · 7.6872 · 7.6246 / 64 = 14.653."""
    assert proposition_1(d=2048, b=64, k=16) == pytest.approx(14.653**0.5, rel=1e-4)
    assert proposition_1(d=1, b=1, k=1) == pytest.approx(np.log(2) ** 1.5)


@given(st.integers(2, 10**6), st.integers(1, 10**4), st.integers(1, 100))
def test_shape(d: int, b: int, k: int) -> None:
    """It falls like 1/√b, and grows with k and with the square root of log d."""
    bound = proposition_1(d=d, b=b, k=k)
    assert proposition_1(d=d, b=4 * b, k=k) == pytest.approx(bound / 2)
    assert proposition_1(d=d**4, b=b, k=k) == pytest.approx(2 * bound)
    assert proposition_1(d=d, b=b, k=k + 1) > bound
    assert proposition_1(d=d, b=b, k=k) ** 2 * b == pytest.approx(k * np.log(max(k, 2)) ** 2 * np.log(d))


@pytest.mark.parametrize("replacement", [False, True])
def test_the_constant_is_small(replacement: bool) -> None:
    """Random supports stay below the shape itself, with the constant 1."""
    for b in (32, 128):
        family = SubsampledHadamard(512, b, replacement)
        random, worst = Isometry(family, load("numpy"), seed=1, trials=30, k=8).run()
        assert random["maximum"] < random["bound"]
        assert worst["maximum"] >= random["maximum"] / random["bound"]
