"""A stack of operators recovers what its operators recover one by one, in blocks of any size."""

import numpy as np
import pytest

from sketchbench.kernels import Kernels
from sketchbench.sketch import BlockSparseEmbedding, Family, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT, CountSketchMedian, Recovery, recovery
from sketchbench.task.recovery.signals import draw_sparse

D, OPERATORS, SIGNALS = 32, 5, 3


@pytest.mark.parametrize("block", [1, 2, 2**20 // D])
@pytest.mark.parametrize(
    ("kind", "family"),
    [(FIHT, SubsampledHadamard(D, 24)), (CountSketchMedian, BlockSparseEmbedding(D, 24, s=3))],
    ids=["FIHT", "median"],
)
def test_a_stack_gives_what_its_operators_give(
    kind: type[Recovery], family: Family, block: int, reference: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 5 operators on 3 signals of its own; a block has `block` of them."""
    monkeypatch.setattr(recovery, "WORKSPACE", block * D)
    stack = family.draw(3, operators=OPERATORS, kernels=reference)
    x = np.stack([draw_sparse(D, 3, SIGNALS, seed) for seed in range(OPERATORS)])
    y = stack.sketch(x)
    together = kind(3).recover(stack, y)
    assert together.x.shape == x.shape
    for number in range(OPERATORS):
        alone = kind(3).recover(family.draw(3, operators=1, first=number, kernels=reference), y[number : number + 1])
        np.testing.assert_allclose(together.x[number], alone.x[0], rtol=1e-9, atol=1e-12)
        assert (together.iterations[number] == alone.iterations[0]).all()
