"""The end of a command line program: one line for each mistake of the user, and a traceback for a bug.

@program
def main(arguments: list[str] | None = None) -> None:
    ...
"""

import functools
import io
import os
import sys
import traceback
from typing import Any, Protocol

from sketchbench.base.errors import MISTAKES, FolderError, message, one_line
from sketchbench.base.files import parse_json
from sketchbench.command.extras import missing

# Exit codes: a wrong call, SIGINT (128 + 2), EX_SOFTWARE and EX_TEMPFAIL of sysexits.h; the last is no failure.
USAGE, INTERRUPTED, BUG, UNFINISHED = 2, 130, 70, 75


class Main(Protocol):
    """The function of a program; the arguments default to those of the command line."""

    def __call__(self, arguments: list[str] | None = None) -> None: ...


def program(main: Main) -> Main:
    """End a program with one line on standard error and a non-zero exit code after an error.

    The codes: 1 for MISTAKES and too little memory, 2 for wrong options, 130 for an interruption, 70 for a bug, which
    shows its traceback. A closed pipe ends the program silently with 1.
    """

    @functools.wraps(main)
    def running(arguments: list[str] | None = None) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # some terminals lack letters of labels
        try:
            main(arguments)
            if sys.stdout:  # None where it was closed
                sys.stdout.flush()  # reports a closed pipe here, not when Python ends
        except BrokenPipeError:
            sys.stdout = None
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(1)
        except KeyboardInterrupt:
            print("sketchbench: interrupted", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except (MemoryError, RecursionError, *MISTAKES) as error:
            lines = [*map(one_line, str(error).splitlines())] if isinstance(error, FolderError) else [message(error)]
            lines = [remedy] if (remedy := missing(error)) else lines
            sys.exit("\n".join(f"sketchbench: error: {line}" for line in lines))
        except Exception:
            traceback.print_exc()
            print("sketchbench: this is a bug; please report it with the lines above", file=sys.stderr)
            sys.exit(BUG)

    return running


def read_json_stdin(name: str) -> Any:
    """Read JSON from standard input. Raises ValueError if it is closed, empty or malformed."""
    text = sys.stdin.read() if sys.stdin else ""
    if not text.strip():
        raise ValueError(f"{name} must come as JSON on standard input, which is empty")
    return parse_json(text, f"{name}, on standard input,")
