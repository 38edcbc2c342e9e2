"""A message of EDEN, there and back, beside that of its authors' own code, srrcomp."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from peers import on_cpu, tensor

from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.eden import EDEN
from sketchbench.compressor.message import Layout
from sketchbench.kernels import Array, Kernels

D = 2**18  # a power of two, for which both send the same bytes
DRAWS = 20
FAR = 5  # standard errors


def there_and_back(bits: int, kernels: Kernels, **settings: Any) -> Callable[[Array, int], Array]:
    """Encodes and decodes vectors (d,) of float32, by a seed."""
    compressor = EDEN(layout=Layout(((D,),)), limit=8 + bits * D // 8, **settings)

    def run(x: Array, seed: int) -> Array:
        at = At(kernels, seed, 0, 1)
        return compressor.decode(compressor.encode(x[None, None], Memory(), at, ()), at, ())[0, 0]

    return run


def errors(run: Callable[[Array, int], Array], x: Array, kernels: Kernels) -> Any:
    """‖C(x) - x‖² / ‖x‖² of several seeds, (DRAWS,)."""
    exact = kernels.to_numpy(x).astype(np.float64)
    found = [kernels.to_numpy(kernels.asarray(run(x, seed))) for seed in range(DRAWS)]
    return np.array([((one - exact) ** 2).sum() / (exact**2).sum() for one in found])


@pytest.mark.parametrize("whose", ["ours", "srrcomp"])
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_eden(timed: Any, kernels: Kernels, normals: Callable[..., Any], bits: int, whose: str) -> None:
    """Ours rotates twice, theirs once, which biases sparse vectors: errors are compared with one rotation in both."""
    x, about = normals((D,), "float32"), {"group": "eden", "b": bits * D // 32}
    name = f"EDEN, {bits} bit{'s' * (bits > 1)}"
    if whose == "ours":
        run = there_and_back(bits, kernels)
        timed(lambda: run(x, 0), x, name=name, **about)
        return
    on_cpu(kernels)
    peer = pytest.importorskip("srrcomp", reason="`make bench` installs it").Eden()

    def theirs(x: Array, seed: int) -> Array:
        return peer.decompress(peer.compress(tensor(kernels, x), bits, seed)).numpy()

    timed(lambda: theirs(x, 0), x, name=f"srrcomp.{name}", ours=name, **about)
    for shape in (x, x * abs(x)):  # the square has heavier tails
        a, b = errors(there_and_back(bits, kernels, rotations=1), shape, kernels), errors(theirs, shape, kernels)
        apart = abs(a.mean() - b.mean())
        assert apart < FAR * np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / DRAWS) + 1e-3 * b.mean()  # levels by a table
