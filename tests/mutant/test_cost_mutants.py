"""Claims about cost reject what costs too much."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from judging import shared, verdict, verdicts
from recoveries import SmallestKept

from sketchbench import kernels
from sketchbench.federated import compressed_sensing
from sketchbench.kernels import numpy_kernels
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.recovery import peers
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.task.double_blind.layer_cost import EntryMeter, LayerCost
from sketchbench.task.error_feedback.download import Download
from sketchbench.task.recovery.decoders import Decoders
from sketchbench.task.sketches.transform_cost import TransformCost


def transforms(repetitions: int = 3) -> list[Any]:
    return TransformCost(kernels.load("numba"), 1, [256, 1024, 4096], [64, 128, 256], repetitions).run()


def by_recursion_without_reuse(x: Any) -> Any:
    """The same transform, but each half of the result computes the transforms of both halves again."""
    if len(x) == 1:
        return x
    half = len(x) // 2
    transform = by_recursion_without_reuse
    first = transform(x[:half]) + transform(x[half:])
    return np.concatenate([first, transform(x[:half]) - transform(x[half:])])


@pytest.mark.parametrize(
    ("transform", "expected"), [(numpy_kernels.walsh_hadamard, {"holds"}), (by_recursion_without_reuse, {"fails"})]
)
def test_operations_of_a_transform(
    monkeypatch: pytest.MonkeyPatch, transform: Callable[[Any], Any], expected: set[str]
) -> None:
    monkeypatch.setattr(numpy_kernels, "walsh_hadamard", transform)
    task = TransformCost(kernels.load("numba"), 1, [32, 64, 128], [64, 128], 2)
    assert verdicts("T17-operations", task.run()) == expected


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("claim", ["T17-time", "T17-speed"])
def test_times_of_a_transform(monkeypatch: pytest.MonkeyPatch, claim: str, slow: bool) -> None:
    """With a clock of our own: seconds that are d for the fast transforms, and d² for the broken one."""
    import sketchbench.task.sketches.transform_cost as task

    def clocked(work: dict[str, Any], repetitions: int) -> dict[str, Any]:
        seconds = {}
        for name in work:
            case, d = name.split()
            power = 2 if slow and case == "hadamard" else 1
            seconds[name] = np.full(repetitions, (2.0 if case == "cosine" else 1.0) * int(d) ** power)
        return seconds

    monkeypatch.setattr(task, "time_in_turns", clocked)
    found = verdicts(claim, transforms(50))
    assert ("fails" in found) if slow else (found == {"holds"})


class Everything(FIHT):
    """The step has as many entries as the weights."""

    def _recover(self, sketch: Any, y: Any) -> Any:
        found = super()._recover(sketch, y)
        return found._replace(x=found.x + 1e-3)


@pytest.mark.parametrize(("recovery", "expected"), [(FIHT, {"holds"}), (Everything, {"fails"})])
def test_download(recovery: type[FIHT], expected: set[str]) -> None:
    objective: Any = partial(SparseGradients, d=64, clients=3, decay=2.0)
    family = SubsampledHadamard(64, 40, signs=False)
    rows = Download(family, recovery, kernels.load("numba"), 1, objective, 3, 4).run()
    assert verdicts("T17-download-corrected", rows) == expected
    assert verdicts("T17-download-printed", rows) == {"fails"}


def test_download_without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the printed claim would take to hold."""
    monkeypatch.setattr(compressed_sensing, "sparse_nbytes", lambda step: step[step != 0].nbytes)
    objective: Any = partial(SparseGradients, d=64, clients=3, decay=2.0)
    rows = Download(SubsampledHadamard(64, 40, signs=False), FIHT, kernels.load("numba"), 1, objective, 3, 4).run()
    assert verdicts("T17-download-printed", rows) == {"holds"}


def layers(**options: Any) -> list[Any]:
    given = {"outputs": 12, "batches": [1, 10, 50], "repetitions": 2, **options}
    return LayerCost(CountSketch(32, 16), kernels.load("numba"), 1, **given).run()


