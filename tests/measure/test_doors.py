"""What measures and formulas refuse at the door: no number, no trial, masked entries, and sizes that don't fit."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from sketchbench.measure import audit, cost, factorial, interval, power, sparsity
from sketchbench.measure.divergence import has_diverged
from sketchbench.measure.image import likeness
from sketchbench.measure.row import Row
from sketchbench.measure.summary import summarize
from sketchbench.theory import inner_product, isometry, norm, sampling, second_moment, tail

THREE = np.array([1.0, 2.0, 4.0])
PICTURE = np.full((1, 8, 8), 0.5)
# Functions of one array, each of which takes THREE.
OF_FINITE: dict[str, Callable[[Any], Any]] = {
    "slope x": lambda v: interval.log_slope(v, THREE, THREE, error=0.1),
    "slope mean": lambda v: interval.log_slope(THREE, v, THREE, error=0.1),
    "slope error": lambda v: interval.log_slope(THREE, THREE, v, error=0.1),
    "threshold with": lambda v: audit.strongest_threshold(v, THREE, delta=0.1, error=0.1),
    "threshold without": lambda v: audit.strongest_threshold(THREE, v, delta=0.1, error=0.1),
    "effects": lambda v: factorial.effects(["a"], np.array([v[:2], [1.0, 2.0], [1.0, 1.5]]) if len(v) else v),
    "exponents": lambda v: cost.exponents([1, 2, 4], v),
    "second moment g": lambda v: second_moment.gaussian(v, THREE, b=2),
    "second moment h": lambda v: second_moment.hashed(THREE, v, b=2),
    "norm": lambda v: norm.hashed(v, b=2),
}
OF_TRIALS: dict[str, Callable[[Any], Any]] = {
    "summary": summarize,
    "mean": lambda v: Row("loss").mean(v),
    "exceedances": lambda v: Row("loss").exceedances(v, 1.0),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "divergence": lambda v: has_diverged(v, 1.0),
    "sparsity": sparsity.sparsity,
    "tail": lambda v: sparsity.tail_norms(v, 1),
}
MASKED = np.ma.masked_array(THREE, mask=[False, True, False])


@pytest.mark.parametrize("name", {**OF_FINITE, **OF_TRIALS, **OTHERS})
def test_masked_empty_and_complex_numbers(name: str) -> None:
    function = {**OF_FINITE, **OF_TRIALS, **OTHERS}[name]
    function(THREE)
    if name not in ("divergence", "effects"):
        with pytest.raises(TypeError, match="is a masked array, whose mask would be ignored"):
            function(MASKED)
        with pytest.raises(TypeError, match="of dtype complex128 must be real numbers"):
            function(THREE + 1j)
    with pytest.raises(ValueError, match=r"empty|shape"):
        function(THREE[:0])


@pytest.mark.parametrize("name", {**OF_FINITE, **OF_TRIALS})
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(name: str, value: float) -> None:
    wrong = np.array([1.0, value, 4.0])
    if name in OF_FINITE:
        with pytest.raises(ValueError, match="must be finite"):
            OF_FINITE[name](wrong)
    elif name != "exceedances" or np.isnan(value):
        with pytest.raises(FloatingPointError, match=r"must be finite|one is nan"):
            OF_TRIALS[name](wrong)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: interval.mean_interval(np.nan, 1.0, 0.0, 5, error=0.1), "entry (0,) of mean, sd"),
    (lambda: interval.mean_interval(1.0, np.nan, 0.0, 5, error=0.1), "entry (1,) of mean, sd"),
    (lambda: interval.mean_interval(1.0, -1.0, 0.0, 5, error=0.1), "sd=-1.0 must be >= 0"),
    (lambda: interval.mean_interval(1.0, 1.0, 0.0, 1, error=0.1), "trials=1 must be >= 2"),
    (lambda: interval.student_quantile(0.1, 0), "freedom=0 must be >= 1"),
    (lambda: interval.normal_quantile(np.nan), "error rate nan must satisfy"),
    (lambda: interval.log_slope(np.ones(3), THREE, THREE, error=0.1), "not all at the same x"),
    (lambda: interval.log_slope(THREE, THREE, -THREE, error=0.1), "no error be negative"),
    (lambda: interval.log_slope(THREE, THREE[:2], THREE, error=0.1), "of shapes (3,), (2,) and (3,)"),
    (lambda: summarize([1.7e308, -1.7e308]), "no finite standard deviation; use another unit"),
    (lambda: Row("loss").exceedances(THREE, np.nan), "bound=nan must be numbers"),
    (lambda: has_diverged(THREE, np.nan), "entry () of start is nan"),
    (lambda: power.trials_for_mean(0.1, sd=np.inf, error=0.1, power=0.9), "sd=inf must be > 0"),
    (lambda: power.trials_for_mean(np.nan, sd=1.0, error=0.1, power=0.9), "effect=nan"),
    (lambda: power.trials_for_zero(np.nan, error=0.1), "bound=nan"),
    (lambda: sparsity.tail_constants(THREE[:1], THREE, 0), "k=0 must be >= 1"),
    (lambda: sparsity.tail_norms(THREE, 4), "k=4 must satisfy 0 <= k <= d=3"),
    (lambda: audit.epsilon_lower_bound(5, 1, 10, delta=np.nan, error=0.1), "delta=nan must satisfy"),
    (lambda: audit.strongest_threshold(THREE, THREE[:2], delta=0.1, error=0.1), "of shapes (3,) and (2,)"),
    (lambda: factorial.effects(["a", "a"], np.ones((9, 4))), "must differ"),
    (lambda: cost.exponents([2, 2, 2], THREE), "of two sizes >= 1 or more"),
    (lambda: cost.exponents([1, 2, 4], 0 * THREE), "must be > 0"),
    (lambda: likeness(np.ma.masked_array(PICTURE, mask=PICTURE > 0), PICTURE), "image is a masked array"),
    (lambda: likeness(np.nan * PICTURE, PICTURE), "must be in [0, 1]"),
    (lambda: second_moment.hashed(THREE[:1], THREE, b=2), "must end in the same d"),
    (lambda: second_moment.gaussian(THREE, THREE, b=0), "b=0 must be >= 1"),
    (lambda: norm.gaussian(THREE, b=2.0), "b=2.0 must be an integer"),
    (lambda: norm.sampled_hadamard(THREE, b=5), "b=5 rows must be 1 to n=4"),
    (lambda: sampling.variance_factor(0, 4, True), "b=0 rows must be 1 to n=4"),
    (lambda: isometry.proposition_1(d=8, b=4, k=0), "k=0 must be >= 1"),
    *[
        (partial(function, delta, d=8, b=4), f"delta={delta} must be")
        for function in (tail.dense, tail.count_sketch, inner_product.printed, inner_product.derived_gaussian)
        for delta in (0.0, 1.0, -0.1, np.inf, np.nan)
    ],
    (lambda: tail.sparse(0.1, d=8, b=4, s=0), "s=0 must be >= 1"),
    (lambda: tail.dense(0.1, d=0, b=4), "d=0 must be >= 1"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_arguments(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError, FloatingPointError), match=re.escape(message)):
        call()
