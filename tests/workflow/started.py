"""Snakemake, started as forks of a process that has imported it: most of a start is the import of its packages.

`python started.py` is that process. It has imported nothing of the project; each fork imports the copy that it is for,
and is otherwise what `snakemake` would be. It reads a request a line: folder, environment, arguments and the file for
the output, as JSON; and writes the exit code of each.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

# Packages that the Snakefile of the project comes to need, of its own, of Snakemake's and of the project's.
NEEDED = ("snakemake.cli", "snakemake.report", "smart_open", "yte", "docutils.parsers.rst.directives.images")
NEEDED += ("numpy", "jsonschema", "hydra.utils")


class Started:
    """The process that forks, which begins with the first run."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
    ) -> tuple[int, str]:
        """The exit code and the output of `snakemake` with arguments, in a folder; TimeoutError after some seconds."""
        if self._process is None:
            own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            command, pipe = [sys.executable, __file__], subprocess.PIPE
            self._process = subprocess.Popen(command, cwd="/", env=own, text=True, stdin=pipe, stdout=pipe)
        with tempfile.NamedTemporaryFile() as output:
            request = {"folder": str(folder), "environment": dict(environment), "arguments": list(arguments)}
            self._process.stdin.write(json.dumps({**request, "output": output.name}) + "\n")
            self._process.stdin.flush()
            watch = threading.Timer(seconds, self._process.kill)
            watch.start()
            answer = self._process.stdout.readline()
            watch.cancel()
            said = output.read().decode()
        if not answer:
            self.stop()
            raise TimeoutError(said)
        return int(answer), said

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def main() -> None:
    for name in NEEDED:
        __import__(name)
    for line in sys.stdin:
        if not (child := os.fork()):
            become(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(request: Mapping[str, Any]) -> NoReturn:
    """Do in this process what a request is for; it ends by SystemExit."""
    output = os.open(request["output"], os.O_WRONLY | os.O_APPEND)
    for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(file, number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:1] = request["environment"]["PYTHONPATH"].split(os.pathsep)  # in place of the folder of this file
    sys.argv = ["snakemake", *request["arguments"]]
    sys.modules["snakemake.cli"].main()


if __name__ == "__main__":
    main()
