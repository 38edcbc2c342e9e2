"""Accountants against each other: independent ways to the same ε."""

import math
from typing import Any, get_args

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from mechanisms import CLIENTS, KINDS, training

from sketchbench.measure.interval import proportion_interval
from sketchbench.privacy import gaussian
from sketchbench.privacy.accountant import ACCOUNTANTS, RefusedError, epsilon
from sketchbench.privacy.calibration import calibrated_sigma
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
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.privacy.threshold import largest_total
from sketchbench.theory import privacy as lemmas
from sketchbench.theory.privacy import Guarantee, OutOfRangeError, gaussian_noise

KNOWN = {  # which accountant knows which sampling; Theorem 6.2 is about none, and says the same of all
    "full": {"paper", "advanced", "classical", "exact", "rdp", "pld"},
    "poisson": {"paper", "classical", "rdp", "pld"},
    "without_replacement": {"paper", "classical", "rdp"},
    "with_replacement": {"paper", "advanced"},
}
PAIRS = [(kind, name) for kind in KINDS for name in sorted(KNOWN[kind])]
SLOW = ("without_replacement", "rdp")  # a second for an account, and nothing in calibration depends on the pair
CHEAP = [(kind, name) for kind, name in PAIRS if name not in ("pld", "rdp")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_who_knows_what(kind: str, accountant: str) -> None:
    mechanism = training(kind, 100.0)
    if accountant in KNOWN[kind]:
        assert epsilon(accountant, mechanism, 1e-5) > 0
    else:
        with pytest.raises(RefusedError, match=f"drawn with sampling={kind}; use "):
            epsilon(accountant, mechanism, 1e-5)


@pytest.mark.parametrize(("multiplier", "rounds"), [(4.0, 50), (1.0, 50), (40.0, 20)])
def test_sampling_amplifies_and_pld_is_tightest(multiplier: float, rounds: int) -> None:
    """PLD <= RDP <= what they are without amplification; a finer interval changes PLD by 1 % at most."""
    sampled = training("poisson", multiplier, rounds)
    tight, renyi = (epsilon(name, sampled, 1e-5) for name in ("pld", "rdp"))
    assert tight < renyi < epsilon("exact", training("full", multiplier, rounds), 1e-5)
    assert renyi < 2 * tight

    from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent, pld

    fine = pld.PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE, min(1e-4, 1e-3 / multiplier))
    fine.compose(PoissonSampledDpEvent(0.1, GaussianDpEvent(multiplier)), 2 * rounds)
    assert fine.get_epsilon(1e-5) <= tight * (1 + 1e-9)
    assert tight == pytest.approx(fine.get_epsilon(1e-5), rel=0.01)


@pytest.mark.parametrize(
    ("kind", "accountant", "tightest"),
    [("full", name, "exact") for name in sorted(KNOWN["full"])]
    + [("poisson", name, "pld") for name in ("classical", "rdp")],
)
def test_no_accountant_promises_less_than_the_tightest(kind: str, accountant: str, tightest: str) -> None:
    """The exact curve of full batches, PLD's of Poisson sampling."""
    mechanism = training(kind, 60.0)
    assert epsilon(accountant, mechanism, 1e-5) >= epsilon(tightest, mechanism, 1e-5) * (1 - 1e-6)


@examples(15)
@given(
    pair=st.sampled_from(CHEAP),
    multiplier=st.floats(150, 1000),
    factor=st.floats(1.01, 3),
    rounds=st.integers(1, 50),
    batch=st.integers(2, 250),
)
def test_monotone(pair: tuple[str, str], multiplier: float, factor: float, rounds: int, batch: int) -> None:
    """ε falls with σ, and grows with rounds, the sampling rate, and as δ falls."""
    kind, accountant = pair
    sizes = {"rounds": rounds, "batch": batch}

    def found(scale: float = 1.0, delta: float = 1e-5, **change: int) -> float:
        return epsilon(accountant, training(kind, multiplier * scale, **(sizes | change)), delta)

    base = found()
    assert found(scale=factor) < base or base == 0
    for more in ({"rounds": 2 * rounds}, {"delta": 1e-7}, {"batch": 2 * batch}):
        if "batch" not in more or (kind != "full" and accountant != "paper"):
            greater = found(**more)  # type: ignore[arg-type]
            assert base < greater or base == greater == 0, more


