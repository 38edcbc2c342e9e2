"""Both numbers of every erratum in conf/erratum, recomputed, and the claims that it names."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import exhaustive
import numpy as np
import pytest
import song2023_counterexamples as song2023
import tang2021_counterexamples as tang2021
import yaml
import zhang2021_counterexamples as zhang2021
from all_claims import CLAIMS, entry
from scipy import stats
from tang2021_counterexamples import mean_square
from zhang2021_counterexamples import seen_and_update

from sketchbench.federated.compressed_sensing import CompressedSensingSGD, track
from sketchbench.kernels import load
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.report.claim.claims import ClaimError
from sketchbench.report.claim.erratum import Counterexample, read_errata
from sketchbench.run.config.schema import SchemaError
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.theory import descent, tail
from sketchbench.theory.compressed_sensing import SensingSetting, sparsity_limit

CONF = Path(__file__).parents[2] / "conf"
ERRATA = {erratum.id: erratum for erratum in read_errata((CONF / "erratum").rglob("*.yaml"), CLAIMS.values())}
CODES = {name: case for name, one in ERRATA.items() if (case := one.counterexample) and case.code}
COMPUTED = song2023.COUNTEREXAMPLES | tang2021.COUNTEREXAMPLES | zhang2021.COUNTEREXAMPLES


def agrees(value: float, given: float) -> bool:
    """Whether a value is the given one: a whole number exactly, another to its digits, and to three at least."""
    if isinstance(given, int) or given in (float("inf"), 0.0):
        return value == pytest.approx(given, rel=1e-9, abs=1e-9)
    digits = Decimal(repr(given))
    last = min(int(digits.as_tuple().exponent), digits.adjusted() - 2)
    return abs(value - given) <= 0.5 * 10.0**last


@pytest.mark.parametrize("name", COMPUTED)
def test_both_numbers(name: str) -> None:
    case = ERRATA[name].counterexample
    assert case is not None
    printed, measured = COMPUTED[name]()
    assert agrees(printed, case.printed), (printed, case.printed)
    assert agrees(measured, case.measured), (measured, case.measured)
    assert replace(case, printed=printed, measured=measured).refutes


@pytest.mark.parametrize("name", CODES)
def test_five_lines_print_both_numbers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = CODES[name]
    assert len(case.code.splitlines()) <= 5
    exec(case.code, {})
    printed, measured = map(float, capsys.readouterr().out.split())
    assert agrees(printed, case.printed), (printed, case.printed)
    assert agrees(measured, case.measured), (measured, case.measured)


def test_only_one_counterexample_takes_more_than_five_lines() -> None:
    assert set(COMPUTED) - set(CODES) == {"tang2021-stopping-rule"}


def test_every_counterexample_is_recomputed() -> None:
    assert {name for name, erratum in ERRATA.items() if erratum.counterexample} == set(COMPUTED)


def test_what_is_corrected_has_an_erratum() -> None:
    """A claim of role `corrected` says what is true instead; conf/erratum says instead of what."""
    named = {claim for erratum in ERRATA.values() for claim in erratum.claims}
    assert {claim.id for claim in CLAIMS.values() if claim.role == "corrected"} <= named


def test_the_five_that_matter_most_come_first() -> None:
    """Each of them touches a result that its paper uses."""
    first = list(ERRATA.values())[:5]
    assert [erratum.rank for erratum in ERRATA.values()] == [1, 2, 3, 4, 5] + [None] * (len(ERRATA) - 5)
    assert all(erratum.touches.result for erratum in first)


@pytest.mark.parametrize(
    ("value", "given", "same"),
    [(0.13, 0.125, False), (0.1252, 0.125, True), (4.001, 4, False), (1.3407, 1.341, True), (0.46, 0.5, False)],
)
def test_digits(value: float, given: float, same: bool) -> None:
    assert agrees(value, given) is same


@pytest.mark.parametrize(
    ("relation", "measured", "refuted"),
    [("at most", 2, True), ("at most", 1, False), ("at least", 0, True), ("at least", 2, False), ("exactly", 1, False)],
)
def test_a_counterexample_contradicts_the_print(relation: str, measured: float, refuted: bool) -> None:
    assert Counterexample("", relation, 1, measured).refutes is refuted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": "other"}, "id other must be the file's name"),
        ({"claims": ["S99"]}, "claim=S99 is unknown"),
        ({"counterexample": {"measured": 0.1}}, "measured=0.1 must not be at most the printed 0.2"),
        ({"counterexample": None}, "'counterexample' is a required property"),
        ({"kind": "doubtful"}, "'doubtful' is not one of"),
    ],
)
def test_an_erratum_that_is_none(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    content = entry("erratum", "song2023-D.20")
    for key, value in changed.items():
        content[key] = {**content[key], **value} if isinstance(value, dict) else value
    path = tmp_path / "song2023-D.20.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    with pytest.raises((ClaimError, SchemaError), match=message):
        read_errata([path], CLAIMS.values())


def test_a_misprint_may_change_no_number(tmp_path: Path) -> None:
    content = entry("erratum", "song2023-D.11")
    assert "counterexample" not in content
    path = tmp_path / "song2023-D.11.yaml"
    path.write_text(yaml.safe_dump(content))
    assert [erratum.kind for erratum in read_errata([path], CLAIMS.values())] == ["misprint"]


# Where the bound of zhang2021 Remark 1 is false, and where it may hold


def nearest_update(outputs: int, inputs: int, size: int) -> float:
    """The minimum of ‖W_old S_old Z₁ - W_new S_new Z₂ - Δ‖² over Z₁ and Z₂, over ‖Δ‖²."""
    seen, update = seen_and_update(outputs, inputs, size)
    both = np.linalg.lstsq(seen, update, rcond=None)[0]
    return float(((seen @ both - update) ** 2).sum() / (update**2).sum())


@pytest.mark.parametrize(("outputs", "size"), [(1, 1), (2, 1), (100, 50)])
def test_remark_1_of_zhang2021(outputs: int, size: int) -> None:
    """Hoped for (zhang2021 Remark 1, not claimed as proven): the best of all linear uses of both sketched weights
    misses the update by Ω(1) ‖Δ‖².

    For d_out <= 2s, the 2s columns seen span all outputs when the weights are generic: the minimum is 0.
    """
    assert nearest_update(outputs, 400, size) < 1e-20


@pytest.mark.parametrize(("outputs", "size"), [(3, 1), (101, 50)])
def test_remark_1_of_zhang2021_may_hold_beyond(outputs: int, size: int) -> None:
    """One more output, and something is left: the condition d_out <= 2s is sharp."""
    assert nearest_update(outputs, 400, size) > 1e-4


# What the errata of song2023 say beyond their counterexamples, and where what is corrected holds


RELATIVE = 1e-12  # the error of a few sums in float64, and more


def conditions_of_theorem_k_3_on_the_square(x: np.ndarray, y: np.ndarray) -> None:
    """‖x‖² meets each with equality: c = 0, d = 1; α = 0, β = 2; (2, 2)-non-critical."""
    assert x @ x == pytest.approx(y @ y + 2 * y @ (x - y) + (x - y) @ (x - y))
    assert np.linalg.norm(2 * x - 2 * y) == pytest.approx(2 * np.linalg.norm(x - y))
    assert (2 * x) @ (2 * x) == pytest.approx(2**2 * (x @ x))


def test_theorem_k_3_confuses_the_rate_with_what_is_left() -> None:
    """Printed (song2023 Theorem K.3): ‖x(t+1) - x*‖ <= (1 - γ)‖x(t) - x*‖ with γ = 1 - ξη/2, so at most ξη/2 is left.

    On ‖x‖², ζ = β² = 4 and ξ = 2d = 2, so η = 1/4 is allowed. The distance is halved; printed is a quarter. The proof
    has γ = ξη/2, for squared distances: at most 3/4 is left of the square, and 1/4 is.
    """
    zeta, xi = 4.0, 2.0
    eta = xi / (2 * zeta)
    start, other = np.random.default_rng(0).standard_normal((2, 3))
    conditions_of_theorem_k_3_on_the_square(start, other)
    left = np.linalg.norm(start - eta * 2 * start) / np.linalg.norm(start)
    assert left == pytest.approx(0.5)
    square = descent.Ellipsoid(1.0).constants
    assert (square.zeta, square.xi) == (zeta, xi)
    printed, proven = descent.printed(square, eta), descent.proven(square, eta)
    assert (printed, proven) == (xi * eta / 2, 1 - xi * eta / 2)
    assert descent.largest_step(square) == eta
    assert printed == 0.25 < left
    assert left**2 <= left <= proven == 0.75


@pytest.mark.parametrize("eta", [0.25, 0.1, 1e-3, 1e-6])
def test_theorem_k_3_fails_at_every_step_size_that_it_allows(eta: float) -> None:
    """As printed, the smaller the step, the faster: 1 - 2η is left on ‖x‖², and printed is η."""
    assert abs(1 - 2 * eta) > eta
    assert (1 - 2 * eta) ** 2 <= 1 - eta


def exceedance_of_flat_vectors(level: float, *, n: int) -> float:
    """P(|gᵀRᵀRh - gᵀh| >= level ‖g‖‖h‖), one bucket, g = h flat: gᵀRᵀRh/‖g‖² = (2B - n)²/n, B binomial."""
    plus = np.arange(n + 1)
    errors = abs((2 * plus - n) ** 2 / n - 1)
    return float(stats.binom.pmf(plus, n, 0.5)[errors >= level].sum())


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0, 5.0])
def test_one_bucket_by_enumeration(level: float) -> None:
    """The binomial tail is the share of all 2¹⁰ CountSketches."""
    distribution = exhaustive.ams(10, 1)  # one bucket: a row of signs
    flat = np.full(10, 10**-0.5)
    exceeded = abs(distribution.errors(flat, flat)) >= level - RELATIVE
    assert exceedance_of_flat_vectors(level - RELATIVE, n=10) == pytest.approx(distribution.weights @ exceeded)


@pytest.mark.parametrize(("delta", "times"), [(1e-3, 2.484), (1e-4, 6.737), (1e-5, 21.31)])
def test_lemma_d_25_at_one_bucket(delta: float, times: float) -> None:
    """Printed (song2023 Lemma D.25): |gᵀRᵀRh - gᵀh| >= log(1/δ) ‖g‖‖h‖ with probability at most Θ(δ), for CountSketch.

    With b = 1, n = 640 and flat g = h, the exact probability is 2.5, 6.7 and 21 times 2δ. It falls like √δ, so no
    constant in Θ(δ) is large enough. (The proof has an unnamed c in the threshold, which the lemma leaves out.)
    """
    probability = exceedance_of_flat_vectors(tail.count_sketch(delta, d=640, b=1), n=640)
    assert probability / (2 * delta) == pytest.approx(times, rel=1e-3)


def test_lemma_d_25_at_one_bucket_needs_twice_the_threshold() -> None:
    """With c = 2 it holds there: Hoeffding's bound for (2B - n)²/n >= 1 + 2 log(1/δ) is 2 exp(-1/2) δ."""
    for delta in (0.1, 1e-2, 1e-3, 1e-4, 1e-5):
        assert exceedance_of_flat_vectors(2 * tail.count_sketch(delta, d=640, b=1), n=640) <= 2 * delta


