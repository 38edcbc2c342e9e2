"""A square root of torch's tensors with the same bits on every processor."""

from torch import Tensor


def square_root(x: Tensor) -> Tensor:
    """Square roots of x ≥ 0, of its shape and dtype, to two roundings; differentiable where x > 0. `torch.sqrt` calls
    MKL's vector mathematics, which begins with the processor's own estimate of 1/√x, and so differs in last bits."""
    return x.rsqrt().reciprocal()
