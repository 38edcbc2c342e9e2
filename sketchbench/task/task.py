"""The task: one measurement, the smallest unit that is run, recorded and repeated."""

from typing import Protocol, runtime_checkable

from sketchbench.measure.row import Row


@runtime_checkable
class Task(Protocol):
    """A frozen dataclass of parameters with a method that measures; it has a module here, and a config in conf/task.

    Its fields are the parameters that the config sets, and any of these, by name: `kernels` (the backend), `seed` (the
    root of all randomness), `course` (the time limit and checkpoints), `family` and `known` (the sketch, and the
    moments and bounds that its config states), `recovery`, `compressor`. Types are checked when a task is made
    (`parameters.Checked`).

    A task only measures. Algorithms, trainings and attacks are in lower packages, which users can call without tasks.
    """

    def run(self) -> list[Row]:
        """Measure; return the rows that the class documents, the same for the same parameters, code and backend.

        Raises:
            ValueError: for parameters that don't fit each other, or the sketch; the message names them.
            FloatingPointError: for a measurement that is not finite and that no status explains.
        """