@pytest.mark.parametrize("delta", [1e-3, 1e-4, 1e-5])
def test_lemma_d_25_at_two_buckets_spares_flat_vectors(delta: float) -> None:
    """The buckets' sums walk in the plane: turned by 45°, two walks on the line. At most a fifth of 2δ."""
    n = 640
    plus = np.arange(n + 1)
    walk, chance = (2 * plus - n) ** 2, stats.binom.pmf(plus, n, 0.5)
    errors = abs((walk[:, None] + walk) / (2 * n) - 1)
    exceeded = errors >= tail.count_sketch(delta, d=n, b=2)
    assert 0 < (chance[:, None] * chance)[exceeded].sum() < 0.2 * 2 * delta


@pytest.mark.parametrize(("delta", "times"), [(1e-2, 2.1), (1e-4, 17), (1e-6, 146)])
def test_lemma_d_18_with_many_rows(delta: float, times: float) -> None:
    """The normal tail is the limit for many rows; a thousand differ from it by less than a tenth."""
    assert 2 * stats.norm.sf(np.sqrt(np.log(2 / delta))) / delta == pytest.approx(times, rel=0.1)


def test_section_5_with_the_exact_constant() -> None:
    """α = (d - 1)/b in place of 2d/b: the total grows by a tenth instead of 1.4 times itself."""
    assert song2023.growth_of_bits(alpha=3.0) == pytest.approx(1.106, abs=5e-4)


