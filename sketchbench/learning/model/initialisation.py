"""Initial weights as in the listing of zhang2021 Appendix E."""

import math
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import nn

Weights = Literal["torch", "listing"]


def initialise_as_listing(model: nn.Module) -> nn.Module:
    """Redraw every layer of a model but the last, as zhang2021 Appendix E draws sketched layers, and return the model.
    Weights are uniform in ±√3/√n for dense layers and ±√6/√n for convolutions, biases in ±1/√n, for n inputs of an
    output: √3 and √6 times as wide as torch's default. The last layer, which is never sketched, keeps its weights.
    Random numbers come from torch's generator."""
    layers = [part for part in model.modules() if isinstance(part, nn.Linear | nn.Conv2d)]
    with torch.no_grad():
        for layer in layers[:-1]:
            bound = 1 / math.sqrt(layer.weight[0].numel())
            widened = math.sqrt(3 if isinstance(layer, nn.Linear) else 6)
            nn.init.uniform_(layer.weight, -bound * widened, bound * widened)
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -bound, bound)
    return model


def network_as_listing(*, model: Callable[..., nn.Module], **settings: Any) -> nn.Module:
    """Make the network `model(**settings)` and initialise it as the listing does."""
    return initialise_as_listing(model(**settings))
