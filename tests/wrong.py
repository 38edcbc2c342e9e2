"""Wrong arguments, and the check that a function refuses them itself: with an error of ours, not of NumPy or torch."""

import dataclasses
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies as st

import sketchbench

HOME = Path(sketchbench.__file__).parent
OTHERS = st.sampled_from([None, "x", True, 1j, [], np.float64("nan")])  # no numbers, or not of the right kind
BEYOND = st.sampled_from([float("nan"), float("inf"), float("-inf")])
NEGATIVE = st.floats(-1e9, -1e-300)


def _broken(right: np.ndarray) -> st.SearchStrategy[Any]:
    value = st.sampled_from([np.nan, np.inf, -np.inf])
    place = st.integers(0, right.size - 1)

    def spoilt(value: float, place: int) -> np.ndarray:
        wrong = right.astype(float)
        wrong.flat[place] = value
        return wrong

    masked = np.ma.masked_array(right, mask=np.arange(right.size).reshape(right.shape) == 0)
    return st.builds(spoilt, value, place) | st.sampled_from([masked, right + 1j, right[..., :0], right.astype(str)])


@dataclasses.dataclass(frozen=True)
class Given:
    right: Any
    wrong: st.SearchStrategy[Any]


def count(right: int) -> Given:
    return Given(right, st.integers(max_value=0) | st.floats() | OTHERS)


def natural(right: int) -> Given:
    return Given(right, st.integers(max_value=-1) | st.floats() | OTHERS)


def integer(right: int) -> Given:
    return Given(right, st.floats() | OTHERS)


def positive(right: float) -> Given:
    return Given(right, st.just(0.0) | NEGATIVE | BEYOND | OTHERS)


def not_negative(right: float) -> Given:
    return Given(right, NEGATIVE | BEYOND | OTHERS)


def probability(right: float) -> Given:
    return Given(right, st.sampled_from([0.0, 1.0]) | NEGATIVE | st.floats(1.0, exclude_min=True) | OTHERS)


def array(right: Any, *wrong: Any) -> Given:
    right = np.asarray(right, dtype=float)
    return Given(right, _broken(right) | (st.sampled_from(wrong) if wrong else st.nothing()))


def among(right: Any, *wrong: Any) -> Given:
    return Given(right, st.sampled_from(wrong))


def fixed(right: Any) -> Given:
    return Given(right, st.nothing())


Call = tuple[Callable[..., Any], dict[str, Given]]


def check_right(call: Call) -> None:
    function, given = call
    function(**{name: one.right for name, one in given.items()})


def check_wrong(call: Call, data: st.DataObject) -> None:
    """Each argument in turn is made wrong, and is refused by a line of the project that says why."""
    function, given = call
    for name, one in given.items():
        if one.wrong.is_empty:
            continue
        arguments = {other: each.right for other, each in given.items()}
        arguments[name] = wrong = data.draw(one.wrong, label=name)
        try:
            found = function(**arguments)
        except (ValueError, TypeError) as error:
            last, message = Path(traceback.extract_tb(error.__traceback__)[-1].filename), str(error)
        else:
            raise AssertionError(f"{name}={wrong!r} is taken, and gives {found!r}")
        assert message
        assert last.is_relative_to(HOME), f"{name}={wrong!r} gives an error of {last}: {message}"


def public(*modules: ModuleType) -> Iterator[str]:
    for module in modules:
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
            if own and callable(value) and not isinstance(value, type):
                yield f"{module.__name__.rpartition('.')[2]}.{name}"
