"""Functions whose last bits depend on the processor, and the square root that the package takes in their place."""

import ast
from pathlib import Path

import pytest
import torch

import sketchbench
from sketchbench.attack.square_root import square_root

# MKL's vector mathematics and LAPACK of torch 2.13 differ here between an Intel processor of 2023 and the Haswell and
# EPYC that QEMU emulates. So does a power of 1/2 of a tensor, which no name tells. 434 of 457 functions of torch, NumPy
# and SciPy have the same bits.
DIFFERENT = {"sqrt", "sqrt_", "tan", "asin", "acos", "atan", "atan2", "arcsin", "arccos", "arctan", "log2"}
DIFFERENT |= {"cholesky", "lstsq"}
# With another root, trainings of 30 hours at the papers' sizes must be run again.
LEFT = ["federated/adam.py"]
EXACT = {"math", "np", "numpy", "xp", "cp", "cupy"}  # modules whose functions have the same bits, or are the device's


def found(code: str) -> list[int]:
    """The lines that call one of DIFFERENT, but as a function of a module of EXACT."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    named = [(node, node.func) for node in calls if isinstance(node.func, ast.Attribute)]
    return [node.lineno for node, name in named if name.attr in DIFFERENT and not _root(name.value).intersection(EXACT)]


def _root(node: ast.expr) -> set[str]:
    return {inner.id if isinstance(inner, ast.Name) else getattr(inner, "attr", "") for inner in ast.walk(node)}


def test_no_module_calls_a_function_that_differs() -> None:
    package = Path(str(sketchbench.__file__)).parent
    assert [str(file.relative_to(package)) for file in package.rglob("*.py") if found(file.read_text("utf-8"))] == LEFT


@pytest.mark.parametrize("code", ["x.sqrt()", "torch.sqrt(x)", "(a + b).log2()", "torch.linalg.cholesky(x)"])
def test_calls_are_found(code: str) -> None:
    assert found(code) == [1]
    assert not found("np.sqrt(x), math.log2(2), xp.linalg.cholesky(x)")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_square_roots_are_exact_to_two_roundings(dtype: torch.dtype) -> None:
    limits = torch.finfo(dtype)
    x = torch.logspace(-30, 30, 5001, dtype=dtype)
    assert ((square_root(x).double() ** 2 / x.double() - 1).abs().max()) <= 4 * limits.eps
    assert square_root(torch.tensor([0.0, limits.tiny, 1.0, 4.0], dtype=dtype)).tolist()[::3] == [0.0, 2.0]
    assert torch.autograd.gradcheck(square_root, torch.rand(5, dtype=torch.float64).add(0.1).requires_grad_())
