"""Parameters that are checked by their types: what each kind of hint accepts, and how it refuses the rest."""

import math
import re
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.base.parameters import (
    AtLeastTwo,
    Checked,
    Count,
    Natural,
    NonEmpty,
    NonEmptyList,
    NonNegative,
    Positive,
    Probability,
    Range,
    Share,
    choose,
)

Variant = Literal["plain", "averaged"]


def made(hint: Any, value: Any) -> Any:
    return make_dataclass("Made", [("x", hint)], bases=(Checked,), frozen=True)(value).x


class Other:
    """A class that parameters know nothing of."""


ACCEPTED = [
    (int, -3),
    (float, 2.5),
    (float, 2),
    (str, "text"),
    (bool, False),
    (Count, 1),
    (AtLeastTwo, 2),
    (Natural, 0),
    (Positive, 5e-324),
    (NonNegative, 0),
    (Share, 1),
    (Probability, 0.5),
    (Variant, "averaged"),
    (Literal[1, 2], 2),
    (list[Count], []),
    (list[Count], [1, 2]),
    (list[Count], (1, 2)),
    (list[list[Share]], [[0.1], [], [1.0]]),
    (NonEmptyList[Variant], ["plain"]),
    (NonEmptyList[NonEmptyList[int]], [[0]]),
    (dict[str, Positive], {}),
    (dict[Variant, list[int]], {"plain": [1], "averaged": []}),
    (Annotated[dict[str, Positive], NonEmpty], {"a": 1.0}),
    (Count | None, None),
    (Count | None, 1),
    (Optional[Variant], None),  # noqa: UP045 (the other way to write it)
    (list[Count | None], [1, None]),
    # these are not checked
    (Other, "anything"),
    (Any, None),
    (int | str, 2.5),
    (tuple[int, ...], "anything"),
]


@pytest.mark.parametrize(("hint", "value"), ACCEPTED, ids=repr)
def test_accepted(hint: Any, value: Any) -> None:
    assert made(hint, value) is value


OUT_OF_RANGE = [
    (Count, 0, "x=0 must be >= 1"),
    (AtLeastTwo, 1, "x=1 must be >= 2"),
    (Natural, -1, "x=-1 must be >= 0"),
    (Positive, 0, "x=0 must be > 0"),
    (Positive, -0.0, "x=-0.0 must be > 0"),
    (NonNegative, -1e-300, "x=-1e-300 must be >= 0"),
    (Share, 0.0, "x=0.0 must be > 0 and <= 1"),
    (Share, 1.1, "x=1.1 must be > 0 and <= 1"),
    (Probability, 0, "x=0 must be > 0 and < 1"),
    (Probability, 1, "x=1 must be > 0 and < 1"),
    (Annotated[int, Range(high=3)], 4, "x=4 must be <= 3"),
    (Annotated[float, Range(0.5, 2)], 2.5, "x=2.5 must be >= 0.5 and <= 2"),
    (Variant, "best", "x=best is unknown; choose one of plain, averaged"),
    (Variant, None, "x=None is unknown; choose one of plain, averaged"),
    (Variant, ["plain"], "x=['plain'] is unknown; choose one of plain, averaged"),
    (Literal[1, 2], 3, "x=3 is unknown; choose one of 1, 2"),
    (list[Count], [1, 0], "x=0 must be >= 1"),
    (list[list[Share]], [[0.5], [2.0]], "x=2.0 must be > 0 and <= 1"),
    (NonEmptyList[Count], [], "x=[] must not be empty"),
    (NonEmptyList[Count], [0], "x=0 must be >= 1"),
    (NonEmptyList[NonEmptyList[int]], [[1], []], "x=[] must not be empty"),
    (Annotated[dict[str, float], NonEmpty], {}, "x={} must not be empty"),
    (dict[Variant, int], {"best": 1}, "x=best is unknown; choose one of plain, averaged"),
    (dict[str, Positive], {"a": 1.0, "b": 0.0}, "x=0.0 must be > 0"),
    (dict[str, list[Count]], {"a": [0]}, "x=0 must be >= 1"),
    (Count | None, 0, "x=0 must be >= 1"),
    (Optional[Variant], "best", "x=best is unknown; choose one of plain, averaged"),  # noqa: UP045
]


