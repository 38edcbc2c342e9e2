"""Gradient inversion that is learnt from messages of public images: for messages that no differentiable map describes
well, such as signs."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench import seeds
from sketchbench.attack.dense_networks import DenseNetworks, estimate_first_inputs
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.kernels import Array
from sketchbench.model.classification import Samples

PENALTIES = (0.1, 1.0, 10.0, 100.0)  # weights of the squared coefficients, of which the best by leave-one-out is taken


def invert_by_regression(
    decoded: Tensor, networks: DenseNetworks, compressor: Compressor, at: At, public: Samples
) -> Tensor:
    """Images (T, 1, pixels) in [0, 1] of decoded updates (T, d), by ridge regression on what enters the first layer.

    The regression is that of public images on the same features of their own messages, which the attacker makes with
    the networks and the compressor.

    Arguments:
        decoded: what the receiver makes of a message of one image.
        networks: T of them.
        compressor: of all clients.
        at: when.
        public: n images for each network, (T, n, pixels), and their labels (T, n).
    """
    from sklearn.linear_model import RidgeCV  # 1.4 s that only this attack needs

    if not compressor.keyed:  # what clients draw for themselves nobody else knows
        at = at._replace(seed=seeds.key(at.seed, attack="public messages"))
    updates = at.kernels.asarray(networks.gradients(public.images[:, :, None], public.labels[:, :, None]).numpy())
    trials, clients, d = updates.shape
    exchange = compressor.exchange(updates, compressor.begin(trials, clients, at.kernels), at)
    own = _tensor(compressor.decode(exchange.messages[-1], at, exchange.replies[:-1]), at).reshape(-1, d)
    model = RidgeCV(PENALTIES).fit(_features(own, networks), public.images.flatten(0, 1).numpy())
    return torch.tensor(model.predict(_features(decoded, networks))).float().clamp(0, 1)[:, None]


def _features(decoded: Tensor, networks: DenseNetworks) -> NDArray[np.float64]:
    """Of each of n decoded updates (n, d): what enters the first layer, and the same from 0 for the least of its values
    to 1 for the largest, (n, 2 inputs)."""
    entered, _ = estimate_first_inputs(decoded.double(), (decoded != 0).double(), networks.layout)
    least, most = entered.amin(dim=1, keepdim=True), entered.amax(dim=1, keepdim=True)
    return torch.cat([entered.clamp(-2, 2), (entered - least) / (most - least).clamp(min=1e-12)], dim=1).numpy()


def _tensor(array: Array, at: At) -> Tensor:
    return torch.as_tensor(at.kernels.to_numpy(array)).float()
