"""Which properties of song2023 Table 2 its functions lack, beside what follows by hand."""

import numpy as np
import pytest

from sketchbench.theory import table_2
from sketchbench.theory.semi_smooth import Function
from sketchbench.theory.table_2 import KEPT, LACKED, ROWS, is_lacked, least_constants

BY_HAND = {
    "quadratic": {"critical"},  # -1 at its minimum
    "root": {"convexity", "critical"},
    "softplus up to 1": set(),
    "sigmoid": {"convexity", "critical"},
    "wave up to 1": {"smooth", "gradient", "convexity", "critical"},
    "wave": {"smooth", "gradient", "convexity", "critical"},
    "logarithm": {"gradient", "convexity", "critical"},
    "cosh up to 1": {"critical"},  # 1 where its slope is 0
    "cosh": {"smooth", "gradient", "critical"},
}


@pytest.mark.parametrize("name", ROWS)
def test_what_a_function_lacks(name: str) -> None:
    assert {column for column, constant in least_constants(name).items() if is_lacked(constant)} == BY_HAND[name]


def test_constants_of_a_square() -> None:
    """u² - 1 is negative, so that only b, β and d count: half of the second derivative, all of it, and half."""
    found = least_constants("quadratic")
    assert found["smooth"] == pytest.approx(1, rel=1e-5)
    assert found["gradient"] == pytest.approx(2, rel=1e-5)
    assert found["convexity"] == pytest.approx(1, rel=1e-5)


def test_constants_of_a_steeper_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """300(u² - 1) keeps what u² - 1 keeps, with constants of which numbers do not say that they have no limit."""
    steeper = Function(lambda u: 300 * (u**2 - 1), lambda u: 600 * u, 600.0)
    row = ROWS["quadratic"]._replace(function=steeper)
    monkeypatch.setitem(table_2.ROWS, "quadratic", row)
    found = least_constants("quadratic")
    assert found["smooth"] == pytest.approx(300, rel=1e-5)
    with pytest.raises(ArithmeticError, match="constant=300 lies between 100 and 1000; look at pairs farther out"):
        is_lacked(round(found["smooth"]))


def test_ends_of_the_gap() -> None:
    assert not is_lacked(KEPT)
    assert is_lacked(LACKED)
    assert is_lacked(np.inf)


def test_an_unknown_function() -> None:
    with pytest.raises(ValueError, match=r"function=roots is unknown.*did you mean root"):
        least_constants("roots")
