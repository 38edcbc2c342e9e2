"""Broken privacy is caught: by the audit's claim, by the lemmas' claims, or refused outright.

The audit is that of a quick run, at a quick run's level; its power is computed in test_trial_counts.
"""

import dataclasses
import functools
import math
from typing import Any

import judging
import numpy as np
import pytest

from sketchbench.base import seeds
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import load
from sketchbench.learning.objective.canary import Canary
from sketchbench.learning.objective.logistic import Logistic
from sketchbench.measure.row import Row
from sketchbench.privacy import accountant, mechanism
from sketchbench.privacy.accountant import epsilon
from sketchbench.privacy.mechanism import Composed, GaussianRelease, Parallel
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch import CountSketch, Family, Gaussian, SubsampledHadamard
from sketchbench.sketch.identity import Identity
from sketchbench.task.privacy.noise_placement import NoisePlacement
from sketchbench.task.privacy.privacy_audit import AuditedTraining, PrivacyAudit
from sketchbench.task.privacy.privacy_lemmas import PrivacyLemmas
from sketchbench.task.privacy.private_training import Privacy, PrivateTraining
from sketchbench.theory import privacy as lemmas
from sketchbench.theory.known import Known
from sketchbench.theory.privacy import Guarantee

SOUND = PrivacyAudit(
    family=Identity(16, 16),
    kernels=load("numba"),
    seed=5,
    trials=20_000,
    samplings={"full": "exact"},
    training=AuditedTraining(clients=2, records=8, batch=2, rounds=2, local_steps=2),
    epsilon=2.5,
    deltas=[0.01],
    noises=[1.0],
)


def verdict(task: PrivacyAudit, claim: str = "S22") -> str:
    return judging.verdict(claim, [row.replace(noise=1.0) for row in task.run()])


@pytest.mark.statistical
def test_the_sound_one_passes() -> None:
    assert verdict(SOUND) == "holds"


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [0.5, 0.0])
def test_less_noise_than_accounted(noise: float) -> None:
    assert verdict(dataclasses.replace(SOUND, noises=[noise])) == "fails"


@pytest.mark.statistical
@pytest.mark.parametrize("family", [CountSketch(16, 4), SubsampledHadamard(16, 4), Gaussian(16, 4)])
def test_a_sketch_does_not_hide_missing_noise(family: Family) -> None:
    """S20 holds with all of the noise, fails with half of it, and is open where the record does not fit the sketch."""
    sketched = dataclasses.replace(SOUND, family=family)
    assert verdict(sketched, "S20") == "holds"
    assert verdict(dataclasses.replace(sketched, noises=[0.5]), "S20") == "fails"


@pytest.mark.statistical
def test_a_record_that_sketches_hide_proves_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random record, as it was audited at first: nothing follows, neither with all of the noise nor with half."""

    def anyone(operators: Any, kernels: Any) -> Any:
        directions = np.random.default_rng(3).standard_normal((operators[0].operators, 16))
        return directions / np.linalg.norm(directions, axis=-1, keepdims=True)

    monkeypatch.setattr("sketchbench.task.privacy.privacy_audit.most_visible", anyone)
    sketched = dataclasses.replace(SOUND, family=CountSketch(16, 4))
    assert verdict(sketched, "S20") == "inconclusive"
    assert verdict(dataclasses.replace(sketched, noises=[0.5]), "S20") != "fails"


@pytest.mark.statistical
def test_sensitivity_without_the_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "mean_sensitivity", lambda bound, batch, neighbours: bound / batch)
    assert verdict(SOUND) == "fails"


@pytest.mark.statistical
def test_amplification_applied_to_full_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account is of Poisson batches of an eighth; training takes all records, in the same shares."""
    task = dataclasses.replace(
        SOUND, samplings={"poisson": "rdp"}, training=dataclasses.replace(SOUND.training, batch=1)
    )
    assert verdict(task) != "fails"

    def all_records(self: Sampling, random: Any, shape: tuple[int, ...]) -> np.ndarray:
        return np.ones((*shape, self.records))

    monkeypatch.setattr(Sampling, "draw", all_records)
    assert verdict(task) == "fails"


@pytest.mark.statistical
def test_gradients_not_clipped(monkeypatch: pytest.MonkeyPatch) -> None:

    class Longer(Canary):
        def batch_gradients(self, w: Any, shares: Any, bound: float = np.inf) -> Any:
            return 3 * super().batch_gradients(w, shares)

    monkeypatch.setattr("sketchbench.attack.membership.Canary", Longer)
    assert verdict(SOUND) == "fails"


