"""Whose error it is: one from a user's own code is told with the file and the line that it came from."""

import traceback
from collections.abc import Iterator
from pathlib import Path


def blamed(error: BaseException, folder: Path | None) -> str | None:
    """An error of a user's code in one line: `my_sketches.py, line 12, in _draw: ZeroDivisionError: division by zero`.

    Of several of the user's functions the innermost is named; what that one called wrongly, of ours or of a library,
    counts as its own.

    Arguments:
        error: what was raised; the errors that it was raised from count, too.
        folder: the user's, resolved; None for none.

    Returns:
        The line; None where no code of the user's took part.
    """
    if folder is None:
        return None
    for raised in _chain(error):
        if where := _place(raised, folder):
            return f"{where}: {told(raised)}"
    return None


def told(error: BaseException) -> str:
    """An error in one line: its kind, and the first line of what it says."""
    said = str(error.msg) if isinstance(error, SyntaxError) else str(error)
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _place(error: BaseException, folder: Path) -> str | None:
    """The innermost place in the folder that an error passed through, or that it is about."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(folder):
        return f"{Path(error.filename).relative_to(folder)}, line {error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(folder):
            return f"{path.relative_to(folder)}, line {frame.lineno}, in {frame.name}"
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it was raised from, the latest first."""
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and all(current is not other for other in seen):
        seen.append(current)
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
