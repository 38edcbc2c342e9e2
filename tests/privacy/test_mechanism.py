"""Mechanisms as data."""

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
