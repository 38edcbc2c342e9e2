"""Summaries of trials against SciPy."""

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from skimage.metrics import peak_signal_noise_ratio

from sketchbench.kernels import numpy_kernels
from sketchbench.measure.cost import count_operations, exponents, time_in_turns
from sketchbench.measure.factorial import design, effects
from sketchbench.measure.image import likeness, psnr
from sketchbench.measure.interval import proportion_interval
from sketchbench.measure.rerun import chance_of_change, decided_counts
from sketchbench.measure.summary import summarize


@given(st.integers(0, 2**32), st.integers(2, 500), st.floats(-100, 100), st.floats(1e-3, 1e3))
def test_summary_equals_scipy(seed: int, trials: int, shift: float, scale: float) -> None:
    values = shift + scale * np.random.default_rng(seed).exponential(size=trials)
    summary = summarize(values)
    assert summary["trials"] == trials
    assert summary["mean"] == pytest.approx(np.mean(values), rel=1e-12)
    assert summary["sd"] == pytest.approx(np.std(values, ddof=1), rel=1e-9)
    assert summary["skewness"] == pytest.approx(stats.skew(values), rel=1e-6, abs=1e-9)
    assert (summary["minimum"], summary["maximum"]) == (values.min(), values.max())


@pytest.mark.parametrize("value", [0.0, 1.0, -3e7, 0.1])
def test_what_never_varies(value: float) -> None:
    summary = summarize(np.full(1000, value))
    assert summary["mean"] == pytest.approx(value, rel=1e-12)
    assert summary["sd"] <= 1e-12 * abs(value)
    assert summary["skewness"] == 0


@given(st.integers(0, 2**32), st.integers(-1000, 1000))
def test_units_change_nothing(seed: int, power: int) -> None:
    """Not where squares leave float64 either; only what is below the rounding of the quantity's own size has none."""
    values = np.random.default_rng(seed).exponential(size=20)
    base, unit = summarize(values), 2.0**power
    for name, found in summarize(values * unit).items():
        assert found == (base[name] if name in ("trials", "skewness") else base[name] * unit)
    assert base["skewness"] != 0
    assert summarize(values * unit, scale=min(1e15 * unit, sys.float_info.max))["skewness"] == 0


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_non_finite_value_is_refused(value: str) -> None:
    with pytest.raises(FloatingPointError, match=f"trial 2 gave {value}; results must be finite"):
        summarize([1.0, 2.0, float(value), float("nan")])


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3)])
def test_wrong_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must be one axis of at least 2 trials"):
        summarize(np.ones(shape))


# Factorial designs: balanced, clear of pairs, and an effect with an interval that covers it


NAMES = list("ABCDEF")


@pytest.mark.parametrize("factors", range(1, 7))
def test_every_factor_is_balanced_and_clear_of_the_others(factors: int) -> None:
    levels = design(factors)
    assert (levels.T @ levels == len(levels) * np.eye(factors)).all()
    assert (levels.sum(0) == 0).all()


def test_no_factor_is_mixed_with_a_pair() -> None:
    levels = design(6)
    for a, (b, c) in itertools.product(range(6), itertools.combinations(range(6), 2)):
        if a not in (b, c):
            assert levels[:, a] @ (levels[:, b] * levels[:, c]) == 0


def test_effects_are_found_and_their_intervals_cover_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    true = dict(zip(NAMES, [1.5, 0.0, -0.3, 0.0, 0.2, 0.0], strict=True))
    missed = 0
    for _ in range(400):
        blocks = random.normal(size=(2, 1)) * 3
        clean = blocks + design(6) @ np.array(list(true.values())) / 2
        found = effects(NAMES, clean + random.normal(size=clean.shape))
        for name, effect in found.items():
            width = stats.t.ppf(0.975, effect.freedom) * effect.error
            missed += abs(effect.mean - true[name]) > width
    assert 0.03 < missed / 2400 < 0.07  # 5 % at a standard error of 0.45 %


def test_too_few_runs_say_so() -> None:
    with pytest.raises(ValueError, match="add replicates"):
        effects(["A"], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="factors=7 must be from 1 to 6"):
        design(7)


# Operations that are counted, and times that take turns


