"""Every launch of a CUDA kernel is compared with the kernel's declaration: no GPU is needed for that."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sketchbench.kernels import launch

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


def check(**changed: Any) -> None:
    """Launch `sum`, of 3 operators that share 5 entries, with some arguments changed."""
    given = {
        "x": on_device(5, np.float32),
        "stride": 0,
        "operators": 3,
        "d": 5,
        "scale": np.float32(2),
        "y": on_device(3, np.float32),
    }
    assert changed.keys() <= given.keys()
    name = "sum<float, 32>"
    launch.check(name, launch.parameters(CODE, name, {}), 1, list({**given, **changed}.values()), 0)


def test_declarations_are_read() -> None:
    x, *numbers, y = launch.parameters(CODE, "sum<double, 1>", {})
    assert [p.name for p in (x, *numbers, y)] == ["x", "stride", "operators", "d", "scale", "y"]
    assert (x.dtype, x.written, y.dtype, y.written) == (np.float64, False, np.float64, True)
    assert [p.dtype for p in numbers] == [np.int64, np.int64, np.int64, np.float64]
    key, bins, out = launch.parameters(CODE, "draw<Sign>", {"BINS": 8})
    assert (key.dtype, bins.dtype, out.dtype) == (np.uint64, np.uint32, np.int8)
    launch.check("draw", (key, bins, out), 5, (np.uint64(1), on_device((2, 8), np.uint32), on_device(16, np.int8)), 0)


def test_an_argument_may_have_a_default() -> None:
    for name, dtype in (("at<float>", np.int32), ("at<float, i64>", np.int64)):
        places, _ = launch.parameters(CODE, name, {})
        assert places.dtype == dtype
    with pytest.raises(ValueError, match="argument"):
        launch.parameters(CODE, "at<float, i64, int>", {})


def test_what_the_kernel_reads_is_taken() -> None:
    check()
    check(x=on_device((3, 5), np.float32), stride=5)


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
    with pytest.raises(error, match=message):
        check(**changed)


def test_the_number_of_arguments() -> None:
    with pytest.raises(TypeError, match="takes 6 arguments, not 1"):
        launch.check("sum<float, 1>", launch.parameters(CODE, "sum<float, 1>", {}), 1, (3,), 0)


def test_a_pointer_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match="'int\\* x' is no parameter; a pointer needs HOLDS"):
        launch.parameters(CODE, "forgotten", {})
    with pytest.raises(ValueError, match="no kernel missing"):
        launch.parameters(CODE, "missing<float>", {})
