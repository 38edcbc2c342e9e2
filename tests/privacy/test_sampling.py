"""Samplers draw what they say."""

from typing import Any, get_args

import numpy as np
import pytest

from sketchbench.measure.interval import proportion_interval
from sketchbench.privacy.sampling import Kind, Sampling

KINDS = ["full", "poisson", "without_replacement", "with_replacement"]
BATCHES = 4000


def drawn(kind: Any, batch: int = 3, records: int = 8) -> np.ndarray:
    batch = records if kind == "full" else batch
    return Sampling(kind, batch, records).draw(np.random.default_rng(1), (BATCHES, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_shape_and_sizes(kind: Any) -> None:
    counts = drawn(kind)
    assert counts.shape == (BATCHES, 2, 8)
    sizes = counts.sum(axis=-1)
    if kind != "poisson":
        assert (sizes == (8 if kind == "full" else 3)).all()
    assert (counts.max() > 1) == (kind == "with_replacement")
    assert (sizes.min() < 3) == (kind == "poisson")


@pytest.mark.statistical
@pytest.mark.parametrize("kind", KINDS[1:])
def test_every_record_is_as_likely(kind: Any) -> None:
    """Each is in a batch with the probability that the accounts assume; 24 intervals share 1e-3."""
    present = (drawn(kind)[:, 0] > 0).sum(axis=0)
    chance = 1 - (1 - 1 / 8) ** 3 if kind == "with_replacement" else 3 / 8
    for count in present:
        low, high = proportion_interval(int(count), BATCHES, error=1e-3 / 24)
        assert low <= chance <= high
        assert high - low < 0.07


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["poisson", "without_replacement"])
def test_records_are_drawn_together_as_often_as_they_should(kind: Any) -> None:
    counts = drawn(kind)
    together = int((counts[:, 0, 0] * counts[:, 0, 1]).sum())
    chance = (3 / 8) ** 2 if kind == "poisson" else 3 / 8 * 2 / 7
    other = (3 / 8) ** 2 if kind != "poisson" else 3 / 8 * 2 / 7
    low, high = proportion_interval(together, BATCHES, error=1e-4)
    assert low <= chance <= high
    assert not low <= other <= high


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_negative_number_of_batches_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"shape=\(2, -1\) of batches must have no length below 0"):
        Sampling(kind, 8, 8).draw(np.random.default_rng(1), (2, -1))
