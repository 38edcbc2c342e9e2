"""Every exact moment against all operators of the family at a tiny size."""

import inspect
from types import ModuleType

import numpy as np
import pytest
from cases import CASES, pairs

from sketchbench.theory import norm, second_moment
from sketchbench.theory.known import Known

EVERY = pytest.mark.parametrize("name", CASES)


def formulas(module: ModuleType) -> set[str]:
    made = inspect.getmembers(module, inspect.isfunction)
    public = {name for name, function in made if function.__module__ == module.__name__}
    return {name for name in public if not name.startswith("_")} - {"bound", "nothing"}  # that of R = 0 is 0


def test_every_formula_has_a_case() -> None:
    def name(function: object) -> str:
        return str(getattr(function, "func", function).__name__)  # type: ignore[attr-defined]

    assert formulas(second_moment) == {name(case.second_moment) for case in CASES.values()}
    assert formulas(norm) == {name(case.norm) for case in CASES.values()}


@EVERY
def test_the_oracle_is_unbiased(name: str) -> None:
    """Probabilities that sum to 1, and E[R'R] = I (song2023 Lemma D.11)."""
    distribution = CASES[name].distribution
    assert distribution.weights.sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(distribution.mean(), np.eye(distribution.d), atol=1e-12)


@EVERY
@pytest.mark.parametrize("pair", pairs(2))
def test_second_moment(name: str, pair: str) -> None:
    case = CASES[name]
    g, h = pairs(case.distribution.d)[pair]
    formula = case.second_moment(g, h, b=case.distribution.b)
    assert formula == pytest.approx(case.distribution.second_moment(g, h), rel=1e-12, abs=1e-12)


@EVERY
def test_second_moment_of_any_pair(name: str) -> None:
    """Both are polynomials of degree two in g and in h: if they differ, then at almost every point."""
    case = CASES[name]
    for g, h in np.random.default_rng(1).standard_normal((3, 2, case.distribution.d)):
        formula = case.second_moment(g, h, b=case.distribution.b)
        assert formula == pytest.approx(case.distribution.second_moment(g, h), rel=1e-10, abs=1e-10)


@EVERY
def test_norm(name: str) -> None:
    """Against the enumeration, and as the sum of second moments over the basis."""
    case = CASES[name]
    d, b = case.distribution.d, case.distribution.b
    for _, h in pairs(d).values():
        formula = case.norm(h, b=b)
        assert formula == pytest.approx(case.distribution.norm(h), rel=1e-12, abs=1e-12)
        total = case.second_moment(np.eye(d), np.broadcast_to(h, (d, d)), b=b).sum()
        assert formula == pytest.approx(total, rel=1e-12, abs=1e-12)


@EVERY
def test_the_exact_alpha(name: str) -> None:
    """In closed form; and E‖RᵀRh‖² = (1 + α)‖h‖² for every h, by enumeration."""
    case = CASES[name]
    d, b = case.distribution.d, case.distribution.b
    alpha = Known(norm=case.norm).exact_alpha(d, b)
    kind = name.split(maxsplit=1)[0]
    closed = {"gaussian": (d + 1) / b, "uniform": d / b - 1, "balanced": d / b - 1, "identity": 0.0}
    if kind in {*closed, "count_sketch", "ams", "sparse", "block_sparse"}:
        assert alpha == pytest.approx(closed.get(kind, (d - 1) / b), rel=1e-12, abs=1e-12)
    for h in np.random.default_rng(2).standard_normal((3, d)):
        assert case.distribution.norm(h) == pytest.approx((1 + alpha) * h @ h, rel=1e-10)


@EVERY
def test_leading_axes(name: str) -> None:
    case = CASES[name]
    d, b = case.distribution.d, case.distribution.b
    g, h = np.random.default_rng(1).standard_normal((2, 2, 3, d))
    moments, norms = case.second_moment(g, h, b=b), case.norm(h, b=b)
    assert moments.shape == norms.shape == (2, 3)
    for place in np.ndindex(2, 3):
        assert moments[place] == pytest.approx(case.second_moment(g[place], h[place], b=b))
        assert norms[place] == pytest.approx(case.norm(h[place], b=b))
