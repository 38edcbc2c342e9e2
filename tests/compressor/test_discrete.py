"""Sketches in integers: the error without noise, the noise of the sum, sums modulo 2^B, and who takes part."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from compressing import SEED

from sketchbench.compressor.compressor import At
from sketchbench.compressor.discrete import DiscreteSRHT
from sketchbench.compressor.message import Layout, Message
from sketchbench.kernels import Kernels
from sketchbench.privacy import discrete_gaussian, secure_sum
from sketchbench.privacy.secure_sum import SecureSum
from sketchbench.sketch.family import SizeError

D, N, CLIENTS, TRIALS = 100, 128, 5, 400
SUMS = SecureSum(
    clients=CLIENTS, sensitivity=0.1, largest=6.0, rounds=20, rate=0.1, epsilon=1.0, delta=1e-4
)  # of vectors of a norm up to 1


def made(rows: int = 50, bits: int = 16, **settings: Any) -> DiscreteSRHT:
    return DiscreteSRHT(Layout(((D,),)), 4 + math.ceil(rows * bits / 8), bits=bits, **settings)


def updates(seed: int = 3, trials: int = TRIALS) -> np.ndarray:
    """The same unit vectors of the clients in all trials, (T, C, d)."""
    x = np.random.default_rng(seed).standard_normal((1, CLIENTS, D))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    return np.repeat(x, trials, axis=0).astype(np.float32)


def step(compressor: DiscreteSRHT, x: np.ndarray, kernels: Kernels) -> np.ndarray:
    at = At(kernels, SEED, 0, len(x))
    return kernels.to_numpy(compressor.exchange(kernels.asarray(x), compressor.begin(1, 1, kernels), at).step)


@pytest.mark.statistical
@pytest.mark.parametrize("bits", [6, 9, 16])
def test_the_error_is_that_of_srht_and_of_rounding(bits: int, reference: Kernels) -> None:
    """(n - b)/(n - 1) (d - 1)/b ‖x‖², and at most n d γ²/4Cb; at 6 bits the latter is seen. To 5 standard errors."""
    compressor, x = made(bits=bits), updates()
    mean = x[0].mean(axis=0, dtype=np.float64)
    errors = ((step(compressor, x, reference) - mean) ** 2).sum(axis=1)
    b = compressor.family.b
    sketch = (N - b) / (N - 1) * (D - 1) / b * (mean @ mean)
    unit = secure_sum.unit(CLIENTS / N**0.5, 0.0, CLIENTS, secure_sum.reach(bits, b, compressor.wraps))
    rounding = N * D * unit**2 / (4 * CLIENTS * b)
    error = 5 * errors.std() / TRIALS**0.5
    assert sketch - error <= errors.mean() <= sketch + rounding + error
    if bits == 6:
        assert errors.mean() > sketch + rounding / 2


@pytest.mark.statistical
def test_it_is_unbiased_and_needs_both_of_rounding_and_centring(reference: Kernels) -> None:
    x = updates()
    off = step(made(bits=8), x, reference) - x[0].mean(axis=0)
    scores = off.mean(axis=0) / (off.std(axis=0) / TRIALS**0.5)
    assert abs(scores).max() < 5


def excess_noise(bits: int, kernels: Kernels) -> float:
    """The variance of the noise of a sum of zeros over that of the grid, less 1, in standard errors."""
    compressor = made(bits=bits).protect(SUMS)
    assert compressor.grid is not None
    at = At(kernels, SEED, 0, 100)
    x = kernels.asarray(np.zeros((100, CLIENTS, D), dtype=np.float32))
    done = compressor.exchange(x, compressor.begin(1, 1, kernels), at)
    summed = compressor.receive(done.messages[1], at)
    sums = compressor.cells(summed, at, done.replies) * compressor._scale * CLIENTS
    return float(sums.var() / compressor.grid.sigma**2 - 1) / (2 / sums.size) ** 0.5


@pytest.mark.statistical
@pytest.mark.parametrize("bits", [12, 16])
def test_the_noise_of_the_sum_is_what_the_grid_says(bits: int, reference: Kernels) -> None:
    """To 5 standard errors; a client's share is 10."""
    assert abs(excess_noise(bits, reference)) < 5


