"""Labels that are read from messages."""

import pytest
import torch

from sketchbench import kernels
from sketchbench.attack.compressed_message import WatchedRounds
from sketchbench.attack.labels import read_labels
from sketchbench.attack.message_scene import draw_scene
from sketchbench.attack.target import Target
from sketchbench.compressor.compressor import At
from sketchbench.compressor.message import byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import mlp

TRIALS = 20


def small(shape: tuple[int, ...], classes: int) -> torch.nn.Module:
    return mlp(shape, classes, hidden=[50])


@pytest.mark.parametrize(("shift", "read"), [(0, TRIALS), (1, 0)])
def test_uncompressed_gradients_show_the_label(shift: int, read: int) -> None:
    """Messages of images with another label show that label, and never the first: the labels are read from messages,
    not from what the target says."""
    numba = kernels.load("numba")
    scene = draw_scene(digits.load(), small, 31, 2, TRIALS)
    labels = (scene.labels + shift) % 10
    updates = numba.asarray(scene.networks.gradients(scene.images[:, :, None], labels[:, :, None]).numpy())
    compressor = Plain(scene.networks.layout, byte_limit(scene.networks.layout, 1))
    sights = WatchedRounds(compressor, At(numba, 32, 0, TRIALS), lambda at: updates).sights("server", 1)
    known, networks = scene.labels[:, :1], [scene.networks]
    target = Target(sights, networks, known, scene.prior, scene.classes, 33, compressor, scene.public)
    found = read_labels(target)
    assert torch.equal(found, labels[:, :1])
    assert int((found == known).sum()) == read