def test_multiplications_by_hand() -> None:
    """Three products of n x s x out and, both ways, the entries of X and W; n = 10, d = 32, s = 16, out = 12."""
    rows = layers()
    found = {(r["case"], r["batch"]): r["value"] for r in rows if r["quantity"] == "multiplications"}
    plain = 3 * 10 * 32 * 12
    assert found["printed", 10] == (3 * 10 * 16 * 12 + 2 * 32 * (10 + 12)) / plain
    assert found["one factor", 10] == (plain + 2 * 2 * 32 * 10) / plain
    assert found["twice", 10] == 2
    assert verdicts("Z15-operations", rows) == {"holds"}
    assert verdicts("Z15-single", rows) == {"fails"}


def test_multiplications_of_a_dense_sketch(monkeypatch: pytest.MonkeyPatch) -> None:

    def sketch(meter: EntryMeter, x: Any, **options: Any) -> Any:
        meter.entries += meter.operator.b * x.size
        return meter.operator.sketch(x, **options)

    monkeypatch.setattr(EntryMeter, "sketch", sketch)
    assert "fails" in verdicts("Z15-operations", layers())


@pytest.mark.parametrize("slow", [False, True])
def test_times_of_a_layer(monkeypatch: pytest.MonkeyPatch, slow: bool) -> None:
    import sketchbench.task.double_blind.layer_cost as task

    def clocked(passes: dict[str, Any], repetitions: int) -> dict[str, Any]:
        return {
            name: np.full(repetitions, 1.0 if name == "plain" or slow else 0.5) + 1e-3 * np.arange(repetitions)
            for name in passes
        }

    monkeypatch.setattr(task, "time_in_turns", clocked)
    assert verdicts("Z15-time", layers(repetitions=50)) == ({"fails"} if slow else {"holds"})


def test_the_printed_layer_is_that_of_the_library() -> None:
    task = LayerCost(CountSketch(32, 16), kernels.load("numba"), 1, 12, [10], 2)
    passes = task._passes(10)
    passes["one factor"].layer.load_state_dict(passes["plain"].layer.state_dict())
    found = []
    for case in ("printed", "one factor"):
        passes[case]()
        (weight,) = (p.grad for p in passes[case].layer.parameters() if p.dim() == 2)
        assert weight is not None
        found.append((passes[case].x.grad, weight.clone()))
    for first, second in zip(*found, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["sizes", "dense"])
def test_sizes_that_have_no_transform(name: str) -> None:
    sizes = {"sizes": [64], "dense": [64]} | {name: [48]}
    with pytest.raises(ValueError, match=f"{name}=48 must be a power of two"):
        TransformCost(kernels.load("numba"), 1, **sizes, repetitions=2)


def test_only_a_count_sketch_has_its_entries_counted() -> None:
    with pytest.raises(TypeError, match="must be a CountSketch"):
        LayerCost(SubsampledHadamard(32, 16), kernels.load("numba"), 1, 12, [10], 2)


# The claims about FIHT beside other decoders reject a broken FIHT, and a peer that has more applications


SENSING = SubsampledHadamard(256, 64, signs=False)


def decoders(recovery: Any) -> list[Any]:
    given = {"k": 11, "noise": 0.05, "applications": [32], "penalties": [0.1]}
    return Decoders(**shared(SENSING, 90), recovery=recovery, **given).run()


def test_fiht_and_a_broken_one() -> None:
    for claim in ("T18-cosamp", "T18-lasso", "T18-omp", "T18-iht"):
        assert verdict(claim, decoders(partial(SmallestKept, stopping="paper", support="padded"))) == "fails", claim
    assert verdict("T18-cosamp", decoders(partial(FIHT, stopping="paper", support="padded"))) == "holds"


def test_a_peer_that_is_given_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """CoSaMP that knows the signals: the criterion must notice that it is better."""
    wanted = {}

    def oracle(phi: Any, y: Any, k: int, applications: int) -> Any:
        return wanted[y.tobytes()]

    original = Decoders._other_estimates

    def stored(task: Any, phi: Any, y: Any, x: Any, budget: int) -> Any:
        wanted.update({measured.tobytes(): signal for measured, signal in zip(y, x, strict=True)})
        return original(task, phi, y, x, budget)

    monkeypatch.setattr(Decoders, "_other_estimates", stored)
    monkeypatch.setattr(peers, "cosamp", oracle)
    assert verdict("T18-cosamp", decoders(FIHT)) == "fails"
