"""Two processes of DistributedDataParallel do what two clients of a simulated round do."""

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from integrations import distributed, simulated
from integrations.distributed import COMPRESSION, DENSE_STEPS, SEED, SEEDS, STEPS, STOP, gradient, move, network
from integrations.simulated import NAMES
from scipy import stats

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.compressor import traits
from sketchbench.compressor.message import Layout
from sketchbench.integrations.ddp import CompressedGradients
from sketchbench.integrations.method import for_layouts

CLIENTS = 2
FLAGS = 3  # bytes that end a compressed step
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(CLIENTS)]
ROOT = Path(__file__).parents[2]
# As Snakemake starts jobs: else Numba compiles a second version of what is called, for threads, and OpenMP's threads,
# which torch shares, wait for each other in both processes, longer than they work.
ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ddp")
    start([distributed.__file__, str(folder), *NAMES])
    return folder


def start(program: list[str]) -> str:
    environment = {**os.environ, **ONE_THREAD}
    done = subprocess.run([*TORCHRUN, *program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def found(folder: Path) -> list[dict[str, Any]]:
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(CLIENTS)]


class Training:
    def __init__(self, name: str, order: list[int]) -> None:
        self.model = network()
        shapes = [tuple(parameter.shape) for parameter in self.model.parameters()]
        layout = Layout(tuple(shapes[place] for place in order))
        self.order, self.round, self.sent = order, 0, 4 * layout.d
        compressor = for_layouts(name, COMPRESSION.get(name, 4), SEED)(layout)
        self.rounds = simulated.Simulated(compressor, seeds.key(SEED, bucket=0), CLIENTS)

    def step(self, number: int, *, dense: bool) -> list[torch.Tensor]:
        each = [gradient(self.model, rank, number) for rank in range(CLIENTS)]
        flat = [torch.cat([one[place].reshape(-1) for place in self.order]).numpy() for one in each]
        mean = (flat[0] + flat[1]) / 2
        if not dense:
            done = self.rounds.exchange(np.stack(flat), self.round)
            self.round, mean = self.round + 1, done.step[0]
            self.sent += done.bytes_up
        parts = torch.from_numpy(mean).split([each[0][place].numel() for place in self.order])
        means = dict(zip(self.order, parts, strict=True))
        shaped = [means[place].reshape(one.shape) for place, one in enumerate(each[0])]
        move(self.model, shaped)
        return shaped


def assert_close(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    scale = max(float(one.abs().max()) for one in ours)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_a_simulated_round(found: list[dict[str, Any]], name: str) -> None:
    """To rounding; messages that add up are summed, others gathered, with the bytes that the round states."""
    first, second = (one[name] for one in found)
    training = Training(name, first["order"])
    for number, mean in enumerate(first["means"]):
        assert_close(training.step(number, dense=number == 0), mean)
    for one, other in zip(first["means"], second["means"], strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))  # all processes make the same step
    compressed = STEPS - DENSE_STEPS
    assert first["sent"] == first["counted"] == training.sent + FLAGS * compressed
    compressor = training.rounds.compressor
    summed = compressor.adds_up and not isinstance(compressor, traits.Modular)
    count = compressed * traits.phases(compressor)
    assert first["calls"] == ["all_reduce"] * (compressed + count * summed) + ["all_gather"] * (count * (not summed))


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_goes_on(found: list[dict[str, Any]], name: str) -> None:
    """The resumed run is the same run, bit for bit."""
    first = found[0][name]
    for one, other in zip(first["means"][STOP:], first["again"], strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert first["counted_again"] == first["counted"]


def test_compressors_differ(found: list[dict[str, Any]]) -> None:
    last = {name: torch.cat([one.reshape(-1) for one in found[0][name]["means"][-1]]) for name in NAMES}
    whole = last.pop("none")
    assert all(float((one - whole).abs().max()) > 1e-4 * float(whole.abs().max()) for one in last.values())


@pytest.mark.statistical
def test_power_sgd_has_the_curve_of_torch_s_hook(folder: Path) -> None:
    """Mean loss within the 99.9 % interval of paired differences, which leaves out torch's hook without feedback."""
    curves = {name: np.array(one).mean(axis=1) for name, one in torch.load(folder / "curves0.pt").items()}
    reach = stats.t.ppf(0.9995, SEEDS - 1) / math.sqrt(SEEDS)
    ours, without = (curves[name] - curves["torch"] for name in ("ours", "torch without feedback"))
    assert abs(ours.mean()) <= reach * ours.std(ddof=1)
    assert without.mean() - reach * without.std(ddof=1) > abs(ours.mean()) + reach * ours.std(ddof=1)


@pytest.mark.weekly
def test_the_training_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    page = (ROOT / "docs" / "howto" / "torch.md").read_text(encoding="utf-8")
    (tmp_path / "mine" / "train.py").write_text(page.split("```python\n")[1].split("```")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = start(["mine/train.py"])
    loss, sent, whole = re.fullmatch(r"loss ([\d.]+); (\d+) bytes sent of (\d+)\n", said).groups()
    assert float(loss) < 0.4
    assert int(sent) < int(whole) / 10
    assert (tmp_path / "mine" / "1.pt").exists()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A group of this process alone, by NCCL where torch has a device."""
    backend, store = "nccl" if torch.cuda.is_available() else "gloo", tmp_path_factory.mktemp("alone") / "store"
    dist.init_process_group(backend, init_method=f"file://{store}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class OneBucket:
    """All gradients of a step, as DDP hands them to a hook."""

    def __init__(self, parameters: list[torch.Tensor], gradient: torch.Tensor) -> None:
        self.parameters, self.buffer = lambda: parameters, lambda: gradient
        self.index, self.is_last = lambda: 0, lambda: True


@pytest.mark.gpu
@pytest.mark.skipif(kernels.device_missing() is not None, reason=str(kernels.device_missing()))
@pytest.mark.parametrize("name", NAMES)
def test_a_device_makes_the_steps_of_a_processor(alone: None, name: str) -> None:
    """From the gradients of one process, to rounding; also from a checkpoint, which either can go on from."""
    parameters = [torch.zeros(shape, device="cuda") for shape in ((12, 20), (12,), (5, 12), (5,))]
    state = CompressedGradients(name, compression=COMPRESSION.get(name, 4), seed=SEED)
    layout = Layout(((12, 20), (12,), (5, 12), (5,)))
    compressor = for_layouts(name, COMPRESSION.get(name, 4), SEED)(layout)
    simulated_rounds = simulated.Simulated(compressor, seeds.key(SEED, bucket=0), 1)
    for step in range(4):
        if step == 2:
            kept, state = state.state_dict(), CompressedGradients(name, compression=state.compression, seed=SEED)
            state.load_state_dict(kept)
        own = np.random.default_rng(step).standard_normal(layout.d).astype(np.float32) ** 3
        made = state.take(OneBucket(parameters, torch.from_numpy(own).to("cuda"))).wait()
        assert made.is_cuda
        expected = simulated_rounds.exchange(own[None], step - 1).step[0] if step else own
        assert_close([torch.from_numpy(expected)], [made.cpu()])


def test_what_cannot_be_a_hook() -> None:
    with pytest.raises(ValueError, match="compressor=tpo_k is unknown; choose one of count_sketch"):
        CompressedGradients("tpo_k", compression=4)
    with pytest.raises(ValueError, match="compression=0"):
        CompressedGradients("top_k", compression=0)
    with pytest.raises(ValueError, match="root seed -1"):
        CompressedGradients("top_k", compression=4, seed=-1)
    state = CompressedGradients("top_k", compression=4)
    with pytest.raises(ValueError, match="seed=1 can't go on with seed=0"):
        state.load_state_dict({**state.state_dict(), "seed": 1})