@pytest.mark.parametrize("name", ["paper", "advanced", "classical"])
def test_noise_for_delta_and_not_for_its_share(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of TK steps gets the whole δ: together they spend more than there is."""
    steps = Composed(Composed(GaussianRelease(1.0, 200.0), 4), 25)
    assert epsilon(name, steps, 1e-5) > 0
    honest = accountant.ACCOUNTANTS[name]

    def spendthrift(own: Any, delta: float) -> Guarantee:
        return honest(own, delta * own.count)

    monkeypatch.setitem(accountant.ACCOUNTANTS, name, spendthrift)
    with pytest.raises(ArithmeticError, match=r"spent δ=0.001.* of 1e-05"):
        epsilon(name, steps, 1e-5)


def test_parallel_composition_over_overlapping_clients() -> None:
    """Refused; and rightly: the two releases of the shared record together exceed the larger ε."""
    release = GaussianRelease(1.0, 5.0)
    with pytest.raises(ValueError, match=r"share record 1"):
        Parallel((release, release), (frozenset({0, 1}), frozenset({1, 2})))
    alone = epsilon("exact", release, 1e-5)
    both = epsilon("exact", Composed(release, 2), 1e-5)
    assert both > lemmas.parallel_composition([Guarantee(alone, 1e-5)] * 2).epsilon * 1.3


@pytest.mark.parametrize(("constant", "expected"), [(1.0, "holds"), (0.85, "fails"), (0.5, "fails")])
def test_less_noise_than_lemma_h_7_prints(constant: float, expected: str) -> None:
    sigma = constant * lemmas.gaussian_noise(1.0, 1e-12, 1.0)
    row = Row("gaussian", range="proven", reading="printed", bound=1.0)
    row = row.number(epsilon("exact", GaussianRelease(1.0, sigma), 1e-12))
    assert judging.verdict("S17-corrected", [row]) == expected


LEMMAS = PrivacyLemmas(
    epsilons=[0.01, 0.9],
    deltas=[1e-9, 1e-5],
    steps=[1, 100, 1000],
    long=[10_000_000],
    local_steps=[1],
    batches=[1, 2],
    records=100,
    totals=[30.0],
    rates=[0.1, 0.2, 0.5, 1.0],
)


@functools.cache
def sound_lemmas() -> list[Row]:
    return LEMMAS.run()


def about(claim: str, quantity: str, rows: list[Row]) -> str:
    return judging.verdict(claim, [row for row in rows if row["quantity"] == quantity])


@pytest.mark.parametrize("quantity", ["composition", "sampling", "parallel"])
def test_each_lemma_passes_and_a_smaller_one_does_not(quantity: str) -> None:
    assert judging.verdict(f"S18-{quantity}", sound_lemmas()) == "holds"
    smaller = [row for row in sound_lemmas() if row["quantity"] == quantity and row["reading"] == "smaller"]
    assert judging.verdict(f"S18-{quantity}", [row.replace(reading="printed") for row in smaller]) == "fails"


def test_composition_without_its_second_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma H.3 without 2 k ε², which 1,000 responses with ε = 0.9 need."""

    def first_term(each: Guarantee, times: int, slack: float) -> Guarantee:
        return Guarantee(math.sqrt(2 * times * math.log(1 / slack)) * each.epsilon, slack + times * each.delta)

    monkeypatch.setattr(lemmas, "advanced_composition", first_term)
    assert judging.verdict("S18-composition", LEMMAS.run()) == "fails"


def test_sampling_without_its_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mechanism that amplification helps least shows that 6 may not be 1."""
    honest = lemmas.sampling_with_replacement

    def smaller(each: Guarantee, batch: int, records: int) -> Guarantee:
        found = honest(each, batch, records)
        return found._replace(epsilon=found.epsilon / 6)

    monkeypatch.setattr(lemmas, "sampling_with_replacement", smaller)
    assert judging.verdict("S18-sampling", LEMMAS.run()) == "fails"


def test_theorem_6_2_on_random_batches() -> None:
    """A record in every batch breaks it at this total; one in a fifth of them does not."""
    rows = [row for row in sound_lemmas() if row["quantity"] == "sampled"]
    few = [row for row in rows if row["batch"] <= 200]
    assert judging.verdict("S19-sampled", few) == "holds"
    every = [row for row in rows if row["batch"] == 1000]
    assert judging.verdict("S19-sampled", [row.replace(batch=100) for row in every]) == "fails"


def test_the_constant_of_theorem_6_2() -> None:
    """Some constant is enough while the total is small, for 2ℓ, too; 1 is not; and no four times is for large ones."""
    assert about("S19-single", "constant", sound_lemmas()) == "holds"
    single = [row for row in sound_lemmas() if row["quantity"] == "training" and row["batch"] == 1]
    assert judging.verdict("S19-single", [row.replace(quantity="constant") for row in single]) == "fails"
    assert about("S19-printed", "constant", sound_lemmas()) == "fails"


def test_a_sensitivity_of_four_times_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sketchbench.task.privacy.privacy_lemmas.mean_sensitivity", lambda bound, batch, neighbours: 4 * bound
    )
    assert about("S19-single", "constant", LEMMAS.run()) == "fails"


PLACEMENT = NoisePlacement(SubsampledHadamard(16, 4), load("numba"), 5, trials=20_000, epsilon=2.5, delta=0.01)


@pytest.mark.statistical
def test_the_placement_of_noise() -> None:
    """Before or after the sketch it protects; after it, for the unsketched sensitivity, and halved, it does not."""
    rows = PLACEMENT.run()
    assert judging.verdict("S34", rows) == "holds"
    for wrong in ("unscaled", "halved"):
        released = [row.replace(case="after") for row in rows if row["case"] == wrong]
        assert judging.verdict("S34", released) == "fails"


@pytest.mark.statistical
def test_the_cost_of_noise_after_a_sketch() -> None:
    small = dataclasses.replace(PLACEMENT, trials=400)
    assert judging.verdict("S34-cost", small.run()) == "holds"
    assert judging.verdict("S34-cost", dataclasses.replace(small, family=Gaussian(16, 4)).run()) == "fails"


TRAINING = PrivateTraining(
    family=Identity(650, 650),
    known=Known(embedding_constant=0),
    kernels=load("numba"),
    seed=0,
    objective=functools.partial(Logistic, clients=2, ridge=0.001, held_out=397),
    sampling=functools.partial(Sampling, kind="poisson", batch=210),
    alpha="claimed",
    privacy=Privacy(accountant="rdp", epsilons=[16], delta=1e-5, noises=[1.0]),
    clip=None,
    rounds=60,
    progress=None,
    trials=32,
)
SHARP = dataclasses.replace(  # where Theorem E.1 is
    TRAINING,
    objective=functools.partial(Logistic, clients=2, ridge=0.5, held_out=397),
    sampling=functools.partial(Sampling, kind="poisson", batch=700),
    privacy=dataclasses.replace(TRAINING.privacy, epsilons=[64]),
    rounds=20,
)


class Biased:
    def __init__(self, random: np.random.Generator) -> None:
        self.random = random

    def standard_normal(self, shape: Any) -> np.ndarray:
        return self.random.standard_normal(shape) + 1


def louder(factor: float) -> Any:
    honest = PrivateSketching.__init__

    def init(self: Any, algorithm: Any, sampling: Any, sigma: float, bound: float) -> None:
        honest(self, algorithm, sampling, factor * sigma, bound)

    return init


@pytest.mark.statistical
def test_the_cost_of_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six times the noise costs 36 times as much: more than a tenth of the progress."""
    assert judging.verdict("S21-large", TRAINING.run()) == "holds"
    monkeypatch.setattr(PrivateSketching, "__init__", louder(6))
    assert judging.verdict("S21-large", TRAINING.run()) == "fails"


@pytest.mark.statistical
def test_the_variance_of_noise() -> None:
    rows = SHARP.run()
    assert judging.verdict("S21-variance", rows) == "holds"
    assert judging.verdict("S21-excess", rows) == "holds"
    standing = [row.replace(quantity="excess") for row in rows if row["quantity"] == "start"]
    assert judging.verdict("S21-excess", standing) == "fails"
    doubled = dataclasses.replace(SHARP, privacy=dataclasses.replace(SHARP.privacy, noises=[2.0])).run()
    assert judging.verdict("S21-variance", [row.replace(noise=1.0) for row in doubled]) == "fails"


@pytest.mark.statistical
def test_biased_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise with a mean as large as its standard deviation moves the minimum that training finds."""
    honest = seeds.generator

    def biased(root: int, **axes: Any) -> Any:
        return Biased(honest(root, **axes)) if axes.get("part") == "noise" else honest(root, **axes)

    monkeypatch.setattr("sketchbench.federated.private_sketching.seeds.generator", biased)
    assert judging.verdict("S21-variance", SHARP.run()) == "fails"


def test_training_that_does_not_get_there() -> None:
    with pytest.raises(ArithmeticError, match=r"rounds=10 are too few"):
        dataclasses.replace(TRAINING, rounds=10, progress=0.9, trials=2).run()