@pytest.mark.parametrize("d", [8, 64, 512])
def test_operations_of_a_fast_transform(d: int) -> None:
    """d additions in each of log d stages, then d multiplications by the scale."""
    assert count_operations(numpy_kernels.walsh_hadamard, np.ones(d)) == d * (d.bit_length() - 1) + d


def test_what_is_not_counted_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"add.reduce"):
        count_operations(lambda x: x.sum(), np.ones(3))


def test_computations_take_turns() -> None:
    seen: list[str] = []
    work: Any = {name: lambda name=name: seen.append(name) for name in "ab"}
    found = time_in_turns(work, 3)
    assert "".join(seen) == "abababab"  # the first of them is not measured
    assert {name: values.shape for name, values in found.items()} == {"a": (3,), "b": (3,)}


def test_exponents() -> None:
    sizes = [4, 16, 64]
    costs = np.array([[size**power for size in sizes] for power in (1.0, 2.0)])
    assert exponents(sizes, 3 * costs) == pytest.approx([1, 2])


# Measures of images, against their formulas


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 12)])
def test_against_the_formulas(shape: tuple[int, ...]) -> None:
    a, b = RANDOM.random((2, *shape))
    found = likeness(a, b)
    assert found.mse == pytest.approx(((a - b) ** 2).mean())
    assert found.psnr == pytest.approx(-10 * np.log10(found.mse))
    assert psnr(a.ravel(), b.ravel()) == found.psnr
    assert found.psnr == pytest.approx(peak_signal_noise_ratio(b, a, data_range=1.0))
    assert abs(found.ssim) < 0.5


def test_equal_images() -> None:
    a = RANDOM.random((1, 8, 8))
    assert likeness(a, a) == (0.0, 150.0, 1.0)


def test_structural_similarity_of_a_constant_shift() -> None:
    """Of constant images only the luminance counts: (2ab + c) / (a² + b² + c), c = 0.01²."""
    a, b = np.full((1, 8, 8), 0.2), np.full((1, 8, 8), 0.6)
    c = 0.01**2
    expected = (2 * 0.2 * 0.6 + c) / (0.2**2 + 0.6**2 + c)
    assert likeness(a, b).ssim == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("image", "truth", "message"),
    [
        (np.zeros((1, 8, 8)), np.zeros((8, 8)), "must both be"),
        (np.zeros((8, 8)), np.zeros((8, 8)), "must both be"),
        (np.full((1, 8, 8), 1.5), np.zeros((1, 8, 8)), "from 1.5 to 1.5 must be in"),
        (np.zeros((1, 8, 8)), np.full((1, 8, 8), np.nan), "must be in"),
    ],
)
def test_bad_images(image: np.ndarray, truth: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        likeness(image, truth)


# The chance that new trials decide otherwise


ERROR = 3e-6


def decision(count: int, trials: int, bound: float) -> str:
    low, high = proportion_interval(count, trials, error=ERROR)
    return "below" if high <= bound else "above" if low > bound else "neither"


@given(st.integers(1, 300), st.floats(0.01, 0.99), st.data())
def test_it_is_that_of_the_binomial_distribution(trials: int, bound: float, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, trials))
    decided = [decision(new, trials, bound) for new in range(trials + 1)]
    chances = stats.binom.pmf(np.arange(trials + 1), trials, count / trials)
    expected = sum(chance for chance, new in zip(chances, decided, strict=True) if new != decided[count])
    assert chance_of_change(count, trials, bound=bound, error=ERROR) == pytest.approx(expected, abs=1e-9)


def test_the_counts_that_decide() -> None:
    assert decided_counts(24, bound=0.5, error=ERROR) == (1, 23)
    assert decided_counts(19, bound=0.5, error=ERROR) == (-1, 20)  # nothing decides


def test_many_trials_take_no_longer() -> None:
    """Sure on either side of the bound, and about even where a verdict is just reached."""
    low, high = decided_counts(200_000, bound=0.5, error=ERROR)
    assert chance_of_change(0, 24, bound=0.5, error=ERROR) == 0  # what was never seen
    assert chance_of_change(90_000, 200_000, bound=0.5, error=ERROR) < 1e-12
    assert chance_of_change(low, 200_000, bound=0.5, error=ERROR) == pytest.approx(0.5, abs=0.01)
    assert chance_of_change(high, 200_000, bound=0.5, error=ERROR) == pytest.approx(0.5, abs=0.01)
