"""Initial weights as the listing in zhang2021 Appendix E draws them."""

import math

import pytest
import torch

from sketchbench.learning.model.initialisation import network_as_listing
from sketchbench.learning.model.networks import initialise, mlp
from sketchbench.sketch.balanced import BalancedCountSketch


@pytest.mark.parametrize("family", [None, BalancedCountSketch(784, 392)])
def test_all_layers_but_the_last_are_wider(family: BalancedCountSketch | None) -> None:
    def make() -> torch.nn.Module:
        return network_as_listing(model=mlp, shape=(1, 28, 28), classes=10, family=family)

    layers = [part for part in initialise(make, 3).modules() if isinstance(part, torch.nn.Linear)]
    for layer, widened in zip(layers, [math.sqrt(3), math.sqrt(3), 1], strict=True):
        bound = widened / math.sqrt(layer.in_features)
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert abs(layer.weight.std() / (bound / math.sqrt(3)) - 1) < 0.05


def test_a_seed_decides() -> None:
    def make() -> torch.nn.Module:
        return network_as_listing(model=mlp, shape=(1, 8, 8), classes=10, hidden=[4])

    one, two, other = (initialise(make, seed).state_dict()["1.weight"] for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
