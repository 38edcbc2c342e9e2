"""The trial counts of the quick scale follow from the effects that they must see."""

import numpy as np
import pytest
import yaml
from levels import FEW_LEVEL, LEVEL, PAPER_FEW_LEVEL
from scipy import stats
from whole_plan import whole_plan

from sketchbench.base import seeds
from sketchbench.kernels import load
from sketchbench.measure.audit import epsilon_lower_bound, strongest_threshold
from sketchbench.measure.interval import log_slope, mean_interval, proportion_interval
from sketchbench.measure.power import trials_for_mean, trials_for_zero
from sketchbench.plan.batch import Run
from sketchbench.privacy import gaussian
from sketchbench.report.claim.criteria import TRUSTED_SKEWNESS
from sketchbench.run import execution
from sketchbench.run.config import composition
from sketchbench.run.config.chapters import named
from sketchbench.sketch import AMS, CountSketch, Family, SparseEmbedding, SubsampledCosine, SubsampledHadamard
from sketchbench.task.privacy.privacy_audit import STRICT
from sketchbench.task.sketches import trials, vectors
from sketchbench.task.sketches.isometry import Isometry

POWER = 0.999
GAP, SPREAD = 0.125, 5.5  # as in conf/study/embedding.yaml
TIGHT = [AMS(16, 4), SparseEmbedding(16, 4), CountSketch(16, 16), SubsampledHadamard(16, 16, replacement=True)]


def planned(study: str) -> dict[str, Run]:
    return whole_plan("quick").runs[study]


def quick(study: str) -> list[int]:
    return [run.config["task"]["trials"] for run in planned(study).values()]


def test_the_gap_of_the_embedding_study() -> None:
    needed = trials_for_mean(GAP, sd=SPREAD, error=LEVEL, power=POWER)
    assert 100_000 < needed <= min(quick("embedding"))


@pytest.mark.statistical
@pytest.mark.parametrize("family", TIGHT, ids=lambda family: type(family).__name__)
def test_the_spread_that_it_assumes(family: Family) -> None:
    """Standard deviation of b (gᵀRᵀRh - gᵀh)² for g = h flat, from 50,000 draws with a fixed seed."""
    g, h = vectors.pair("flat", family.d, 0)
    kernels = load("numba")
    found = [
        ((trials.sketch_and_desketch(sketch, h[None, None]) * g).sum(axis=-1) - 1.0) ** 2 * family.b
        for sketch in trials.operators(family, seeds.key(3), kernels, 50_000, 1)
    ]
    assert np.concatenate(found).std() < SPREAD


@pytest.mark.parametrize(
    ("study", "delta"), [("tails", 0.001), ("inner_products", 0.01), ("inner_products_sparse", 0.01)]
)
def test_probabilities(study: str, delta: float) -> None:
    """Without any exceedance, the upper limit falls below 2δ."""
    assert trials_for_zero(2 * delta, error=LEVEL) <= min(quick(study))
    tasks = yaml.safe_load((composition.CONF / "task" / "tails.yaml").read_text())
    assert min(tasks["deltas"]) == 0.001


def test_the_median_training() -> None:
    """Of 24 trainings one may be worse, and less than half of all are; inversions likewise. Without any, 20 do."""
    assert proportion_interval(1, 24, error=FEW_LEVEL).high < 0.5 < proportion_interval(2, 24, error=FEW_LEVEL).high
    assert trials_for_zero(0.5, error=FEW_LEVEL) == 20
    for study in ("federated_mlp", "inversion_sizes", "inversion_double_blind", "inversion_noise"):
        assert min(quick(study)) >= 24


def test_the_median_training_at_the_papers_sizes() -> None:
    """More is compared there, so that one trial more is needed."""
    one_off = [proportion_interval(1, trials, error=PAPER_FEW_LEVEL).high for trials in (24, 25)]
    assert one_off[1] < 0.5 < one_off[0]
    for study in ("double_blind", "mnist", "noise", "prior", "sizes"):
        paper = yaml.safe_load(named(composition.CONF, "study")[f"inversion_{study}"].read_text())["scales"]["paper"]
        assert paper["set"]["task.trials"] >= 25


