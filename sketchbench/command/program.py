"""The end of a command line program: one line for each mistake that the user can mend, and a traceback for a bug.

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

# Exit codes: of a wrong call, of SIGINT (128 + 2), and of sysexits.h EX_SOFTWARE, and EX_TEMPFAIL, which is no failure.
USAGE, INTERRUPTED, BUG, UNFINISHED = 2, 130, 70, 75


class Main(Protocol):
    """The function of a program; the arguments default to those of the command line."""

    def __call__(self, arguments: list[str] | None = None) -> None: ...


def program(main: Main) -> Main:
    """Let a program end with one line on standard error and a non-zero exit code where it can't go on.

    The codes: 1 for MISTAKES and too little memory, 2 for wrong options, 130 for an interruption, 70 for a bug, which
    shows its traceback. A reader that closes the pipe ends it with 1 and without a word.
    """

    @functools.wraps(main)
    def running(arguments: list[str] | None = None) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # labels have letters that some terminals lack
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
            lines = [*map(one_line, str(error).splitlines())] if isinstance(error, FolderError) else [message(error)]
            lines = [remedy] if (remedy := missing(error)) else lines
            sys.exit("\n".join(f"sketchbench: error: {line}" for line in lines))
        except Exception:
            traceback.print_exc()
            print("sketchbench: this is a bug; please report it with the lines above", file=sys.stderr)
            sys.exit(BUG)

    return running


def read_json_stdin(name: str) -> Any:
    """The JSON on standard input. Raises ValueError where standard input is closed, empty, or no JSON."""
    text = sys.stdin.read() if sys.stdin else ""
    if not text.strip():
        raise ValueError(f"{name} must come as JSON on standard input, which is empty")
    return parse_json(text, f"{name}, on standard input,")
