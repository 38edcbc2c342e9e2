"""Arms and peers: what they compress to."""

import numpy as np
import pytest

from sketchbench.federated.compressed_sensing import CompressedSensingSGD
from sketchbench.federated.compressors import UNCOMPRESSED, CompressionArm, check_case, compressor_of
from sketchbench.federated.peers import Peer, Peers, Table
from sketchbench.kernels import load
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.transform import SubsampledHadamard


@pytest.mark.parametrize(
    ("arm", "b"),
    [
        (UNCOMPRESSED, 100),
        (CompressionArm("fiht", 2.0), 50),
        (CompressionArm("count_sketch", 1.25), 80),
        (CompressionArm("fiht", 1), 100),
    ],
)
def test_sizes(arm: CompressionArm, b: int) -> None:
    recovery, family = compressor_of(arm, 100, 7)
    assert (family.d, family.b) == (100, b)
    assert recovery.k == (100 if arm == UNCOMPRESSED else 7)


def test_unknown_cases() -> None:
    with pytest.raises(ValueError, match="arm=other is unknown; choose one of fiht, count_sketch"):
        check_case("other")


@pytest.mark.parametrize(
    ("arm", "text"),
    [
        (CompressionArm("other", 2.0), "arm=other is unknown"),
        (CompressionArm("fiht", 0.0), "compression=0.0 must be > 0"),
        (CompressionArm("count_sketch", -2.0), "compression=-2.0 must be > 0"),
        (CompressionArm("fiht", float("nan")), "compression=nan must be > 0"),
    ],
)
def test_arms_are_checked(arm: CompressionArm, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        compressor_of(arm, 64, 3)


@pytest.mark.parametrize(
    ("peer", "b"), [("uncompressed", 64), ("count_sketch", 24), ("desketch", 40), ("noiseless", 40)]
)
def test_bytes_of_peers(peer: Peer, b: int) -> None:
    objective = SparseGradients(load("numpy"), 64, 5, 0, decay=4.0, spike_rate=0.05)
    algorithm = CompressedSensingSGD(FIHT(6), 0.05)
    family = SubsampledHadamard(64, 40, signs=False)
    sketch = family.draw(3, kernels="numpy")
    states = list(Peers(algorithm, objective, family, sketch, Table(4, 6), 7).run(peer, trials=2, rounds=3))
    assert [at.bytes_up for at in states] == [8 * b * t for t in range(4)]


def test_the_noiseless_peer_is_the_algorithm_without_noise() -> None:
    objective = SparseGradients(load("numpy"), 64, 5, 0, decay=4.0, spike_rate=0.05)
    noisy, silent = (CompressedSensingSGD(FIHT(6), 0.05, w) for w in (2.0, 0.0))
    family = SubsampledHadamard(64, 40, signs=False)
    sketch = family.draw(3, kernels="numpy")
    expected = list(silent.run(objective, sketch, 7, trials=2, rounds=3))[-1].w
    peers = Peers(noisy, objective, family, sketch, Table(4, 6), 7)
    np.testing.assert_array_equal(list(peers.run("noiseless", trials=2, rounds=3))[-1].w, expected)