@pytest.mark.parametrize(("columns", "buckets", "low", "high"), [(640, 16, 1e-17, 3e-17), (1000, 100, 4e-3, 5e-3)])
def test_how_often_a_bucket_is_empty(columns: int, buckets: int, low: float, high: float) -> None:
    """The union bound, which is nearly exact where it is small; by the second moment it is near 1 for 2,538 to 634."""
    assert low < buckets * (1 - 1 / buckets) ** columns < high
    mean = 634 * (1 - 1 / 634) ** 2538
    pairs = 634 * 633 * (1 - 2 / 634) ** 2538
    assert mean**2 / (mean + pairs) > 0.9  # P[some] >= (E N)²/E N²


@pytest.mark.parametrize("target", [-2.0, 0.0, 0.7, 3.0])
def test_theorem_7_5_holds_with_the_variation_of_the_pseudo_hessian(target: float) -> None:
    """Of G(x) = x + sin(3x)/30, whose derivative is between 0.9 and 1.1: Lemma J.4 with a = 2ω, and Theorem 7.5.

    L is (2ω, β², 1/2)-semi-smooth and (2θ₁, 2θ₂)-non-critical; a step leaves 0.762 of it at most, and leaves 0.454.
    """
    x, y = np.meshgrid(np.linspace(-6, 6, 601), np.linspace(-6, 6, 401))
    low, high, variation = 0.9, 1.1, 0.2
    off = bent(x) - target
    slope = 2 * (1 + np.cos(3 * x) / 10) * off
    allowed = off**2 + slope * (y - x) + high**2 * (y - x) ** 2 + 2 * variation * abs(y - x) * abs(off)
    assert ((bent(y) - target) ** 2 <= allowed + RELATIVE).all()
    room = 4 * low**2 - 2 * variation * 2 * high
    assert room > 0  # θ₁² > ωθ₂
    eta = room / (2 * high**2 * 4 * high**2)
    assert 1 - eta * room / 2 == pytest.approx(0.762, abs=5e-4)
    assert ((bent(x - eta * slope) - target) ** 2 <= 0.4545 * off**2 + RELATIVE).all()


