"""The public accounts, which refuse an ε that is known to be too small."""

import pytest

import sketchbench as sb
from sketchbench.privacy import accountant
from sketchbench.privacy.accountant import RefusedError
from sketchbench.privacy.threshold import largest_total
from sketchbench.theory.privacy import gaussian_noise

DELTA, EACH = 1e-5, 0.999


def training(rounds: int) -> sb.Composed:
    """Rounds of one step, with the noise of Lemma H.7 for an ε of nearly 1 each, the most that the theorem covers."""
    release = sb.GaussianRelease(1.0, gaussian_noise(EACH, DELTA / rounds, 1.0))
    return sb.Composed(sb.Composed(release, 1), rounds)


@pytest.mark.parametrize(("rounds", "false"), [(400, False), (500, False), (530, True), (3000, True)])
def test_the_theorem_is_refused_where_it_is_false(rounds: int, false: bool) -> None:
    """Its total ε is √rounds for an ε of 1 a round, and the least that fails is 22.9."""
    mechanism = training(rounds)
    assert (EACH * rounds**0.5 > largest_total(DELTA)) is false
    if not false:
        assert sb.epsilon("paper", mechanism, DELTA) == accountant.epsilon("paper", mechanism, DELTA)
        return
    with pytest.raises(RefusedError, match=r"promises ε=.*, but the mechanism spends ε=.*; take accountant=exact"):
        sb.epsilon("paper", mechanism, DELTA)
    told, spent = (accountant.epsilon(one, mechanism, DELTA) for one in ("paper", "exact"))
    assert spent > told == pytest.approx(EACH * rounds**0.5)


def test_noise_for_a_promise_that_is_false() -> None:
    assert sb.calibrated_sigma("paper", training(100), 5.0, DELTA) > 0
    with pytest.raises(RefusedError, match="promises ε=40, but"):
        sb.calibrated_sigma("paper", training(1700), 40.0, DELTA)


def test_other_accounts_are_what_they_were() -> None:
    mechanism = training(3000)
    for one in ("exact", "rdp", "pld"):
        assert sb.epsilon(one, mechanism, DELTA) == accountant.epsilon(one, mechanism, DELTA)
    batches = sb.Sampling("poisson", batch=10, records=1000)
    step = sb.mean_step(bound=1.0, sigma=2.0, sampling=batches, neighbours="add_remove")
    sampled = sb.Composed(sb.Composed(step, 1), times=100)  # no exact curve speaks of random batches
    assert sb.epsilon("paper", sampled, DELTA) == accountant.epsilon("paper", sampled, DELTA)
