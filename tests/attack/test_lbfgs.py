"""Our L-BFGS against torch's, bit for bit."""

import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sketchbench.attack import lbfgs


class Problem:
    """A function of two variables with curved valleys, as torch's optimisers and ours take it."""

    def __init__(self, seed: int, size: int, roughness: float, ends: int) -> None:
        random = torch.Generator().manual_seed(seed)
        first = torch.randn(2, size, generator=random, dtype=torch.float64)
        second = torch.randn(3, generator=random, dtype=torch.float64)
        self.variables = [first.requires_grad_(), second.requires_grad_()]
        self._matrix = torch.randn(9, 2 * size, generator=random, dtype=torch.float64)
        self._roughness, self._ends, self.seen = roughness, ends, 0

    def differentiate(self) -> Tensor:
        self.seen += 1
        if self.seen == self._ends:
            raise StopIteration
        first, second = self.variables
        value = (self._matrix @ first.flatten()).sigmoid().square().sum() + self._roughness * second.pow(4).sum()
        value = value + (second.square().sum() - first[0, 0]).square()
        for v, slope in zip(self.variables, torch.autograd.grad(value, self.variables), strict=True):
            v.grad = slope
        return value.detach()


@given(
    seed=st.integers(0, 2**31),
    size=st.integers(1, 6),
    roughness=st.sampled_from([0.0, 1.0, 1e6]),
    evaluations=st.integers(1, 90),
    history=st.integers(1, 20),
    ends=st.sampled_from([0, 0, 7, 30]),
)
@examples(40)
def test_steps_are_those_of_torch(
    seed: int, size: int, roughness: float, evaluations: int, history: int, ends: int
) -> None:
    """To the last bit, with as many evaluations, and the same place where the function ends the search."""
    ours, theirs = (Problem(seed, size, roughness, ends) for _ in range(2))
    optimiser = torch.optim.LBFGS(
        theirs.variables,
        max_iter=evaluations,
        max_eval=evaluations,
        history_size=history,
        tolerance_grad=1e-14,
        tolerance_change=1e-16,
        line_search_fn="strong_wolfe",
    )
    ended = []
    for search in (
        lambda: lbfgs.minimise(ours.variables, ours.differentiate, evaluations, history),
        lambda: optimiser.step(theirs.differentiate),  # type: ignore[arg-type]
    ):
        try:
            search()
            ended.append(False)
        except StopIteration:
            ended.append(True)
    assert ended[0] == ended[1]
    assert ours.seen == theirs.seen
    for v, other in zip(ours.variables, theirs.variables, strict=True):
        torch.testing.assert_close(v.detach(), other.detach(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("slope", [0.0, 1e-15])
def test_it_stays_at_a_minimum(slope: float) -> None:
    x = torch.ones(3, dtype=torch.float64).requires_grad_()

    def differentiate() -> Tensor:
        x.grad = torch.full_like(x, slope)
        return torch.tensor(1.0, dtype=torch.float64)

    lbfgs.minimise([x], differentiate, 10, 5)
    assert bool((x == 1).all())
