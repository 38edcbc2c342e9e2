"""Mechanisms as data."""

import math

import pytest
from mechanisms import CLIENTS, training

from sketchbench.privacy.mechanism import (
    Composed,
    GaussianRelease,
    Parallel,
    PostProcessed,
    SampledGaussian,
    Steps,
    mean_sensitivity,
    steps,
    with_sigma,
)
from sketchbench.privacy.sampling import Sampling


def test_steps_of_training() -> None:
    (own,) = steps(training("poisson", rounds=10, local_steps=3))
    assert own.times == (10, 3)
    assert own.count == 30
    assert own.multiplier == pytest.approx(20)
    assert own.sampled is not None
    assert own.sampled.neighbours == "add_remove"


def test_clients_that_differ_are_alternatives() -> None:
    loud, quiet = GaussianRelease(1.0, 2.0), GaussianRelease(1.0, 5.0)
    clients = Parallel((loud, quiet), CLIENTS)
    assert steps(Composed(clients, 4)) == {Steps(loud, None, (4,)), Steps(quiet, None, (4,))}
    assert {own.gaussian.sigma for own in steps(with_sigma(clients, 7.0))} == {7.0}


def test_a_full_batch_is_no_sample() -> None:
    release = GaussianRelease(1.0, 2.0)
    for neighbours in ("replace_one", "add_remove"):
        assert steps(SampledGaussian(release, Sampling("full", 8, 8), neighbours)) == steps(release)


def test_post_processing_changes_nothing() -> None:
    mechanism = Composed(GaussianRelease(1.0, 2.0), 3)
    assert steps(PostProcessed(mechanism, "CountSketch")) == steps(mechanism)


def test_sensitivities() -> None:
    assert mean_sensitivity(3.0, 4, "replace_one") == 1.5
    assert mean_sensitivity(3.0, 4, "add_remove") == 0.75


def test_clients_that_share_a_record() -> None:
    release = GaussianRelease(1.0, 2.0)
    with pytest.raises(ValueError, match="clients 0 and 1 share record 7; parallel composition"):
        Parallel((release, release), (frozenset({1, 7}), frozenset({7, 9})))
    with pytest.raises(ValueError, match="2 mechanisms and 1 sets of records"):
        Parallel((release, release), (frozenset({1}),))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_bad_numbers(value: float) -> None:
    with pytest.raises(ValueError, match=r"sensitivity=.* must be (> 0|finite)"):
        GaussianRelease(value, 1.0)
    with pytest.raises(ValueError, match=r"sigma=.* must be (> 0|finite)"):
        GaussianRelease(1.0, value)


def test_other_refusals() -> None:
    release = GaussianRelease(1.0, 2.0)
    with pytest.raises(ValueError, match="known for neighbours=add_remove"):
        SampledGaussian(release, Sampling("poisson", 4, 8), "replace_one")
    with pytest.raises(ValueError, match="known for neighbours=replace_one"):
        SampledGaussian(release, Sampling("without_replacement", 4, 8), "add_remove")
    with pytest.raises(ValueError, match="neighbours=other is unknown"):
        SampledGaussian(release, Sampling("poisson", 4, 8), "other")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="times=0 must be >= 1"):
        Composed(release, 0)
