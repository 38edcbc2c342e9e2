"""Accountants against each other: independent ways to the same ε."""

import math

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from mechanisms import CLIENTS, KINDS, training

from sketchbench.privacy import gaussian
from sketchbench.privacy.accountant import ACCOUNTANTS, RefusedError, epsilon
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Composed, GaussianRelease, Parallel, PostProcessed, with_sigma
from sketchbench.theory import privacy as lemmas
from sketchbench.theory.privacy import Guarantee, OutOfRangeError

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


@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
@pytest.mark.parametrize("goal", [1e-4, 1e-2, 1.0, 10.0, 100.0])
def test_the_exact_curve_agrees_with_pld(goal: float, delta: float) -> None:
    """To 1 %, for a single release and for the composition of 20."""
    mu = gaussian.mu(goal, delta)
    for mechanism in (GaussianRelease(mu, 1.0), Composed(GaussianRelease(mu, math.sqrt(20)), 20)):
        assert epsilon("exact", mechanism, delta) == pytest.approx(goal, rel=1e-9)
        assert epsilon("pld", mechanism, delta) == pytest.approx(goal, rel=0.01)


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
    """σ for (ε̂, δ̂) gives √(TK) ε̂ at TK δ̂."""
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