def bent(x: np.ndarray) -> np.ndarray:
    return x + np.sin(3 * x) / 30


def test_theorem_l_1_grows_in_many_steps() -> None:
    """With the largest step L rises in more than a third of 2,000 steps from (1, 0.3)."""
    low, high = 3.9204, 40.0804
    eta = (low - 2) / (2 * 10 * high)
    x, values = np.array([1.0, 0.3]), []
    for _ in range(2_000):
        value, slope = song2023.rippled(x)
        values.append(value)
        x = x - eta * slope
    assert np.mean(np.diff(values) > 0) > 0.33


# Why tang2021 Lemma 1 and Theorem 1 are false as printed, on the very algorithm, and what does hold


NUMPY = load("numpy")


def memory_deviations(d: int, b: int, *, channel_noise: float, rounds: int = 5) -> np.ndarray:
    """Over all rounds, the largest ‖ε - Φe‖ over ‖z‖ in each of 10 trials, with e by the recursion of Lemma 1."""
    objective = SparseGradients(NUMPY, d, 4, 0, decay=d / 50)
    sketch = SubsampledHadamard(d, b, signs=False).draw(3, kernels="numpy")
    algorithm = CompressedSensingSGD(FIHT(min(8, d)), 0.3, channel_noise, clients="mean")
    worst = np.zeros(10)
    for at, vectors in track(algorithm.run(objective, sketch, 7, trials=10, rounds=rounds), algorithm, sketch):
        if at.sent is not None and vectors is not None:
            off = np.linalg.norm(at.error - sketch.sketch(vectors.e), axis=1)
            worst = np.maximum(worst, off / np.linalg.norm(at.sent.z, axis=1))
    return worst


def test_lemma_1_with_padding() -> None:
    """Printed (tang2021 Lemma 1): the server's memory is ε(t) = Φe(t), with e(t+1) = p(t) - Δ(t) + (ηQ/d) Φᵀw(t).

    For rows of an orthogonal d x d matrix; the paper's network has d = 668,426, where a Walsh-Hadamard matrix is cut to
    d columns. At d = 500, Q = 200, W = 0.5, every trial is off by more than 1 %; at d = 512, by rounding only.
    """
    assert memory_deviations(500, 200, channel_noise=0.5).min() > 0.01
    assert memory_deviations(512, 200, channel_noise=0.5).max() < 1e-10


def test_lemma_1_with_padding_but_no_noise() -> None:
    """Only the noise is carried over by Φᵀ, so without it the cut does no harm."""
    assert memory_deviations(500, 200, channel_noise=0.0).max() < 1e-10