def test_the_median_compressed_training() -> None:
    """Of the iid workers' trainings a few may be others than most, and of the other workers' a fifth."""
    (trials,) = set(quick("compressed_iid"))
    assert proportion_interval(3, trials, error=FEW_LEVEL).high < 0.5
    (trials,) = set(quick("compressed_noniid"))
    assert proportion_interval(20, trials, error=FEW_LEVEL).high < 0.5


# Recoveries

PADDING = {"sparse": (1.01, 0.006), "heavy_tail": (0.99, 0.013)}  # bound and spread, as in conf/study


@pytest.mark.parametrize("kind", PADDING)
def test_the_interval_of_the_padding_study(kind: str) -> None:
    """0.6 % to each side at most: less than the 1 % between no difference and the bound."""
    bound, spread = PADDING[kind]
    (trials,) = set(quick("padding"))
    tasks = yaml.safe_load((composition.CONF / "task" / "padding.yaml").read_text())
    assert tasks["signals"][kind] == bound
    low, high = mean_interval(1.0, spread, 0.0, trials, error=LEVEL)
    assert (high - low) / 2 <= 0.006 < abs(bound - 1)
    assert trials_for_mean(0.01, sd=spread, error=LEVEL, power=POWER) <= trials


@pytest.mark.statistical
@pytest.mark.parametrize("kind", PADDING)
def test_the_spread_of_the_padding_study(kind: str) -> None:
    """Of 24 signals: the lower limit of the standard deviation, at 1e-6, is not above the stated one."""
    count = 24
    config = {**planned("padding")["fiht/d20888-b10440"].config, "kernels": "numba"}
    config["task"] = {**config["task"], "trials": count, "signals": {kind: 1.0}}
    (row,) = (row for row in execution.execute(config) if row["quantity"] == "ratio")
    assert row["sd"] * np.sqrt((count - 1) / stats.chi2.isf(1e-6, count - 1)) <= PADDING[kind][1]


def test_samples_that_are_too_skewed_to_judge() -> None:
    """Of normal errors: one in 17 with the paper's 20 signals, one in 4,000 with the study's 50."""
    (trials,) = set(quick("reconstruction"))

    def skewed(count: int) -> float:
        values = np.random.default_rng(count).standard_normal((100_000, count))
        return float((abs(stats.skew(values, axis=1)) > TRUSTED_SKEWNESS * count**0.5).mean())

    assert skewed(20) > 0.04
    assert skewed(trials) < 0.0005


# The claims of growth, with the spread of a trial relative to its mean, and the distance between the
# claimed slope and the limit that it is held against.
GROWTH = [
    ("reconstruction", "compression", 0.15, 0.5),
    ("stability", "amount", 0.1, 0.25),
    ("isometry", "b", 0.2, 0.25),
]


@pytest.mark.parametrize(("study", "over", "spread", "distance"), GROWTH)
def test_slopes(study: str, over: str, spread: float, distance: float) -> None:
    """The interval of a slope is a third as wide, to each side, as what it must tell apart."""
    runs = planned(study).values()
    (trials,) = set(quick(study))
    config = next(iter(runs)).config
    if over == "amount":
        x = np.array(config["task"]["amounts"])
    else:
        sizes = {(run.config["d"], run.config["b"]) for run in runs}
        x = np.array(sorted(b if over == "b" else d / b for d, b in sizes))
    ones = np.ones_like(x, dtype=float)
    slope = log_slope(x, ones, spread * ones / np.sqrt(trials), error=LEVEL)
    assert slope.high < distance / 3


@pytest.mark.statistical
def test_the_spread_of_isometry_constants() -> None:
    """Standard deviation over mean, from 200 draws with a fixed seed, at the smallest b."""
    for family in (SubsampledHadamard(2048, 64), SubsampledCosine(2048, 64)):
        rows = Isometry(family, load("numba"), seed=3, trials=200, k=16).run()
        assert all(row["sd"] / row["mean"] < 0.2 for row in rows)


# Privacy


