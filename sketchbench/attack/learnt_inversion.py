"""Gradient inversion by regression on messages of public images, for messages without a good differentiable map."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.dense_networks import DenseNetworks, estimate_first_inputs
from sketchbench.attack.door import check_images, check_tensor
from sketchbench.base import seeds
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.kernels import Array
from sketchbench.learning.model.classification import Samples

PENALTIES = (0.1, 1.0, 10.0, 100.0)  # weights of the squared coefficients; leave-one-out error chooses one


def invert_by_regression(
    decoded: Tensor, networks: DenseNetworks, compressor: Compressor, at: At, public: Samples
) -> Tensor:
    """Estimate the images (T, 1, pixels), in [0, 1], by ridge regression on estimates of the first layer's inputs. The
    attacker fits the regression to the messages of public images, which it makes with networks and compressor.

    Arguments:
        decoded: the decoded message of one image in each trial, (T, d).
        public: n images for each of T networks, (T, n, pixels), and their labels (T, n).
    """
    check_tensor("decoded", decoded, at.trials, networks.layout.d)
    check_images("public images", public.images, at.trials, "n", "pixels")
    from sklearn.linear_model import RidgeCV  # takes 1.4 s, which only this attack needs

    if not traits.keyed(compressor):  # the attacker does not know the clients' own random draws
        at = at._replace(seed=seeds.key(at.seed, attack="public messages"))
    updates = at.kernels.asarray(networks.gradients(public.images[:, :, None], public.labels[:, :, None]).numpy())
    trials, clients, d = updates.shape
    exchange = compressor.exchange(updates, compressor.begin(trials, clients, at.kernels), at)
    own = _tensor(compressor.decode(exchange.messages[-1], at, exchange.replies[:-1]), at).reshape(-1, d)
    model = RidgeCV(PENALTIES).fit(_features(own, networks), public.images.flatten(0, 1).numpy())
    return torch.tensor(model.predict(_features(decoded, networks))).float().clamp(0, 1)[:, None]


def _features(decoded: Tensor, networks: DenseNetworks) -> NDArray[np.float64]:
    """The estimated inputs of the first layer, and the same scaled to [0, 1], (n, 2 * inputs), of n updates (n, d)."""
    entered, _ = estimate_first_inputs(decoded.double(), (decoded != 0).double(), networks.layout)
    least, most = entered.amin(dim=1, keepdim=True), entered.amax(dim=1, keepdim=True)
    return torch.cat([entered.clamp(-2, 2), (entered - least) / (most - least).clamp(min=1e-12)], dim=1).numpy()


def _tensor(array: Array, at: At) -> Tensor:
    return torch.as_tensor(at.kernels.to_numpy(array)).float()