@pytest.mark.statistical
def test_a_client_without_noise_is_seen(monkeypatch: pytest.MonkeyPatch, reference: Kernels) -> None:
    exact = discrete_gaussian.draw

    def silent(random: np.random.Generator, variance: float, shape: tuple[int, ...]) -> np.ndarray:
        drawn = exact(random, variance, shape)
        drawn[:, 0] = 0
        return drawn

    monkeypatch.setattr(discrete_gaussian, "draw", silent)
    assert excess_noise(16, reference) < -5


def test_a_missing_client_is_refused(reference: Kernels) -> None:
    compressor = made().protect(SUMS)
    with pytest.raises(ValueError, match="4 clients take part, and the noise is shared by 5"):
        step(compressor, updates(trials=2)[:, 1:], reference)


@pytest.mark.parametrize("bits", [8, 11, 16])
def test_sums_wrap_around_and_come_back(bits: int, reference: Kernels) -> None:
    """Integers beyond the range of a message add up modulo 2^B, and the sum is the number next to 0."""
    compressor, half = made(bits=bits), 2 ** (bits - 1)
    b = compressor.family.b
    numbers = np.zeros((1, 3, b), dtype=np.int64)
    numbers[0, :, 0] = [half - 1, half - 1, 5 - 2 * half]
    numbers[0, :, 1] = [-half, -half, half + 7]
    numbers[0, :, 2] = [1, 2, half]
    numbers[0, :, 3] = [half - 1, 0, 0]
    sent = Message({"cells": compressor._pack(numbers, np)})
    summed = compressor._unpack(compressor.receive(sent, At(reference, SEED, 0, 1)).parts["cells"], np)
    assert summed[0, 0, :4].tolist() == [3, 7 - half, 3 - half, half - 1]
    assert sent.nbytes == math.ceil(b * bits / 8)


def largest_error(kernels: Kernels) -> float:
    """The largest squared distance of a step from the mean in 400 rounds."""
    x = updates()
    return float(((step(made(bits=10), x, kernels) - x[0].mean(axis=0)) ** 2).sum(axis=1).max())


def wrapped(kernels: Kernels) -> int:
    """How many rows of sums are beyond the range of 10 bits, of 50 in each of 400 rounds."""
    compressor, x, at = made(bits=10), kernels.asarray(updates()), At(kernels, SEED, 0, TRIALS)
    done = compressor.exchange(x, compressor.begin(1, 1, kernels), at)
    sums = compressor.operators(at).sketch(x.sum(axis=1, keepdims=True)) * compressor._scale / done.replies[0].content
    return int((abs(sums) > 2**9 - CLIENTS).sum())


def test_wraps_are_rare(reference: Kernels) -> None:
    """With a chance of 1e-6 in each of 400 rounds there is none. One row would be off by 2^B γ/C in the mean, and once
    it is scaled by n/b and desketched, the squared error is n d/b² times the square of that."""
    unit = secure_sum.unit(CLIENTS / N**0.5, 0.0, CLIENTS, secure_sum.reach(10, 50, 1e-6))
    assert wrapped(reference) == 0
    assert largest_error(reference) < N * D / 50**2 * (2**10 * unit / CLIENTS) ** 2 / 4


def test_a_grid_too_fine_for_its_bits_wraps_around(monkeypatch: pytest.MonkeyPatch, reference: Kernels) -> None:
    reach = secure_sum.reach
    monkeypatch.setattr(secure_sum, "reach", lambda *given: 10 * reach(*given))
    assert wrapped(reference) > 100