@pytest.mark.parametrize(
    ("kind", "accountant"), [("poisson", "pld"), ("poisson", "rdp"), ("without_replacement", "rdp")]
)
def test_monotone_numerically(kind: str, accountant: str) -> None:
    def found(multiplier: float, rounds: int, batch: int) -> float:
        return epsilon(accountant, training(kind, multiplier, rounds, batch=batch), 1e-5)

    base = found(8.0, 20, 100)
    assert found(12.0, 20, 100) < base < found(8.0, 40, 100)
    assert base < found(8.0, 20, 200)


def test_sketches_and_disjoint_clients_cost_nothing() -> None:
    step, quiet = GaussianRelease(1.0, 30.0), GaussianRelease(1.0, 90.0)
    alone = epsilon("exact", step, 1e-5)
    assert epsilon("exact", PostProcessed(step, "SRHT"), 1e-5) == alone
    assert epsilon("exact", Parallel((step, quiet), CLIENTS), 1e-5) == alone
    assert epsilon("exact", Composed(step, 2), 1e-5) > alone


def test_the_paper_is_its_theorem() -> None:
    sigma = lemmas.gaussian_noise(0.05, 1e-7, 1.0)
    mechanism = Composed(Composed(GaussianRelease(1.0, sigma), 4), 25)
    assert epsilon("paper", mechanism, 1e-5) == pytest.approx(0.5)
    assert epsilon("exact", mechanism, 1e-5) < 0.5


def test_the_advanced_account_is_its_lemmas() -> None:
    each = Guarantee(lemmas.gaussian_epsilon(200.0, 1e-5 / 40, 1.0), 1e-5 / 40)
    total = lemmas.advanced_composition(each, 20, 1e-5 / 2)
    assert total.delta == pytest.approx(1e-5)
    found = epsilon("advanced", training("full", 200.0), 1e-5)
    assert found == pytest.approx(total.epsilon)


def test_accounts_out_of_range() -> None:
    with pytest.raises(OutOfRangeError, match=r"Lemma H.3 needs ε <= 1"):
        epsilon("advanced", training("full", 1.0), 1e-5)
    with pytest.raises(OutOfRangeError, match=r"Lemma 6.1 needs a step's ε < 1/√K"):
        epsilon("paper", training("full", 1.0), 1e-5)
    with pytest.raises(OutOfRangeError, match="batch <= records/2"):
        epsilon("advanced", training("with_replacement", 400.0, batch=600), 1e-5)


@pytest.mark.parametrize(
    ("kind", "accountant", "goal"),
    [(kind, name, 0.3) for kind, name in PAIRS if (kind, name) != SLOW] + [(kind, name, 3.0) for kind, name in CHEAP],
)
def test_calibration_and_back(kind: str, accountant: str, goal: float) -> None:
    sigma = calibrated_sigma(accountant, training(kind), goal, 1e-5)
    found = epsilon(accountant, with_sigma(training(kind), sigma), 1e-5)
    assert goal * (1 - 1e-3) <= found <= goal


# Mechanisms as data


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


# Samplers draw what they say


SAMPLERS = ["full", "poisson", "without_replacement", "with_replacement"]
BATCHES = 4000


def drawn(kind: Any, batch: int = 3, records: int = 8) -> np.ndarray:
    batch = records if kind == "full" else batch
    return Sampling(kind, batch, records).draw(np.random.default_rng(1), (BATCHES, 2))


@pytest.mark.parametrize("kind", SAMPLERS)
def test_shape_and_sizes(kind: Any) -> None:
    counts = drawn(kind)
    assert counts.shape == (BATCHES, 2, 8)
    sizes = counts.sum(axis=-1)
    if kind != "poisson":
        assert (sizes == (8 if kind == "full" else 3)).all()
    assert (counts.max() > 1) == (kind == "with_replacement")
    assert (sizes.min() < 3) == (kind == "poisson")


@pytest.mark.statistical
@pytest.mark.parametrize("kind", SAMPLERS[1:])
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


# Up to which total song2023 Theorem 6.2 holds


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
