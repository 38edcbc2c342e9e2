"""Claims about cost reject what costs too much."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from judging import verdicts

from sketchbench import kernels
from sketchbench.kernels import numpy_kernels
from sketchbench.task.transform_cost import TransformCost


def transforms(repetitions: int = 3) -> list[Any]:
    return TransformCost(kernels.load("numba"), 1, [256, 1024, 4096], [64, 128, 256], repetitions).run()


def by_recursion_without_reuse(x: Any) -> Any:
    """The same transform, but each half of the result computes the transforms of both halves again."""
    if len(x) == 1:
        return x
    half = len(x) // 2
    transform = by_recursion_without_reuse
    first = transform(x[:half]) + transform(x[half:])
    return np.concatenate([first, transform(x[:half]) - transform(x[half:])])


@pytest.mark.parametrize(
    ("transform", "expected"), [(numpy_kernels.walsh_hadamard, {"holds"}), (by_recursion_without_reuse, {"fails"})]
)
def test_operations_of_a_transform(
    monkeypatch: pytest.MonkeyPatch, transform: Callable[[Any], Any], expected: set[str]
) -> None:
    monkeypatch.setattr(numpy_kernels, "walsh_hadamard", transform)
    task = TransformCost(kernels.load("numba"), 1, [32, 64, 128], [64, 128], 2)
    assert verdicts("T17-operations", task.run()) == expected


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("claim", ["T17-time", "T17-speed"])
def test_times_of_a_transform(monkeypatch: pytest.MonkeyPatch, claim: str, slow: bool) -> None:
    """With a clock of our own: seconds that are d for the fast transforms, and d² for the broken one."""
    import sketchbench.task.transform_cost as task

    def clocked(work: dict[str, Any], repetitions: int) -> dict[str, Any]:
        seconds = {}
        for name in work:
            case, d = name.split()
            power = 2 if slow and case == "hadamard" else 1
            seconds[name] = np.full(repetitions, (2.0 if case == "cosine" else 1.0) * int(d) ** power)
        return seconds

    monkeypatch.setattr(task, "side_by_side", clocked)
    found = verdicts(claim, transforms(50))
    assert ("fails" in found) if slow else (found == {"holds"})
