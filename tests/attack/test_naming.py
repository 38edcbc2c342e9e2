"""The attack that names a candidate behind a sum, by the covariance of public gradients."""

import pytest
import torch
from torch import Tensor

from sketchbench.attack.naming import RIDGE, Products, inner_products
from sketchbench.task.compressors.noisy_leakage import _root

D, CANDIDATES, POOL, PUBLIC, OTHERS, TRIALS = 60, 4, 50, 400, 100, 300
LOUD = torch.cat(
    [torch.full((8,), 30.0), torch.full((D - 8,), 0.4)]
)  # sd of others' entries: a few directions carry the noise


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def gradients() -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of candidates, of others' images, and of further public images."""
    return normal(CANDIDATES, D, seed=1), LOUD * normal(POOL, D, seed=2), LOUD * normal(PUBLIC, D, seed=3)


def named(products: Products, candidates: Tensor, pool: Tensor, *, others: int) -> float:
    """The share of victims that the attack names in sums with `OTHERS` others, if it weighs as for `others`."""
    random = torch.Generator().manual_seed(4)
    victims = torch.randint(CANDIDATES, (1, TRIALS), generator=random)
    times = torch.multinomial(torch.ones(TRIALS, POOL), OTHERS, True, generator=random)
    counts = torch.zeros(1, TRIALS, POOL, dtype=torch.float64)
    counts[0].scatter_add_(1, times, torch.ones(TRIALS, OTHERS, dtype=torch.float64))
    weighed = products.weighed(others, 0.0)
    own = weighed.candidates.gather(1, victims[:, :, None].expand(-1, -1, CANDIDATES))
    return float((weighed.nearest(own + (counts - OTHERS / POOL) @ weighed.others) == victims).double().mean())


def test_weighed_products_are_those_of_the_inverse_covariance(gradients: tuple[Tensor, Tensor, Tensor]) -> None:
    """By the d × d matrix itself, which the attack never makes; and the products' noise has the covariance stated."""
    candidates, pool, public = (x.double() for x in gradients)
    weighed = inner_products(*gradients).weighed(OTHERS, 2.5)
    centred = public - public.mean(dim=0)
    ridge = 2.5 + OTHERS * RIDGE * centred.square().mean()
    metric = ridge * torch.linalg.inv(OTHERS * centred.T @ centred / PUBLIC + ridge * torch.eye(D, dtype=torch.float64))
    torch.testing.assert_close(weighed.candidates[0], candidates @ metric @ candidates.T, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(weighed.others[0], pool @ metric @ candidates.T, rtol=1e-6, atol=1e-5)
    probes = candidates @ metric
    torch.testing.assert_close(weighed.noise[0], probes @ probes.T, rtol=1e-6, atol=1e-6)
    root = _root(weighed.noise)
    torch.testing.assert_close(root @ root, weighed.noise)


def test_quiet_directions_name_the_victim(gradients: tuple[Tensor, Tensor, Tensor]) -> None:
    """An attack without the weights, the mutant, finds little more than a guess does, of one in four."""
    candidates, pool, _ = gradients
    products = inner_products(*gradients)
    assert named(products, candidates, pool, others=OTHERS) > 0.5
    assert named(products, candidates, pool, others=0) < 0.35


def test_without_others_the_nearest_is_named(gradients: tuple[Tensor, Tensor, Tensor]) -> None:
    candidates, _, _ = gradients
    seen = candidates[[2, 0, 1]] + 0.1 * normal(3, D, seed=5)
    weighed = inner_products(*gradients).weighed(0, 9.0)
    assert weighed.nearest((seen @ candidates.T)[None].double()).tolist() == [[2, 0, 1]]
    torch.testing.assert_close(weighed.noise[0], (candidates @ candidates.T).double(), rtol=1e-5, atol=1e-5)


def test_gradients_of_one_length() -> None:
    with pytest.raises(ValueError, match="others"):
        inner_products(torch.ones(2, 5), torch.ones(3, 4), torch.ones(3, 5))
