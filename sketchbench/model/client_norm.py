"""Batch normalisation of many clients' batches at once, none of which sees another's."""

from typing import Self

import torch
from torch import Tensor, nn


class ClientNorm(nn.BatchNorm2d):
    """In training, every `batch` consecutive images are one client's, and are normalised by their own mean and
    variance. In evaluation, by the running ones, which training leaves alone: `measured` fills them."""

    batch = 1
    measuring = False

    @classmethod
    def like(cls, layer: nn.BatchNorm2d) -> Self:
        """A layer with the same parameters, which it shares."""
        own = cls(layer.num_features, layer.eps)
        own.weight, own.bias = layer.weight, layer.bias
        return own

    def forward(self, x: Tensor) -> Tensor:
        """(clients * batch, channels, height, width) is kept."""
        if not self.training:
            return super().forward(x)
        mean, variance = (self.running_mean, self.running_var) if self.measuring else (None, None)
        normalised = [
            nn.functional.batch_norm(part, mean, variance, self.weight, self.bias, True, 1 / (1 + i), self.eps)
            for i, part in enumerate(torch.split(x, self.batch))
        ]
        return torch.cat(normalised)


def by_client(model: nn.Module) -> list[ClientNorm]:
    """Replace every batch normalisation of a model by one of clients, in place; those, in order."""
    found: list[ClientNorm] = []
    for name, part in model.named_children():
        if isinstance(part, nn.BatchNorm2d):
            own = ClientNorm.like(part)
            setattr(model, name, own)
            found.append(own)
        else:
            found += by_client(part)
    return found
