"""Which backend a name stands for."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.kernels import device, launch
from sketchbench.run.signature import signature


def test_names() -> None:
    assert [kernels.load(name).NAME for name in ("numpy", "numba")] == ["numpy", "numba"]


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"kernels=jax is unknown; .* auto, numpy, numba, cupy"):
        kernels.load("jax")


def test_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "device_missing", lambda: "no device today")
    assert kernels.resolve("auto") == "numba"
    with pytest.raises(RuntimeError, match=r"kernels=cupy .* no device today"):
        kernels.load("cupy")


def test_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "device_missing", lambda: None)
    assert kernels.resolve("auto") == "cupy"
    assert kernels.resolve("numba") == "numba"


def test_a_process_looks_for_a_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw with kernels=auto asks, and an answer from the disk takes as long as a short draw."""
    looked: list[str] = []
    monkeypatch.setattr(importlib.util, "find_spec", looked.append)
    for process in (-1, -1, -2):  # a forked child looks again
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        assert "not installed" in (kernels.device_missing() or "")
    assert looked == ["cupy", "cupy"]


# Records of the emulated device say so, and are none of a device


CONFIG = {"task": {"_target_": "sketchbench.task.sketches.norms.Norms"}, "kernels": "cupy", "seed": 1}


@pytest.mark.parametrize(("emulated", "name"), [(True, "cupy-emulated"), (False, "cupy")])
def test_what_records_say(monkeypatch: pytest.MonkeyPatch, emulated: bool, name: str) -> None:
    monkeypatch.setattr(device, "on_emulated_device", lambda: emulated)
    assert device.recorded_name("cupy") == name
    assert [device.recorded_name(other) for other in ("numpy", "numba")] == ["numpy", "numba"]


def test_a_record_of_one_is_not_taken_for_one_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def signatures(kernels: str) -> set[str]:
        made = set()
        for emulated in (True, False):
            monkeypatch.setattr(device, "on_emulated_device", lambda emulated=emulated: emulated)
            made.add(signature({**CONFIG, "kernels": kernels}))
        return made

    assert len(signatures("cupy")) == 2
    assert len(signatures("numba")) == 1


# Every launch of a CUDA kernel is compared with the kernel's declaration: no GPU is needed for that


CODE = """
struct Sign {
    typedef signed char Out;
};
template <class real, int LANES>
__global__ void __launch_bounds__(2048 / sizeof(real), 4)
sum(const real* __restrict__ x HOLDS((operators - 1) * stride + d), i64 stride, i64 operators,
    i64 d, real scale, real* y HOLDS(operators)) {}
template <class real, class Number = int>
__global__ void at(const Number* places HOLDS(k), i64 k) {}
template <class Entry>
__global__ void draw(u64 key, u32* bins HOLDS(blocks / 2 * BINS), typename Entry::Out* out HOLDS(bins)) {}
__global__ void forgotten(int* x) {}
"""


class Array(np.ndarray[Any, Any]):
    """A NumPy array that says which device it is on."""

    device = SimpleNamespace(id=0)


def on_device(shape: Any, dtype: Any, device: int = 0) -> Any:
    array = np.zeros(shape, dtype).view(Array)
    array.device = SimpleNamespace(id=device)
    return array


def launches() -> launch.Launches:
    name = "sum<float, 32>"
    return launch.Launches(name, launch.parameters(CODE, name, {}))


def check(of: launch.Launches, **changed: Any) -> None:
    given = {
        "x": on_device(5, np.float32),
        "stride": 0,
        "operators": 3,
        "d": 5,
        "scale": np.float32(2),
        "y": on_device(3, np.float32),
    }
    assert changed.keys() <= given.keys()
    of.check(1, list({**given, **changed}.values()), 0)


def test_declarations_are_read() -> None:
    x, *numbers, y = launch.parameters(CODE, "sum<double, 1>", {})
    assert [p.name for p in (x, *numbers, y)] == ["x", "stride", "operators", "d", "scale", "y"]
    assert (x.dtype, x.written, y.dtype, y.written) == (np.float64, False, np.float64, True)
    assert [p.dtype for p in numbers] == [np.int64, np.int64, np.int64, np.float64]
    key, bins, out = launch.parameters(CODE, "draw<Sign>", {"BINS": 8})
    assert (key.dtype, bins.dtype, out.dtype) == (np.uint64, np.uint32, np.int8)
    draws = launch.Launches("draw", (key, bins, out))
    draws.check(5, (np.uint64(1), on_device((2, 8), np.uint32), on_device(16, np.int8)), 0)


def test_an_argument_may_have_a_default() -> None:
    for name, dtype in (("at<float>", np.int32), ("at<float, i64>", np.int64)):
        places, _ = launch.parameters(CODE, name, {})
        assert places.dtype == dtype
    with pytest.raises(ValueError, match="argument"):
        launch.parameters(CODE, "at<float, i64, int>", {})


