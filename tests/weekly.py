"""Values of a parameter of which `make test` takes some, and `make test-all` takes all."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

Value = TypeVar("Value")


def weekly(values: Iterable[Value], which: Callable[[Value], bool]) -> list[Any]:
    """All values; those that `which` picks are marked weekly."""
    return [pytest.param(one, marks=pytest.mark.weekly) if which(one) else one for one in values]