@pytest.mark.parametrize(("hint", "value", "message"), OUT_OF_RANGE, ids=repr)
def test_out_of_range(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        made(hint, value)


WRONG_TYPE = [
    (int, 2.0, "x=2.0 must be an integer"),
    (int, "2", "x='2' must be an integer"),
    (int, True, "x=True must be an integer"),
    (int, None, "x=None must be an integer"),
    (float, False, "x=False must be a number"),
    (float, "0.5", "x='0.5' must be a number"),
    (float, 1j, "x=1j must be a number"),
    (str, 1, "x=1 must be a text"),
    (bool, 1, "x=1 must be true or false"),
    (bool, "true", "x='true' must be true or false"),
    (Count, True, "x=True must be an integer"),
    (Share, True, "x=True must be a number"),
    (list[Count], 1, "x=1 must be a list"),
    (list[str], "abc", "x='abc' must be a list"),
    (list[Count], [1, 1.0], "x=1.0 must be an integer"),
    (list[list[int]], [1], "x=1 must be a list"),
    (NonEmptyList[Count], None, "x=None must be a list"),
    (dict[str, int], [1], "x=[1] must map names to values"),
    (dict[str, int], {1: 1}, "x=1 must be a text"),
    (dict[str, int], {"a": "b"}, "x='b' must be an integer"),
    (Count | None, "1", "x='1' must be an integer"),
]


@pytest.mark.parametrize(("hint", "value", "message"), WRONG_TYPE, ids=repr)
def test_wrong_type(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        made(hint, value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("hint", [float, Positive, NonNegative, Share, Probability, float | None])
def test_not_finite(hint: Any, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^x={value} must be finite$"):
        made(hint, value)
    with pytest.raises(ValueError, match=rf"^x={value} must be finite$"):
        made(list[hint], [0.5, value])


@given(
    low=st.integers(-5, 5),
    width=st.integers(0, 5),
    open_low=st.booleans(),
    open_high=st.booleans(),
    value=st.integers(-12, 12),
)
def test_a_range(low: int, width: int, open_low: bool, open_high: bool, value: int) -> None:
    limit = Range(low, low + width, open_low, open_high)
    signs = {">": value > low, ">=": value >= low}, {"<": value < low + width, "<=": value <= low + width}
    (first, _), (last, _) = (part.split(" ") for part in str(limit).split(" and "))
    assert (value in limit) == (signs[0][first] and signs[1][last])


@dataclass(frozen=True)
class Descent(Checked):
    rounds: Count
    rate: Positive = 0.1
    variant: Variant = "plain"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "averaged" and self.rounds < 2:
            raise ValueError("variant=averaged needs rounds >= 2")


@dataclass(frozen=True)
class Quoted(Checked):
    rounds: "Count"
    names: "list[Variant]"


def test_a_class_with_a_rule_of_its_own() -> None:
    assert Descent(2, variant="averaged").rate == 0.1
    with pytest.raises(ValueError, match="variant=averaged needs rounds >= 2"):
        Descent(1, variant="averaged")
    with pytest.raises(ValueError, match="rounds=0 must be >= 1"):
        Descent(0, variant="averaged")


def test_types_written_as_text() -> None:
    assert Quoted(1, ["plain"]).rounds == 1
    with pytest.raises(ValueError, match="rounds=0 must be >= 1"):
        Quoted(0, [])
    with pytest.raises(ValueError, match="names=best is unknown"):
        Quoted(1, ["best"])  # type: ignore[list-item]


def test_choose() -> None:
    assert choose("case", "a", {"a": 1, "b": 2}) == "a"
    with pytest.raises(ValueError, match=r"^case=c is unknown; choose one of a, b$"):
        choose("case", "c", iter("ab"))
    with pytest.raises(ValueError, match=r"^case=B  is unknown; choose one of a, b; did you mean b\?$"):
        choose("case", "B ", "ab")
    with pytest.raises(ValueError, match=r"^claim=s2 is unknown; did you mean S2\?$"):
        choose("claim", "s2", [f"S{number}" for number in range(100)])
