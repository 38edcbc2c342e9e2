"""Which backend a name stands for."""

import pytest

from sketchbench import kernels


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
