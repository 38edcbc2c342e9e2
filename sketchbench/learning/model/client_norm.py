"""Batch normalisation of many clients' batches in one pass, each with its own mean and variance."""

from typing import Self

import torch
from torch import Tensor, nn


class ClientNorm(nn.BatchNorm2d):
    """Batch normalisation of consecutive groups of `batch` images, each of one client. In training, a client's images
    are normalised by their own mean and variance. In evaluation, all images are normalised by the running mean and
    variance; these change only while `measuring`, to the averages over the clients of a pass."""

    batch = 1
    measuring = False

    @classmethod
    def like(cls, layer: nn.BatchNorm2d) -> Self:
        """Make a layer that shares the parameters of another batch normalisation."""
        copy = cls(layer.num_features, layer.eps)
        copy.weight, copy.bias = layer.weight, layer.bias
        return copy

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images, of the same shape (clients * batch, channels, height, width)."""
        if not self.training:
            return super().forward(x)
        mean, variance = (self.running_mean, self.running_var) if self.measuring else (None, None)
        normalised = [
            nn.functional.batch_norm(part, mean, variance, self.weight, self.bias, True, 1 / (1 + i), self.eps)
            for i, part in enumerate(torch.split(x, self.batch))
        ]
        return torch.cat(normalised)


def normalise_by_client(model: nn.Module) -> list[ClientNorm]:
    """Replace every batch normalisation of a model by a `ClientNorm`, in place; return the new layers in order."""
    norms: list[ClientNorm] = []
    for name, part in model.named_children():
        if isinstance(part, nn.BatchNorm2d):
            norm = ClientNorm.like(part)
            setattr(model, name, norm)
            norms.append(norm)
        else:
            norms += normalise_by_client(part)
    return norms
