"""Draw the same operators in another process, with other hash seeds and threads, on NumPy kernels. `matrices` starts
`python -m sketchbench.sketch.contract.elsewhere`: family, key and count on stdin give pickled matrices on stdout."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

from sketchbench import kernels
from sketchbench.sketch.contract.probes import Floats, Subject, matrix_of

SECONDS = 60.0  # time limit of the other process
ENVIRONMENT = {"PYTHONHASHSEED": "4711", "NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}


def matrices(subject: Subject, count: int) -> Floats:
    """The first operators of a subject, drawn in a new process: (count, b, d). Raises ValueError, with the last line of
    the other process's errors, if the family can't be drawn there."""
    request = (subject.family, subject.key, count)
    try:  # sys.path first: the family's module may be importable from it only
        question = pickle.dumps(sys.path) + pickle.dumps(request)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"{subject.family} can't be sent to another process: {error}") from None
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
        raise ValueError(f"{subject.family} was not drawn within {SECONDS:g} s in another process") from None
    if process.returncode:
        reason = process.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise ValueError(f"{subject.family} can't be drawn in another process: {reason[0]}")
    answer: Floats = pickle.loads(process.stdout)
    return answer


def main() -> None:
    """Draw the family that stdin names, and write its matrices to stdout; the family's prints go to stderr."""
    stream = sys.stdout.buffer
    sys.stdout = sys.stderr
    sys.path[:] = pickle.load(sys.stdin.buffer)
    family, key, count = pickle.load(sys.stdin.buffer)
    backend = kernels.load("numpy")
    result = matrix_of(family.draw(key, operators=count, kernels=backend))
    stream.write(pickle.dumps(result))


if __name__ == "__main__":
    main()
