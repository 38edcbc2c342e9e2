"""Errors: a user's mistakes in one line each, and the place in a user's code that an error came from."""

import traceback
from collections.abc import Iterator
from pathlib import Path

# Errors that our functions and libraries raise for wrong input, missing files and full disks; others are our bugs.
MISTAKES = (ValueError, TypeError, RuntimeError, ArithmeticError, OSError, ImportError)


class ConfigError(ValueError):
    """A config that can't be run. The message is for the user, in one line."""


class FolderError(ConfigError):
    """The mistakes in a user's folder, one a line."""


def message(error: BaseException) -> str:
    """The message of an error in one line, with a remedy if Python and libraries give none."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({one_line(str(error)) or 'no size is known'}); lower d, b, or what is done at once"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    return one_line(str(error)) or type(error).__name__


def one_line(text: str) -> str:
    """The text without line breaks, indents or control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def blame(error: BaseException, folder: Path | None) -> str | None:
    """Return an error of a user's code in one line: `my_sketches.py, line 12, in _draw: ZeroDivisionError: division by
    zero`. It names the innermost of the user's functions, which also answers for errors in our code or a library that
    it called. None if neither the error nor its causes passed through code in the resolved folder."""
    if folder is None:
        return None
    for raised in _chain(error):
        if where := _place(raised, folder):
            said = raised.msg if isinstance(raised, SyntaxError) else str(raised)
            return ": ".join(filter(None, [where, type(raised).__name__, one_line(said)]))
    return None


def _place(error: BaseException, folder: Path) -> str | None:
    """The innermost place in the folder that an error passed through or is about."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(folder):
        return f"{Path(error.filename).relative_to(folder)}, line {error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(folder):
            return f"{path.relative_to(folder)}, line {frame.lineno}, in {frame.name}"
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and all(current is not other for other in seen):
        seen.append(current)
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
