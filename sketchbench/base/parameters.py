"""Parameters: the types of a class's fields state their allowed values, which are checked when an object is made.

    @dataclass(frozen=True)
    class Descent(Checked):
        rounds: Count
        rate: Positive
        variant: Literal["plain", "averaged"] = "plain"

A wrong value raises an error of one line that names field, value and condition: `rounds=0 must be >= 1`, `variant=best
is unknown; choose one of plain, averaged`. Checked are numbers, strings, literals, lists, dictionaries, functions and
optional values of these. Other types, such as classes and tuples, are checked only by functions of name and value in
`Annotated`. `checked` checks the arguments of a function in the same way.
"""

import dataclasses
import difflib
import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

Entry = TypeVar("Entry")
P = ParamSpec("P")
R = TypeVar("R")


class Range(NamedTuple):
    """The numbers from low to high, without an end that is `open`."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: Any) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return bool(above and below)

    def __str__(self) -> str:
        low = f"{'>' if self.open_low else '>='} {self.low:g}" if self.low > -math.inf else ""
        high = f"{'<' if self.open_high else '<='} {self.high:g}" if self.high < math.inf else ""
        return " and ".join(filter(None, (low, high)))


class NonEmpty:
    """Marks a list or dictionary that needs at least one entry, as in `Annotated[dict[str, float], NonEmpty]`."""


Count = Annotated[int, Range(1)]
AtLeastTwo = Annotated[int, Range(2)]  # such as trials, since one alone has no spread
Several = AtLeastTwo  # its name in earlier releases, which users' classes import
Natural = Annotated[int, Range(0)]
Positive = Annotated[float, Range(0, open_low=True)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1, open_low=True)]
Probability = Annotated[float, Range(0, 1, open_low=True, open_high=True)]
NonEmptyList = Annotated[list[Entry], NonEmpty]


class Checked:
    """A dataclass that checks its fields against their types when it is made. A class with further rules, such as
    relations between fields, extends `__post_init__` and calls this one first."""

    def __post_init__(self) -> None:
        check(self)


def check(instance: Any) -> None:
    """Check the fields of a dataclass instance. The message names field, value and condition. Raises ValueError for a
    value out of range, not among the choices or not finite, and for an empty list that needs an entry. Raises TypeError
    for another type; True is not a number, 2.0 not an integer."""
    hints = _hints(instance.__class__)
    for field in dataclasses.fields(instance):
        _check(field.name, getattr(instance, field.name), hints[field.name])


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function (or `__init__`) to check its arguments against the types of its parameters, as `check` does.

    >>> @checked
    ... def mean(total: float, count: Count) -> float:
    ...     return total / count
    >>> mean(1.0, count=0)
    Traceback (most recent call last):
    ValueError: count=0 must be >= 1
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = _hints(function)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in hints:
                _check(name, value, hints[name])
        return function(*args, **kwargs)

    return checking


def choose(name: str, value: str, known: Iterable[str]) -> str:
    """Return the value if it is a known one. Raises ValueError otherwise; the message calls the value `name`, suggests
    a similar known one, and lists all unless there are many."""
    choices = list(known)
    if not any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices):
        meant, listed = did_you_mean(value, choices), f"; choose one of {', '.join(map(str, choices))}"
        raise ValueError(f"{name}={value} is unknown{'' if meant and len(choices) > 60 else listed}{meant}")
    return value


def did_you_mean(value: Any, known: Iterable[Any]) -> str:
    """The end of a message about an unknown name: `; did you mean trials?`, or "" if no known name is similar.

    >>> did_you_mean("trails", ["trials", "pairs"])
    '; did you mean trials?'
    """
    names = {str(name).casefold(): name for name in known}
    close = difflib.get_close_matches(value.strip().casefold(), names, n=1) if isinstance(value, str) else []
    return f"; did you mean {names[close[0]]}?" if close else ""


@functools.cache  # reading hints takes longer than checking them
def _hints(typed: Any) -> dict[str, Any]:
    """The types of fields or parameters; only string annotations are looked up, as others may name unknown imports."""
    fields = dataclasses.fields(typed) if dataclasses.is_dataclass(typed) else None
    written = {field.name: field.type for field in fields} if fields else dict(typed.__annotations__)
    if any(isinstance(hint, str) for hint in written.values()):
        return get_type_hints(typed, include_extras=True)
    return written


def _check(name: str, value: Any, hint: Any) -> None:
    """Check one value against one type hint. Of unions, only `X | None` is checked."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        _check(name, value, arguments[0])
        _check_limits(name, value, arguments[1:])
    elif origin in (Union, types.UnionType):
        others = [argument for argument in arguments if argument is not types.NoneType]
        if len(others) == 1 and value is not None:
            _check(name, value, others[0])
    elif origin in (list, Sequence):  # a sequence may be of a library's own type, such as OmegaConf's
        if not isinstance(value, list | tuple if origin is list else Sequence) or isinstance(value, str | bytes):
            raise TypeError(f"{name}={value!r} must be a list")
        for entry in value:
            _check(name, entry, arguments[0])
    elif origin is dict:
        if not isinstance(value, dict):
            raise TypeError(f"{name}={value!r} must map names to values")
        for key, entry in value.items():
            _check(name, key, arguments[0])
            _check(name, entry, arguments[1])
    else:
        _check_single(name, value, hint)


def _check_limits(name: str, value: Any, limits: Iterable[Any]) -> None:
    for limit in limits:
        if isinstance(limit, Range) and value not in limit:
            raise ValueError(f"{name}={value} must be {limit}")
        if limit is NonEmpty and not value:
            raise ValueError(f"{name}={value} must not be empty")
        if inspect.isfunction(limit):
            limit(name, value)


def _check_single(name: str, value: Any, hint: Any) -> None:
    """Check a choice, a function, a number, a string or a truth value."""
    if get_origin(hint) is Literal:
        choose(name, value, get_args(hint))
    elif get_origin(hint) is Callable and not callable(value):
        raise TypeError(f"{name}={value!r} must be a function; in a config, a mapping with _target_ that makes one")
    elif get_origin(hint) is None and hint in _PLAIN:
        kinds, description = _PLAIN[hint]
        if not isinstance(value, kinds) or (isinstance(value, bool) and hint is not bool):
            remedy = f"; write {hint.__name__}(...)" if isinstance(value, np.generic) else ""
            raise TypeError(f"{name}={value!r} must be {description}{remedy}")
        if hint is float and not math.isfinite(value):
            raise ValueError(f"{name}={value} must be finite")


_PLAIN: dict[Any, tuple[Any, str]] = {
    bool: (bool, "true or false"),
    int: (int, "an integer"),
    float: ((int, float), "a number"),
    str: (str, "a text"),
}
