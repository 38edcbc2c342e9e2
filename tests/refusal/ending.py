"""How a command line program ends when it is called in this process."""

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest import mock


@dataclass(frozen=True)
class Ending:
    """What was seen of a program: its exit code, what it wrote, and what went wrong in it."""

    code: int | str | None
    out: str
    err: str
    crash: str = ""
    warned: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """What it said at its end."""
        return self.code if isinstance(self.code, str) else self.err.strip()

    def faults(self, words: str) -> list[str]:
        """What is wrong with it as the end of a wrong call, which is one line with these words and nothing else."""
        lines = [line for line in f"{self.err}\n{self.code if isinstance(self.code, str) else ''}".splitlines() if line]
        said = " ".join(lines)
        found = {
            f"it crashed: {self.crash}": bool(self.crash),
            "it ended as if all were well": not self.crash and self.code in (0, None),
            f"it says {len(lines)} lines: {lines}": len(lines) != 1,
            f"it does not begin as errors do: {said}": not said.startswith("sketchbench: error: "),
            f"it lacks {words!r}: {said}": words not in said,
            f"it shows a traceback: {said}": "Traceback" in said,
            f"it printed: {self.out[:200]}": bool(self.out.strip()),
            f"it warned: {self.warned}": bool(self.warned),
        }
        return [fault for fault, holds in found.items() if holds]


def ending(main: Callable[[list[str]], None], arguments: list[str], stdin: str | None = "") -> Ending:
    """Call a program; stdin None stands for a closed one."""
    out, err = io.StringIO(), io.StringIO()
    code: int | str | None = 0
    crash = ""
    root = logging.getLogger()
    handlers = list(root.handlers)
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", None if stdin is None else io.StringIO(stdin)),
        mock.patch.object(sys, "path", list(sys.path)),
        mock.patch.object(logging, "basicConfig", return_value=None),
    ):
        warnings.simplefilter("always")
        try:
            main(arguments)
        except SystemExit as error:
            code = error.code
        except Exception as error:
            code, crash = 1, f"{type(error).__name__}: {error}"
    root.handlers[:] = handlers
    shown = [str(warning.message) for warning in warned if issubclass(warning.category, UserWarning | RuntimeWarning)]
    return Ending(code, out.getvalue(), err.getvalue(), crash, shown)