def test_what_the_kernel_reads_is_taken() -> None:
    check(launches())
    check(launches(), x=on_device((3, 5), np.float32), stride=5)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"x": on_device(5, np.float64)}, TypeError, "x must be of float32, not float64"),
        ({"x": on_device(10, np.float32)[::2]}, ValueError, r"x must be contiguous, not of strides \(8,\)"),
        ({"x": on_device(4, np.float32)}, ValueError, "x must have 5 entries, not 4"),
        ({"stride": 5}, ValueError, "x must have 15 entries, not 5"),
        ({"x": on_device(5, np.float32, 1)}, ValueError, "x must be on the current device, 0, not on 1"),
        ({"x": np.zeros(5, np.float32)}, TypeError, "x must be an array of the device, not ndarray"),
        ({"x": 5}, TypeError, "x must be an array of the device, not int"),
        ({"d": -1}, ValueError, "d=-1 must be >= 0"),
        ({"d": 2**63}, ValueError, "d=9223372036854775808 must be >= 0"),
        ({"d": 5.0}, TypeError, "d must be a number of int64, not float"),
        ({"d": np.int32(5)}, TypeError, "d must be a number of int64, not int32"),
        ({"scale": 2.0}, TypeError, "scale must be a number of float32, not float"),
        ({"scale": np.float64(2)}, TypeError, "scale must be a number of float32, not float64"),
    ],
)
def test_what_it_does_not_read_is_refused(changed: dict[str, Any], error: type[Exception], message: str) -> None:
    """First, after a launch that passed, and again."""
    with pytest.raises(error, match=message):
        check(launches(), **changed)
    some = launches()
    check(some)
    for _ in range(2):
        with pytest.raises(error, match=message):
            check(some, **changed)


def test_a_form_that_passed_is_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """But one in which a number has changed that sizes depend on, or the number of blocks."""
    compared: list[int] = []
    monkeypatch.setattr(launch, "_compare", lambda *given: compared.append(given[2]))
    some = launches()
    for scale in (2, 3):
        check(some, scale=np.float32(scale))
    assert compared == [1]
    check(some, x=on_device((1, 5), np.float32))
    assert compared == [1]
    check(some, operators=4)
    check(some, d=True)
    some.check(2, (), 0)
    assert compared == [1, 1, 1, 2]
    monkeypatch.setattr(launch, "_REMEMBERED", 4)
    check(some, d=6)  # too many forms: all are forgotten
    check(some)
    assert compared == [1, 1, 1, 2, 1, 1]


@pytest.mark.parametrize(
    "given", [(3,), (on_device(5, np.float32), 0, 3, 5, np.float32(2), on_device(3, np.float32), 7)]
)
def test_the_number_of_arguments(given: tuple[Any, ...]) -> None:
    some = launches()
    check(some)
    with pytest.raises(TypeError, match=f"takes 6 arguments, not {len(given)}"):
        some.check(1, given, 0)


def test_a_pointer_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match="'int\\* x' is no parameter; a pointer needs HOLDS"):
        launch.parameters(CODE, "forgotten", {})
    with pytest.raises(ValueError, match="no kernel missing"):
        launch.parameters(CODE, "missing<float>", {})


# Keys and generators of named axes


def test_key_has_64_bits() -> None:
    keys = [seeds.key(0, trial=trial) for trial in range(200)]
    assert all(0 <= key < 2**64 for key in keys)
    assert max(keys) >= 2**63
    assert len(set(keys)) == 200


def test_every_part_counts() -> None:
    keys = {
        seeds.key(0, study="a", trial=1),
        seeds.key(1, study="a", trial=1),
        seeds.key(0, study="b", trial=1),
        seeds.key(0, study="a", trial="1"),
        seeds.key(0, trial=1),
        seeds.key(0, kind="a", trial=1),
    }
    assert len(keys) == 6


def test_order_does_not_count() -> None:
    assert seeds.key(3, a=1, b="x") == seeds.key(3, b="x", a=1)


def test_key_is_the_same_everywhere() -> None:
    """A frozen value: another one would silently change every result ever published."""
    assert seeds.key(7, study="moments") == 7488899388451622867


def test_generators() -> None:
    first, again = (seeds.generator(5, data="x").standard_normal(4) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != seeds.generator(5, data="y").standard_normal(4)).all()


def test_negative_root() -> None:
    with pytest.raises(ValueError, match="root seed -1 must be >= 0"):
        seeds.key(-1)


# Kernels in threads, forked children and new processes, under every threading layer of Numba that is installed


SCRIPT = Path(__file__).parent / "in_processes.py"
LIMIT = 300  # seconds; it takes three


def run(layer: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "3", "OMP_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize(
    ("layer", "starts"),
    [
        pytest.param("omp", ["fork", "spawn", "forkserver"], marks=pytest.mark.weekly),
        pytest.param("workqueue", ["fork"], marks=pytest.mark.weekly),
        ("tbb", ["fork"]),
    ],
)
def test_every_layer(layer: str, starts: list[str]) -> None:
    done = run(layer, str(SCRIPT), *starts)
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"Numba's layer {layer} is not installed")
    assert (done.returncode, done.stdout) == (0, f"{layer}\n"), done.stderr


LAYER = """
import multiprocessing, torch
from sketchbench.learning.model.sketched import SketchedLinear
from sketchbench.sketch import SubsampledHadamard

torch.manual_seed(0)
layer, x = SketchedLinear(2048, 256, SubsampledHadamard(2048, 256)), torch.randn(500, 2048)
layer.draw(3)

def outputs(layer):
    layer.zero_grad()
    z = layer(x)
    z.sum().backward()
    return torch.cat([z.flatten(), layer.weight.grad.flatten()]).detach().numpy()

expected = outputs(layer)
with multiprocessing.get_context("fork").Pool(1) as pool:
    (found,) = pool.map(outputs, [layer])
print(torch.allclose(torch.from_numpy(found), torch.from_numpy(expected), rtol=1e-3, atol=1e-3))
"""


def test_a_sketched_layer_in_a_forked_child() -> None:
    done = run("omp", "-c", LAYER)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
