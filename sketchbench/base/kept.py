"""Results that the tasks of a process share."""

from collections.abc import Callable
from typing import TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


class Kept(dict[Key, Result]):
    """The most recent results of a slow function, by its arguments.
    `most`: number of results to keep; the oldest is dropped first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def of(self, key: Key, make: Callable[[], Result]) -> Result:
        """The result for a key, computed unless it is kept."""
        if key not in self:
            while len(self) >= self._most:
                del self[next(iter(self))]
            self[key] = make()
        return self[key]
