"""Up to which total song2023 Theorem 6.2 holds."""

import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.privacy import gaussian
from sketchbench.privacy.threshold import largest_total
from sketchbench.theory.privacy import gaussian_noise

DELTAS = st.floats(-100, -0.01).map(lambda power: 10.0**power)


def kept(total: float, steps: int, delta: float, constant: float = 1.0) -> bool:
    """Whether `steps` steps, of ε̂ = total/√steps and δ̂ = δ/steps each by Lemma H.7, are (total, δ)-private."""
    sigma = math.sqrt(constant) * gaussian_noise(total / math.sqrt(steps), delta / steps, 1.0)
    return gaussian.epsilon(math.sqrt(steps) / sigma, delta) <= total


@given(delta=DELTAS, constant=st.sampled_from([1.0, 2.0, 4.0]))
@examples(15)
def test_it_holds_below_and_fails_above(delta: float, constant: float) -> None:
    total = largest_total(delta, constant)
    for share in (0.01, 0.3, 0.9, 0.999):
        for times in (1, 10, 1_000):
            assert kept(share * total, times * math.ceil((share * total) ** 2 + 1e-9), delta, constant)
    beyond = 1.01 * total
    assert not kept(beyond, math.ceil(beyond**2), delta, constant)


@given(delta=DELTAS, total=st.floats(1e-3, 1), steps=st.integers(2, 10**9))
@examples(15)
def test_up_to_a_total_of_1_it_holds(delta: float, total: float, steps: int) -> None:
    assert kept(total, steps, delta)


@pytest.mark.parametrize(("constant", "least"), [(1.0, 22.87), (2.0, 72.86), (4.0, 179.7)])
def test_the_least_of_all_deltas(constant: float, least: float) -> None:
    deltas = np.geomspace(1e-30, 0.99, 120)
    assert min(largest_total(delta, constant) for delta in deltas) == pytest.approx(least, rel=1e-3)


@pytest.mark.parametrize("changed", [{"delta": 0.0}, {"delta": 1.0}, {"constant": 0.25}, {"constant": math.inf}])
def test_refused(changed: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(changed))}="):
        largest_total(**{"delta": 1e-5, **changed})