def test_the_proof_of_theorem_1_drops_the_noise() -> None:
    """Printed (tang2021 Appendix B, both cases): x̃(t+1) = x̃(t) - ηg(t) for x̃ = x - e, without (ηQ/d) Φᵀw(t).

    What is missing has the length η √(Q/d) ‖w(t)‖ in every round, because the rows of Φ are orthogonal and of length
    √(d/Q): at W = 5, 36 % to 88 % of the step that x̃ takes. With the term, the recursion holds up to rounding.
    """
    d, b, eta = 64, 40, 0.05
    objective = SparseGradients(NUMPY, d, 5, 0, decay=4.0, spike_rate=0.05)
    sketch = SubsampledHadamard(d, b, signs=False).draw(3, kernels="numpy")
    matrix = sketch.materialize()
    algorithm = CompressedSensingSGD(FIHT(6), eta, 5.0)
    before, shares = np.zeros((4, d)), []
    for at, vectors in track(algorithm.run(objective, sketch, 7, trials=4, rounds=20), algorithm, sketch):
        if at.sent is None or vectors is None:
            continue
        np.testing.assert_allclose(vectors.e @ matrix.T, at.error, atol=1e-10)  # this is the e of Lemma 1
        virtual = at.w - vectors.e
        missing = virtual - (before - eta * at.sent.gradient)
        dropped = eta * b / d * at.sent.noise @ matrix
        np.testing.assert_allclose(missing, -dropped, atol=1e-10)
        length = np.linalg.norm(missing, axis=1)
        np.testing.assert_allclose(length, eta * (b / d) ** 0.5 * np.linalg.norm(at.sent.noise, axis=1), rtol=1e-9)
        shares.append(length / np.linalg.norm(virtual - before, axis=1))
        before = virtual
    assert len(shares) == 20
    np.testing.assert_allclose([np.min(shares), np.max(shares)], [0.36, 0.88], atol=0.01)


def bound_at_d_1(rounds: int) -> float:
    """Theorem 1 on x²/2 from its minimum with no noise but the channel's: C_n = √(Q/d) = σ² = 1 and γ = 1/2."""
    return 3 / rounds * 2 * (1 + 1) ** 2 / (1 - 0.5)


def printed_bound_at_d_1(rounds: int) -> float:
    """Theorem 1 for that f from its minimum: C_n = 1, C_s and G² as small as may be, and γ = 1/2, which (7) allows."""
    tiny = 1e-9
    assert sparsity_limit(1, 1, tiny, 0.5 + 1e-8) >= 1  # sp of a number is 1
    setting = SensingSetting(
        smoothness=1.0,
        gap=0.0,
        squared_distance=0.0,
        noise_energy=tiny,
        channel_energy=1.0,
        share=1.0,
        tail=tiny,
        noise=1.0,
        gamma=0.5 + 1e-8,
        rounds=rounds,
    )
    return setting.squared_gradient


def test_theorem_1_itself_is_false_without_the_dropped_noise() -> None:
    """Printed (tang2021 Theorem 1): σ² is in the bound's 1/T term only, 48 σ²/T at d = Q = K = 1.

    On x²/2 from its minimum, with no noise but the channel's, the mean E‖∇f‖² is about σ²/(2√T): 1.3 times the bound at
    T = 16,000, and above it from T = 9,217 on. Condition (7) does not help: sp(p) = 1 <= 2γ at γ = 1/2. With another
    C_n, the bound is 12(C_n + 1)² σ²/T, and a longer run exceeds it.
    """
    assert printed_bound_at_d_1(16_000) == pytest.approx(bound_at_d_1(16_000), rel=1e-6)
    assert mean_square(16_000, 0) > 1.3 * printed_bound_at_d_1(16_000)
    assert mean_square(9_216, 0) < printed_bound_at_d_1(9_216) * (1 + 1e-5)
    assert mean_square(9_230, 0) > printed_bound_at_d_1(9_230)


def test_with_the_dropped_noise_theorem_1_holds_there() -> None:
    """For noise of mean zero, (Q/d) σ² belongs to the 1/√T term as G² does: 3 (Q/d) σ²/(2√T) more."""
    for rounds in (400, 4_000, 16_000):
        corrected = printed_bound_at_d_1(rounds) + 1.5 * rounds**-0.5
        assert mean_square(rounds, 0) < corrected
