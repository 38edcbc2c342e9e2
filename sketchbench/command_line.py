"""What the command line programs share: whatever the user can mend ends as one line, and a bug says that it is one.

@program
def main(arguments: list[str] | None = None) -> None:
    ...
"""

import functools
import io
import json
import os
import sys
import traceback
from typing import Any, Protocol

# What our functions and libraries raise of wrong input, missing files and full disks; anything else is a bug of ours.
MISTAKES = (ValueError, TypeError, RuntimeError, ArithmeticError, OSError, ImportError)
# Exit codes: of a wrong call, of SIGINT (128 + 2), and of sysexits.h EX_SOFTWARE, and EX_TEMPFAIL, which is no failure.
USAGE, INTERRUPTED, BUG, UNFINISHED = 2, 130, 70, 75


class FindingsError(ValueError):
    """Several mistakes of the user's at once, a line for each."""


class Main(Protocol):
    """The function of a program; its arguments are those of the command line by default."""

    def __call__(self, arguments: list[str] | None = None) -> None: ...


def program(main: Main) -> Main:
    """The program, which ends with one line on standard error and a non-zero exit code where it can't go on.

    The codes: 1 for MISTAKES and too little memory, 2 for wrong options, 130 where it was interrupted, 70 for a bug,
    which also shows its traceback. A reader that closes the pipe ends it with 1 and without a word.
    """

    @functools.wraps(main)
    def running(arguments: list[str] | None = None) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # labels have letters that some terminals don't
        try:
            main(arguments)
            if sys.stdout:  # None where it was closed
                sys.stdout.flush()  # a closed pipe shows here, and not when Python ends
        except BrokenPipeError:
            sys.stdout = None
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(1)
        except KeyboardInterrupt:
            print("sketchbench: interrupted", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except (MemoryError, RecursionError, *MISTAKES) as error:
            told = map(one_line, str(error).splitlines()) if isinstance(error, FindingsError) else [said(error)]
            sys.exit("\n".join(f"sketchbench: error: {line}" for line in told))
        except Exception:
            traceback.print_exc()
            print("sketchbench: this is a bug; please report it with the lines above", file=sys.stderr)
            sys.exit(BUG)

    return running


def said(error: BaseException) -> str:
    """What an error says, in one line, with a remedy where Python and libraries know none."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({one_line(str(error)) or 'no size is known'}); lower d, b, or what is done at once"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    return one_line(str(error)) or type(error).__name__


def one_line(text: str) -> str:
    """The text without line breaks, indents or control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def json_of(text: str, name: str) -> Any:
    """What JSON says. Raises ValueError, in one line that calls it `name`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be JSON: {said(error)}") from None


def json_from_stdin(name: str) -> Any:
    """What standard input says as JSON. Raises ValueError where it is closed, empty, or no JSON."""
    text = sys.stdin.read() if sys.stdin else ""
    if not text.strip():
        raise ValueError(f"{name} must come as JSON on standard input, which is empty")
    return json_of(text, f"{name}, on standard input,")


def check_entries(entries: Any, fields: dict[str, type], name: str) -> None:
    """ValueError unless the entries are a list of mappings that have these fields of these types, such as a plan's."""
    if not isinstance(entries, list):
        raise ValueError(f"{name} must be a list, not {type(entries).__name__}; Snakemake makes it of the plan")
    for number, entry in enumerate(entries):
        for field, kind in fields.items():
            if not isinstance(entry, dict) or not isinstance(entry.get(field), kind):
                raise ValueError(f"{name}: entry {number} needs {field}, of type {kind.__name__}")
