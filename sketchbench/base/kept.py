"""Results that the tasks of a process share."""

from collections.abc import Callable
from typing import TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


class Kept(dict[Key, Result]):
    """The last results of something slow, by what it depends on.

    Arguments:
        most: how many, the oldest of which are forgotten before another is made.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def of(self, key: Key, make: Callable[[], Result]) -> Result:
        """The result of a key, made where it is not kept."""
        if key not in self:
            while len(self) >= self._most:
                del self[next(iter(self))]
            self[key] = make()
        return self[key]
