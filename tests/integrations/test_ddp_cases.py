"""What is unusual in a training of DistributedDataParallel loses nothing, or ends all processes with one error."""

from pathlib import Path
from typing import Any

import pytest
import torch
from integrations import ddp_cases
from integrations.test_ddp import CLIENTS, start

from sketchbench.integrations.placement import layout_of

ROUNDING = 1e-5


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("cases")
    start([ddp_cases.__file__, str(folder)])
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(CLIENTS)]


def both(found: list[dict[str, Any]], case: str, *path: str) -> list[Any]:
    results = [one[case] for one in found]
    for name in path:
        results = [one[name] for one in results]
    return results


def close(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool((one - other).norm() <= ROUNDING * other.norm())


@pytest.mark.parametrize("how", ["by search", "as views", "power_sgd"])
def test_parameters_that_a_step_does_not_use_lose_nothing(found: list[dict[str, Any]], how: str) -> None:
    """Steps and what is kept add up to the gradients of 20 steps."""
    first, second = both(found, "unused", how)
    whole, kept = ((first[name] + second[name]) / CLIENTS for name in ("whole", "kept"))
    assert close(first["sent"] + kept, whole)
    assert torch.equal(first["sent"], second["sent"])
    assert not close(first["sent"], whole)  # something is kept


def test_a_gradient_that_stays_is_not_kept_twice(found: list[dict[str, Any]]) -> None:
    came, there = (sum(both(found, "unused_with_gradients_that_stay", name)) for name in ("came", "there"))
    assert close(there, came)


def test_static_graphs_go_on_when_ddp_changes_its_buckets(found: list[dict[str, Any]]) -> None:
    first, second = both(found, "static_graph", "steps")
    assert torch.equal(first, second)
    assert bool((first.norm(dim=1) > 0).all())


UNEQUAL = {
    "seed": "their seed: it is 0 in process 0, and 1 in process 1; give all of them the same",
    "compression": "their compression: it is 16.0 in process 0, and 24.0",
    "compressor": "their compressor: it is sketchbench.compressor.sparse.TopK in process 0, and",
    "momentum": "momentum=0.5",
    "family": "family=sketchbench.sketch.sparse.BlockSparseEmbedding(s=2)",
    "function": "BlockSparseEmbedding(s=4)",
    "scaler": "their scaler: it is none in process 0, and given in process 1",
}


@pytest.mark.parametrize("what", UNEQUAL)
def test_unequal_processes_end_with_one_error(found: list[dict[str, Any]], what: str) -> None:
    first, second = both(found, "unequal", what)
    assert first == second
    assert first.startswith("ValueError: processes must share")
    assert UNEQUAL[what] in first
    assert "\n" not in first


REFUSED = {
    "sparse": "TypeError: gradients are sparse and must be dense; make layers such as nn.Embedding with sparse=False",
    "bfloat16": "TypeError: gradients of torch.bfloat16 must be float32; keep the parameters in float32",
    "too small": "SizeError: PowerSGD needs 408 bytes for an update of 473 entries, and may send 126",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_first_step_refuses(found: list[dict[str, Any]], what: str) -> None:
    first, second = both(found, "refused", what)
    assert first == second
    assert first.startswith(REFUSED[what])


def test_a_process_that_cannot_begin_ends_the_others(found: list[dict[str, Any]]) -> None:
    first, second = both(found, "refused", "one process")
    assert first.startswith("ValueError: process 1 of 2 can't begin: PowerSGD needs 408 bytes")
    assert second.startswith("SizeError: PowerSGD needs 408 bytes")
    assert "another one has ended, or doesn't answer" in found[0]["ended"]["error"]


def test_small_buckets_are_joined(found: list[dict[str, Any]]) -> None:
    first, second = both(found, "small_buckets")
    assert len(first["places"]) < first["seen"]
    assert sorted(place for bucket in first["places"] for place in bucket) == list(range(6))
    assert torch.equal(first["step"], second["step"])


CHECKPOINTS = {
    "of 3": "world_size=3 can't go on with world_size=2",
    "sign": "compressor=sketchbench.compressor.sparse.TopK can't go on with compressor=",
    "compression": "compression=4.0 can't go on with compression=8.0",
    "seed": "seed=0 can't go on with seed=1",
    "momentum": "momentum=0.5",
    "older": "compressor=None can't go on",
    "apart": "processes must share their checkpoint: it is of 3 steps",
}


@pytest.mark.parametrize("what", CHECKPOINTS)
def test_a_checkpoint_of_another_training_is_refused(found: list[dict[str, Any]], what: str) -> None:
    for one in both(found, "checkpoints", what):
        assert CHECKPOINTS[what] in one


def test_a_checkpoint_of_another_process_is_refused(found: list[dict[str, Any]]) -> None:
    assert both(found, "checkpoints", "own") == ["", ""]
    first, second = both(found, "checkpoints", "of rank 0")
    assert first == ""
    assert "rank=0 can't go on with rank=1; each process needs its own checkpoint" in second


def test_a_checkpoint_of_another_model_is_refused(found: list[dict[str, Any]]) -> None:
    for one in both(found, "another_model"):
        assert "load it for the same model" in one


@pytest.mark.parametrize("name", ["top_k", "power_sgd", "fetch_sgd", "qsgd"])
def test_a_resumed_run_of_several_buckets_is_the_same_run(found: list[dict[str, Any]], name: str) -> None:
    for one in both(found, "resumed", name):
        assert one["buckets"] > 1
        assert one["sent"][0] == one["sent"][1]
        assert all(torch.equal(a, b) for a, b in zip(one["whole"], one["again"], strict=True))


@pytest.mark.parametrize("name", ["top_k", "fetch_sgd", "power_sgd", "count_sketch", "natural", "qsgd"])
def test_a_step_that_is_not_finite_leaves_nothing(found: list[dict[str, Any]], name: str) -> None:
    """Both processes see it, in all parameters, and go on as if it had not been."""
    for one in both(found, "not_finite", name):
        assert bool(one["bad"].isnan().all())
        assert all(torch.equal(a, b) for a, b in zip(one["means"], one["without"], strict=True))


def test_sums_beyond_float32_are_a_value(found: list[dict[str, Any]]) -> None:
    assert both(found, "overflow", "finite") == [[False, False, True]] * CLIENTS


def test_a_scaler_goes_on(found: list[dict[str, Any]]) -> None:
    """float16 from a scale that overflows; and a scale that changes makes the steps of no scale."""
    first, second = both(found, "scaled")
    assert first["scales"] == second["scales"]
    assert torch.equal(first["weights"], second["weights"])
    assert bool(first["weights"].isfinite().all())
    assert first["scales"][-1] < first["scales"][0]
    for step, plain in first["pairs"]:
        assert close(step, plain)


def test_accumulated_gradients(found: list[dict[str, Any]]) -> None:
    for parts, whole in found[0]["accumulated"]["pairs"]:
        assert close(parts, whole)


def test_bfloat16_trains(found: list[dict[str, Any]]) -> None:
    losses = found[0]["bfloat16"]["losses"]
    assert losses[-1] < losses[0] / 10


def test_memory_formats(found: list[dict[str, Any]]) -> None:
    """A weight is compressed as the matrix that it is in memory."""
    one = found[0]["memory_formats"]
    assert close(one["channels_last"], one["contiguous_format"])
    for step in one["turned"][1:]:
        assert close(step, one["turned"][0])
    weight = torch.zeros(6, 4, 3, 2)
    layout = layout_of([weight, weight.to(memory_format=torch.channels_last), weight[:, :, ::2], torch.zeros(())])
    assert layout.shapes == ((6, 4, 3, 2), (6, 3, 2, 4), (6, 4, 2, 2), ())


def test_processes_with_more_batches(found: list[dict[str, Any]]) -> None:
    first, second = both(found, "joined", "one")
    assert torch.equal(first, second)
    for one in both(found, "joined", "two"):
        assert "a process that has joined early can't know which parameters no process has used" in one


def test_messages_are_under_way_during_the_backward_pass(found: list[dict[str, Any]]) -> None:
    """The messages of all buckets begin before the first is waited for."""
    noted = found[0]["overlap"]["noted"]
    assert noted == ["begin"] * (len(noted) // 2) + ["wait"] * (len(noted) // 2)
    assert len(noted) > 2
