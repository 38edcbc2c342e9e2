"""Call a function in another process, with other hash seeds and threads. `evaluate` starts
`python -m sketchbench.sketch.contract.elsewhere`: a pickled call on stdin gives its pickled value on stdout."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sketchbench.sketch.contract.probes import Floats, Subject, matrix_of
from sketchbench.sketch.family import Family

SECONDS = 60.0  # time limit of the other process
ENVIRONMENT = {"PYTHONHASHSEED": "4711", "NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}


def matrices(subject: Subject, count: int) -> Floats:
    """The first operators of a subject, drawn in a new process: (count, b, d). Raises ValueError as `evaluate`."""
    drawn: Floats = evaluate(_draw, subject.family, subject.key, count)
    return drawn


def _draw(family: Family, key: int, count: int) -> Floats:
    return matrix_of(family.draw(key, operators=count, kernels="numpy"))


def evaluate(function: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a function of some module in a new process. Raises ValueError, with the last line of the other
    process's errors, if the arguments can't be sent there, or if the function fails there."""
    method = arguments[0]
    try:  # sys.path first: the method's module may be importable from it only
        question = pickle.dumps(sys.path) + pickle.dumps((function, arguments))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"{method} can't be sent to another process: {error}") from None
    try:
        process = subprocess.run(
            [sys.executable, "-m", __name__],
            input=question,
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{method} was not drawn within {SECONDS:g} s in another process") from None
    if process.returncode:
        reason = process.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise ValueError(f"{method} can't be drawn in another process: {reason[0]}")
    return pickle.loads(process.stdout)


def main() -> None:
    """Call the function that stdin names, and write its value to stdout; prints of the method go to stderr."""
    stream = sys.stdout.buffer
    sys.stdout = sys.stderr
    sys.path[:] = pickle.load(sys.stdin.buffer)
    function, arguments = pickle.load(sys.stdin.buffer)
    stream.write(pickle.dumps(function(*arguments)))


if __name__ == "__main__":
    main()
