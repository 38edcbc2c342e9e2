"""A dense layer to 200 units, forward and backward: through a CountSketch of half its inputs, and PyTorch's own.

A batch of 10 at the size of zhang2021 §6.2, and single inputs for how the time grows with their dimension.
"""

from collections.abc import Callable
from typing import Any

import pytest
from peers import tensor, torch

from sketchbench.kernels import Kernels
from sketchbench.sketch import CountSketch

OUT = 200


@pytest.mark.parametrize("case", ["sketched", "torch.nn.Linear"])
@pytest.mark.parametrize(("rows", "d"), [(10, 784), (1, 784), (1, 4 * 784), (1, 16 * 784), (1, 64 * 784)])
def test_layer(timed: Any, kernels: Kernels, normals: Callable[..., Any], rows: int, d: int, case: str) -> None:
    nn = torch(kernels).nn
    from sketchbench.learning.model.sketched import SketchedLinear

    family, x = CountSketch(d, d // 2), normals((rows, d), "float32")
    v = tensor(kernels, x)
    layer = nn.Linear(d, OUT) if case != "sketched" else SketchedLinear(d, OUT, family)
    layer = layer.to(v.device)
    if case == "sketched":
        layer.draw(0, kernels)

    def step() -> Any:
        layer.zero_grad()
        layer(v).square().mean().backward()

    ours = None if case == "sketched" else "sketched"
    timed(step, x, group="layer", name=case, b=family.b, ours=ours)