def test_a_server_that_takes_all_integers_for_positive_ones(
    monkeypatch: pytest.MonkeyPatch, reference: Kernels
) -> None:
    sound, unpack = largest_error(reference), DiscreteSRHT._unpack
    monkeypatch.setattr(DiscreteSRHT, "_unpack", lambda self, *given: unpack(self, *given) % 2**self.bits)
    assert largest_error(reference) > 3 * sound


def test_what_a_grid_spends() -> None:
    """The goal after all rounds, with the multiplier of the norm that rounding leaves; more rounds spend more."""
    grid = made().protect(SUMS).grid
    assert grid is not None
    assert 0.99 < grid.spent(SUMS.rounds, SUMS.rate, SUMS.delta) <= SUMS.epsilon
    assert grid.spent(2 * SUMS.rounds, SUMS.rate, SUMS.delta) > SUMS.epsilon
    with pytest.raises(ValueError, match=r"rounds=40000 times beta=5e-09 must be below delta=0\.0001"):
        grid.spent(40_000, SUMS.rate, SUMS.delta)


def test_the_noise_leaves_a_thousandth_of_the_goal_to_sums_that_are_not_discrete_gaussian() -> None:
    """0.999 ε at 0.999 δ exp(-ε/2000), by the Rényi divergences a/2m² of one release, m = σ/Δ. With a δ larger by
    exp(ε/1000), ε is larger by 0.0025; the precision of σ is a tenth of this. β is the other thousandth of δ."""
    sums = SecureSum(clients=5, sensitivity=1.0, largest=5.0, rounds=1, rate=1.0, epsilon=8.0, delta=1e-5)
    grid = secure_sum.fit(sums, rows=50, length=64, bits=24, wraps=1e-6)
    assert grid.beta == pytest.approx(1e-8)
    ratio = (grid.sigma / grid.unit) / grid.changed
    logarithm = math.log(0.999e-5) - 0.004
    spent = min(a / (2 * ratio**2) + math.log1p(-1 / a) - (logarithm + math.log(a)) / (a - 1) for a in range(2, 99))
    assert 0.999 * 8 - 3e-4 < spent <= 0.999 * 8


def test_a_grid_that_forgets_what_rounding_adds_spends_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much more for many rows in few bits, as told by the right norm."""
    coarse = made(rows=100, bits=10)
    assert coarse.protect(SUMS).grid.spent(SUMS.rounds, SUMS.rate, SUMS.delta) <= SUMS.epsilon
    with monkeypatch.context() as broken:
        broken.setattr(secure_sum, "rounded_norm", lambda norm, rows, beta: norm)
        naive = coarse.protect(SUMS).grid
    assert naive.spent(SUMS.rounds, SUMS.rate, SUMS.delta) > 1.1 * SUMS.epsilon


def test_finer_grids_need_less_noise() -> None:
    sigmas = [made(bits=bits).protect(SUMS).grid.sigma for bits in (10, 12, 16)]
    assert sigmas == sorted(sigmas, reverse=True)


def test_too_few_bits_are_refused(reference: Kernels) -> None:
    with pytest.raises(ValueError, match="bits=6 hold no sum of 5 clients with noise for 50 rows"):
        made(bits=6).protect(SUMS)
    with pytest.raises(ValueError, match="bits=3 hold no sum of 5 clients' rounded numbers; use more bits"):
        step(made(bits=3), updates(trials=2), reference)
    with pytest.raises(ValueError, match=r"scale the updates down if the sum of their norms, inf, left float32"):
        step(made(bits=16), np.float32(2.0**126) * updates(trials=2), reference)
    with pytest.raises(SizeError, match="DiscreteSRHT needs 6 bytes"):
        DiscreteSRHT(Layout(((D,),)), 5)


def test_noise_that_is_no_discrete_gaussian_is_refused() -> None:
    """Where hardly any noise is asked for, that of a client is a fraction of a step."""
    loose = dataclasses.replace(SUMS, sensitivity=1e-3, epsilon=500.0, clients=40)
    with pytest.raises(ValueError, match=r"sigma/gamma=.* is so little .* by more bits"):
        made(bits=8).protect(loose)
