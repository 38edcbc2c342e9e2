"""Inversion by regression, against ridge regression by normal equations that leaves out each public image in turn."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sketchbench import kernels
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.learnt_inversion import invert_by_regression
from sketchbench.base import seeds
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.message import byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.quantised import QSGD
from sketchbench.compressor.sparse import RandomK
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import initialise, mlp

Floats = NDArray[np.float64]
UNITS, PIXELS, TRIALS, PUBLIC = 5, 6, 2, 12
NETWORKS = DenseNetworks([initialise(lambda: mlp((1, 2, 3), 4, hidden=[UNITS]), seed) for seed in range(TRIALS)])
IMAGES = torch.rand(TRIALS, 1 + PUBLIC, PIXELS, generator=torch.Generator().manual_seed(1))  # the client's is the first
LABELS = torch.arange(TRIALS * (1 + PUBLIC)).view(TRIALS, -1) % 4


def decoded(compressor: Compressor, at: At, images: slice) -> torch.Tensor:
    """The decoded messages of each of these images alone, (T n, d)."""
    updates = NETWORKS.gradients(IMAGES[:, images, None], LABELS[:, images, None]).numpy()
    done = compressor.exchange(updates, compressor.begin(*updates.shape[:2], at.kernels), at)
    found = compressor.decode(done.messages[-1], at, done.replies[:-1])
    return torch.tensor(found).float().reshape(-1, NETWORKS.layout.d)


def features(update: Floats) -> Floats:
    """The slope of the weights' gradients on the biases', from entries that are not 0; and its place in its range."""
    steep, slope = update[: UNITS * PIXELS].reshape(UNITS, PIXELS), update[UNITS * PIXELS :][:UNITS, None]
    both = (steep != 0) & (slope != 0)
    power = (both * slope**2).sum(axis=0)
    entered = np.divide((both * slope * steep).sum(axis=0), power, out=np.zeros(PIXELS), where=power > 0)
    placed = (entered - entered.min()) / max(np.ptp(entered), 1e-12)
    return np.concatenate([np.clip(entered, -2, 2), placed])


def ridge(x: Floats, y: Floats, penalty: float, new: Floats) -> Floats:
    """Predictions for `new`; the intercept has no penalty."""
    centred = x - x.mean(axis=0)
    gram = centred.T @ centred + penalty * np.eye(x.shape[1])
    return y.mean(axis=0) + (new - x.mean(axis=0)) @ np.linalg.solve(gram, centred.T @ (y - y.mean(axis=0)))


@pytest.mark.parametrize(("kind", "compression", "penalty"), [(Plain, 1, 0.1), (RandomK, 2, 1.0), (QSGD, 12, 10.0)])
def test_the_best_of_four_penalties_predicts_the_image(
    kind: type[Compressor], compression: float, penalty: float
) -> None:
    """Without a shared key, the attacker makes messages of public images with randomness of its own."""
    compressor = kind(NETWORKS.layout, byte_limit(NETWORKS.layout, compression))
    at = At(kernels.load("numpy"), 3, 0, TRIALS)
    message, public = decoded(compressor, at, slice(1)), Samples(IMAGES[:, 1:], LABELS[:, 1:])
    found = invert_by_regression(message, NETWORKS, compressor, at, public)

    if kind is not RandomK:
        at = at._replace(seed=seeds.key(3, attack="public messages"))
    x = np.array([features(update) for update in decoded(compressor, at, slice(1, None)).double().numpy()])
    y = IMAGES[:, 1:].flatten(0, 1).double().numpy()
    rows = np.arange(len(x))
    errors = {
        each: sum(((ridge(x[rows != i], y[rows != i], each, x[i]) - y[i]) ** 2).sum() for i in rows)
        for each in (0.1, 1.0, 10.0, 100.0)
    }
    assert min(errors, key=errors.__getitem__) == penalty
    expected = ridge(x, y, penalty, np.array([features(update) for update in message.double().numpy()]))
    np.testing.assert_allclose(found[:, 0].numpy(), np.clip(expected, 0, 1), rtol=0, atol=1e-4)


def test_an_exact_message_gives_the_image() -> None:
    """But for what the least penalty takes off."""
    compressor, at = Plain(NETWORKS.layout, NETWORKS.layout.nbytes), At(kernels.load("numpy"), 3, 0, TRIALS)
    public = Samples(IMAGES[:, 1:], LABELS[:, 1:])
    found = invert_by_regression(decoded(compressor, at, slice(1)), NETWORKS, compressor, at, public)
    torch.testing.assert_close(found, IMAGES[:, :1], rtol=0, atol=0.1)
