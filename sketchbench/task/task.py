"""The task: one atomic measurement, the smallest thing that is run, recorded and repeated."""

from typing import Protocol, runtime_checkable

from sketchbench.measure.row import Row


@runtime_checkable
class Task(Protocol):
    """A frozen dataclass of parameters, one to a file here and in conf/task, that measures when it is run.

    Its fields are what the config sets, checked against their types when it is made (`parameters.Checked`), and those
    of the following that it asks for by name: `kernels`, `seed` (the root of all its randomness), `course` (its time
    limit and checkpoints), `family` and `known` (the sketch, and what is claimed of it), `recovery`.

    A task only measures. Algorithms, trainings and attacks are below it, where a user can call them without it.
    """

    def run(self) -> list[Row]:
        """Measure.

        Returns:
            Rows as the class's documentation lists them, the same for the same parameters, code and backend.

        Raises:
            ValueError: for parameters that don't fit each other, or the sketch; the message names them.
            FloatingPointError: for a measurement that is not finite and that no status explains.
        """
