"""Property inference: does a batch contain images of a kind that the training is not about? (Melis et al. 2019)

A random forest learns it from gradients of the attacker's own batches, and is then shown what the attacker can make of
the victim's. What it can make of them is computed from messages as they were sent, and from nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sketchbench.federated.double_blind import (
    Broadcast,
    Option,
    Reply,
    Weights,
    estimated_weights,
)
from sketchbench.kernels import Kernels
from sketchbench.model import autograd, sketched

Features = NDArray[np.float32]  # (n, features)


@dataclass(frozen=True)
class RandomForest:
    """The classifier: scikit-learn's, with so many trees."""

    trees: int = 50

    def area_under_roc(
        self,
        own: Features,
        labels: NDArray[np.bool_],
        seen: Sequence[Features],
        truth: NDArray[np.bool_],
        seed: int,
    ) -> list[float]:
        """Of a forest that learns from `own` features with `labels`: the area under its ROC curve on each of the
        `seen` features, whose labels are `truth`. O(trees √features n log n) for n features to learn from."""
        from sklearn.ensemble import RandomForestClassifier  # 1.4 s that only this attack needs
        from sklearn.metrics import roc_auc_score

        forest = RandomForestClassifier(self.trees, random_state=seed % 2**32)
        forest.fit(own, labels)
        return [float(roc_auc_score(truth, forest.predict_proba(x)[:, 1])) for x in seen]


def server_view(twin: nn.Module, reply: Reply, rate: float) -> Weights:
    """The gradients that a server makes of a reply to its last broadcast: Γ Sᵀ for sketched layers, and the others
    as they are (zhang2021 Appendix A.1). A client makes the same of its own reply.

    twin: a client's model, as `receive` set it up for that broadcast: the sketches are known to both sides.
    """
    operators = {f"{name}.weight": layer.current for name, layer in sketched.layers(twin)}
    with torch.no_grad():
        return {
            name: (autograd.desketch(operators[name], step) if name in operators else step) / rate
            for name, step in reply.steps.items()
        }


def client_view(
    twin: nn.Module,
    old: Broadcast,
    new: Broadcast,
    option: Option,
    kernels: str | Kernels | None = None,
) -> Weights:
    """What a client makes of the update between two broadcasts: W_old - W_new, estimated for sketched layers
    (zhang2021 §6.3), and exact for all others."""
    before, after = (
        message.weights | estimated_weights(twin, message, option, kernels)
        for message in (old, new)
    )
    return {name: before[name] - after[name] for name in before}


def of_the_other(update: Weights, own: Weights, rate: float) -> Weights:
    """The gradient of the second of two clients, from the update by the mean of both, and the first one's."""
    return {name: 2 * update[name] / rate - own[name] for name in own}


def flattened(gradients: Weights, names: Sequence[str]) -> Tensor:
    """The entries of these gradients, in one vector."""
    return torch.cat([gradients[name].flatten() for name in names])
