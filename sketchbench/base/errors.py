"""Errors: what a user can mend, in one line each, and whose code an error came from."""

import traceback
from collections.abc import Iterator
from pathlib import Path

# What our functions and libraries raise of wrong input, missing files and full disks; anything else is a bug of ours.
MISTAKES = (ValueError, TypeError, RuntimeError, ArithmeticError, OSError, ImportError)


class ConfigError(ValueError):
    """A config that can't be run; the message is for the user, in one line."""


class FolderError(ConfigError):
    """The mistakes in a user's folder, a line for each."""


def message(error: BaseException) -> str:
    """The message of an error in one line, with a remedy where Python and libraries know none."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({one_line(str(error)) or 'no size is known'}); lower d, b, or what is done at once"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    return one_line(str(error)) or type(error).__name__


def one_line(text: str) -> str:
    """The text without line breaks, indents or control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def blame(error: BaseException, folder: Path | None) -> str | None:
    """An error of a user's code in one line: `my_sketches.py, line 12, in _draw: ZeroDivisionError: division by zero`;
    None where no code in the user's resolved folder took part, also in the errors that it was raised from.

    Of several of the user's functions the innermost is named; what that one called wrongly, of ours or of a library,
    counts as its own.
    """
    if folder is None:
        return None
    for raised in _chain(error):
        if where := _place(raised, folder):
            said = raised.msg if isinstance(raised, SyntaxError) else str(raised)
            return ": ".join(filter(None, [where, type(raised).__name__, one_line(said)]))
    return None


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
