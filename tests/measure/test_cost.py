"""Operations that are counted, and times that take turns."""

from typing import Any

import numpy as np
import pytest

from sketchbench.kernels import numpy_kernels
from sketchbench.measure.cost import count_operations, exponents, time_in_turns


@pytest.mark.parametrize("d", [8, 64, 512])
def test_operations_of_a_fast_transform(d: int) -> None:
    """d additions in each of log d stages, then d multiplications by the scale."""
    assert count_operations(numpy_kernels.walsh_hadamard, np.ones(d)) == d * (d.bit_length() - 1) + d


def test_what_is_not_counted_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"add.reduce"):
        count_operations(lambda x: x.sum(), np.ones(3))


def test_computations_take_turns() -> None:
    seen: list[str] = []
    work: Any = {name: lambda name=name: seen.append(name) for name in "ab"}
    found = time_in_turns(work, 3)
    assert "".join(seen) == "abababab"  # the first of them is not measured
    assert {name: values.shape for name, values in found.items()} == {"a": (3,), "b": (3,)}


def test_exponents() -> None:
    sizes = [4, 16, 64]
    costs = np.array([[size**power for size in sizes] for power in (1.0, 2.0)])
    assert exponents(sizes, 3 * costs) == pytest.approx([1, 2])
