"""The process in which a user's code is checked. It writes a line of JSON for each method begun, and for each done."""

import faulthandler
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from sketchbench.inspection.method import Method, mistakes


def main() -> None:
    """Work off what stdin asks for: `methods` (kind, name), `folder`, `conf`, `overrides`, and the `limit` in seconds.

    A method that does not end within the limit ends the process, which leaves on stderr where it was; so does a crash.
    """
    asked = json.load(sys.stdin)
    answers = os.fdopen(int(sys.argv[1]), "w", buffering=1, encoding="utf-8")
    folder = Path(asked["folder"])
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    leave = os._exit
    os._exit = _refused
    faulthandler.enable()
    for number, (kind, name) in enumerate(asked["methods"]):
        print(json.dumps({"begun": number}), file=answers)
        faulthandler.dump_traceback_later(asked["limit"], exit=True)
        lines = mistakes(Method(kind, name), folder, Path(asked["conf"]), tuple(asked["overrides"]))
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"done": number, "mistakes": lines}), file=answers)
    answers.close()
    leave(0)  # at once, whatever threads were started


def _refused(status: Any) -> NoReturn:
    """In the place of os._exit, which would end the process without a trace of who called it."""
    raise SystemExit(f"os._exit({status})")


if __name__ == "__main__":
    main()