def proven(mu: float, delta: float, audits: int = 300) -> np.ndarray:
    """What as many audits as a quick run's, of full batches without a sketch, prove of a Gaussian."""
    (trials,) = set(quick("privacy_audit"))
    random = np.random.default_rng(8)
    found = []
    for _ in range(audits):
        there, absent = (random.standard_normal((2, trials // 2)) + shift for shift in (mu, 0.0))
        threshold = strongest_threshold(there[0], absent[0], delta=delta, error=STRICT)
        hits, alarms = (int((side[1] >= threshold).sum()) for side in (there, absent))
        found.append(epsilon_lower_bound(hits, alarms, trials // 2, delta=delta, error=LEVEL))
    return np.array(found)


@pytest.mark.statistical
def test_the_power_of_the_audit() -> None:
    """Of 300 audits each: all prove two fifths of ε at δ = 0.01, and a tenth at 1e-5; all notice that half of the
    noise is missing at 0.01, and hardly any at 1e-5. So the power is above 0.98, with confidence 0.997.

    At 0.01 a sketch shows nine tenths of the record: the study's show 0.93, and where more is seen, more is proven."""
    config = planned("privacy_audit")["identity/d16-b16"].config["task"]
    large, small = config["deltas"]
    goal = config["epsilon"]
    mu = gaussian.mu(goal, large)
    assert proven(0.9 * mu, large).min() > 0.4 * goal
    assert proven(1.8 * mu, large).min() > goal
    other = gaussian.epsilon(mu, small)
    assert proven(mu, small).min() > 0.1 * other
    assert (proven(2 * mu, small) > other).mean() < 0.05


@pytest.mark.parametrize(("spread", "distance"), [(0.1, 0.37), (0.22, 2.3), (0.02, 0.07)])
def test_the_interval_of_the_cost_of_privacy(spread: float, distance: float) -> None:
    """The share of the progress that is lost: 0.47 at ε = 1, 2.4 and more with sketches, and 0.023 and less at 16,
    against 0.1. The spreads are the largest seen: 0.09 without a sketch, 0.22 and 0.015 with one. A skewness of 1.2 may
    be judged."""
    (trials,) = set(quick("private_training"))
    low, high = mean_interval(0.0, spread, 0.0, trials, error=FEW_LEVEL)
    assert (high - low) / 2 < distance
    assert TRUSTED_SKEWNESS * trials**0.5 > 1.2


def test_the_interval_of_the_cost_of_twice_the_noise() -> None:
    """Against the bound: 0.44 of it at most, and with twice the noise 1.4 times; the relative spread is below 0.09."""
    (trials,) = set(quick("private_convergence"))
    low, high = mean_interval(1.4, 0.09 * 1.4, 0.0, trials, error=LEVEL)
    assert low > 1 > 0.44 * high / 1.4


# Leakage


def test_the_interval_of_what_is_recovered() -> None:
    """A tenth to each side, for a spread of 0.12: the largest seen is 0.113."""
    (trials,) = set(quick("attack_convergence"))
    low, high = mean_interval(0.25, 0.12, 0.0, trials, error=FEW_LEVEL)
    assert (high - low) / 2 < 0.1


def test_the_interval_of_a_probability_of_empty_buckets() -> None:
    """What conf/study says: 0.44 is told from 0.36 and 0.52."""
    (trials,) = set(quick("spectrum"))
    low, high = mean_interval(0.44, (0.44 * 0.56) ** 0.5, 0.0, trials, error=LEVEL)
    assert 0.36 - 1e-2 < low < 0.44 < high < 0.53


def test_the_interval_of_an_attack_that_knows_nothing() -> None:
    """Areas of P batches and N others vary by √((P + N + 1)/(12 P N)); all trainings share test batches."""
    config = planned("property_inference")["count_sketch/d64-b32-share0.3"].config["task"]
    tested = config["phases"]["test_rounds"]
    found = tested * config["batches"]["positive"] // 10
    others = tested - found
    spread = ((found + others + 1) / (12 * found * others)) ** 0.5
    assert spread < 0.08
    low, high = mean_interval(0.5, 0.08, 0.0, config["trials"], error=FEW_LEVEL)
    assert (high - low) / 2 < 0.13


def test_the_median_attack() -> None:
    """Where all trainings are on one side, most are."""
    assert trials_for_zero(0.5, error=FEW_LEVEL) <= min(quick("property_inference"))
