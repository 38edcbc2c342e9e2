"""How many CUDA kernels a call launches, which bounds its time on short vectors; and results in every branch of it."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import sketchbench as sb
from sketchbench import kernels as backends
from sketchbench.kernels import Kernels

_MISSING = backends.device_missing()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture
def device() -> Kernels:
    return backends.load("cupy")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, device: Kernels) -> Counter[str]:
    """The launches of the project's kernels, by name, while a test runs."""
    launches: Counter[str] = Counter()
    module: Any = device
    run = module._run

    def counted(name: str, *arguments: Any, **options: Any) -> None:
        launches[name.partition("<")[0]] += 1
        run(name, *arguments, **options)

    monkeypatch.setattr(module, "_run", counted)
    return launches


@DTYPES
@pytest.mark.parametrize(("rows", "d", "k"), [(1, 40, 7), (3, 9000, 500), (2, 20_000, 20_000)])
def test_top_k_takes_three_launches(
    device: Kernels, reference: Kernels, launched: Counter[str], dtype: Any, rows: int, d: int, k: int
) -> None:
    x = np.random.default_rng(d).standard_normal((rows, d)).astype(dtype)
    found = device.to_numpy(device.largest(device.asarray(x), k))
    np.testing.assert_array_equal(found, reference.largest(x, k))
    assert launched == {"histogram": 1, "settle": 1, "compact": 1}


@DTYPES
@pytest.mark.parametrize("kind", ["normal", "rounded", "few values", "all magnitudes"])
def test_top_k_of_long_rows_looks_at_no_candidates(
    monkeypatch: pytest.MonkeyPatch, device: Kernels, reference: Kernels, launched: Counter[str], dtype: Any, kind: str
) -> None:
    """Rows of more than 2^22 entries, and here of more than 2^11: thirteen bits of magnitudes for a launch."""
    monkeypatch.setattr(device, "_SPANS", 2)
    rng = np.random.default_rng(8)
    x = rng.standard_normal((2, 9000))
    x = {"rounded": np.round(x), "few values": x > 2, "all magnitudes": x * np.exp(9 * x)}.get(kind, x).astype(dtype)
    found = device.to_numpy(device.largest(device.asarray(x), 700))
    np.testing.assert_array_equal(found, reference.largest(x, 700))
    assert launched == {"histogram": 3 if dtype == np.float32 else 5, "settle": 1, "compact": 1}


@DTYPES
@pytest.mark.parametrize("d", [100, 50_000])
def test_inner_products_take_one_launch(
    device: Kernels, reference: Kernels, launched: Counter[str], dtype: Any, d: int
) -> None:
    u, v = np.random.default_rng(d).uniform(0, 1, (2, 3, d)).astype(dtype)
    found = device.to_numpy(device.inner(device.asarray(u), device.asarray(v)))
    np.testing.assert_allclose(found, reference.inner(u, v), rtol=100 * np.finfo(dtype).eps)
    assert launched == {"inner": 1}


@pytest.mark.parametrize("mean", range(1, 65))
def test_buckets_of_every_number_of_entries(device: Kernels, launched: Counter[str], mean: int) -> None:
    """By 1 to 32 threads each, of which the last warp has some that belong to no bucket; 0 leaves an entry out."""
    rng = np.random.default_rng(mean)
    b = 37
    buckets = rng.integers(0, b, (2, 1, mean * b), dtype=np.int32)
    signs = rng.integers(-1, 2, (2, 1, mean * b), dtype=np.int8)
    x = rng.standard_normal((2, 1, mean * b))
    matrix = device.prepare(device.asarray(buckets), device.asarray(signs), b)
    found = device.to_numpy(device.scatter(matrix, device.asarray(x)))[:, 0]
    for t in range(2):
        wanted = np.bincount(buckets[t, 0], signs[t, 0] * x[t, 0], b)
        np.testing.assert_allclose(found[t], wanted, rtol=0, atol=1e-12)
    assert launched == {"scatter": 1}


def test_a_draw_for_many_operators_and_vectors_is_one_launch_each(device: Kernels, launched: Counter[str]) -> None:
    x = device.asarray(np.random.default_rng(3).standard_normal((5, 4, 300)))
    for family, applied in (
        (sb.CountSketch(300, 32), {"scatter": 1}),
        (sb.SubsampledHadamard(300, 32), {"hadamard": 1, "collect": 1}),
        (sb.UniformSampling(300, 32), {"collect": 1}),
    ):
        stack = family.draw(1, operators=5, kernels=device)
        launched.clear()
        whole = device.to_numpy(stack.sketch(x))
        assert launched == applied
        for t in range(5):
            one = family.draw(1, first=t, kernels=device)
            np.testing.assert_array_equal(device.to_numpy(one.sketch(x[t])), whole[t])


def test_an_iteration_of_fiht(device: Kernels, launched: Counter[str]) -> None:
    """33 launches, for four signals as for one, since they fit into one block of the recovery; a transform is longer if
    it exceeds a tile."""
    counts = []
    for signals in (1, 4):
        for iterations in (2, 3):
            phi = sb.SubsampledHadamard(512, 128, signs=False).draw(1, kernels=device)
            x = np.random.default_rng(0).standard_normal((signals, 512))
            y = phi.sketch(device.asarray(x))
            launched.clear()
            sb.FIHT(20, iterations=iterations).recover(phi, y)
            counts.append(launched.copy())
    assert counts[:2] == counts[2:]
    transforms = {"hadamard": 5, "spread": 8, "collect": 7}
    assert counts[1] - counts[0] == {**transforms, "inner": 10, "histogram": 1, "settle": 1, "compact": 1}
