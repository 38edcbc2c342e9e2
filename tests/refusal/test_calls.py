"""A wrong call of the Python API raises an error of one clear line, and warns of nothing."""

import warnings

import pytest
from calls import PARTS, Wrong


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(wrong, id=f"{part}-{number}: {wrong[1][:40]}")
        for part, calls in PARTS.items()
        for number, wrong in enumerate(calls)
    ],
)
def test_a_wrong_call(wrong: Wrong) -> None:
    call, words = wrong
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError, ArithmeticError)) as caught:
            call()
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
