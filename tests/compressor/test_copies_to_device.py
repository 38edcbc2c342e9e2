"""How often a round of the frontier's training copies an array to the device."""

import functools
from typing import Any

import compressing
import numpy as np
import pytest

from sketchbench import kernels as backends
from sketchbench.compressor.message import byte_limit
from sketchbench.federated import frontier
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.model.networks import mlp
from sketchbench.privacy.sampling import Sampling

_MISSING = backends.device_missing()


@pytest.mark.gpu
@pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))
@pytest.mark.parametrize(
    ("name", "compression"), [("none", 1), ("srht", 4), ("count_sketch", 4), ("fiht", 4), ("top_k", 4)]
)
def test_a_round_copies_its_records_and_their_shares(
    monkeypatch: pytest.MonkeyPatch, name: str, compression: float
) -> None:
    """Two arrays by `asarray`, whatever the compressor, if no noise is added; all others stay on the device."""
    import cupy

    device = backends.load("cupy")
    copies = []

    def counted(make: Any) -> Any:
        def copied(source: Any, *arguments: Any, **options: Any) -> Any:
            if not isinstance(source, cupy.ndarray):
                copies.append(np.shape(source))
            return make(source, *arguments, **options)

        return copied

    split, model = functools.partial(partition.iid, clients=3), functools.partial(mlp, hidden=(6,))
    clients = frontier.make_federation(device, digits.mixed(), split, model, range(2))
    gradients = frontier.Gradients(Sampling("without_replacement", 16, clients.records.shape[2]))
    compressor = compressing.maker(name)(layout=clients.layout, limit=byte_limit(clients.layout, compression))
    arm = frontier.Arm(compressor, np.full(2, 0.5, "float32"))
    monkeypatch.setattr(cupy, "asarray", counted(cupy.asarray))
    counts = []
    for rounds in (2, 5):
        copies.clear()
        frontier.train(clients, gradients, [arm], 5, rounds=rounds, judged=1)
        counts.append(len(copies))
    assert counts[1] - counts[0] == 3 * 2, copies
