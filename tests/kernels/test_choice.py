"""Which backend a name stands for."""

import importlib.util
import os

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


def test_a_process_looks_for_a_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw with kernels=auto asks, and an answer from the disk takes as long as a short draw."""
    looked: list[str] = []
    monkeypatch.setattr(importlib.util, "find_spec", looked.append)
    for process in (-1, -1, -2):  # a forked child looks again
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        assert "not installed" in (kernels.device_missing() or "")
    assert looked == ["cupy", "cupy"]
