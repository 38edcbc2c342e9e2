"""What the order of the numbers in a message tells, against all choices one by one; and compressors that hide it."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sketchbench import kernels
from sketchbench.attack.row_order import Lattice, OrderAttack, public_numbers
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.sketched_memory import CompressedSensing
from sketchbench.compressor.sparse import RandomK, ShuffledRandomK
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.transform import ShuffledHadamard, SubsampledHadamard

KERNELS = kernels.load("numba")
LAYOUT = Layout(((50, 8), (50,)))
TRIALS = 3
RANDOM = np.random.default_rng(0)


def sensing(family: Callable[..., Any], **fields: Any) -> Callable[..., Compressor]:
    def make(layout: Layout, limit: int) -> Compressor:
        return CompressedSensing(layout, limit, lambda d, b: family(d=d, b=b, **fields), recovery=FIHT)

    return make


ORDERED = {"rand-k": RandomK, "fiht": sensing(SubsampledHadamard, signs=False)}
SHUFFLED = {"rand-k": ShuffledRandomK, "fiht": sensing(ShuffledHadamard, signs=False)}
SIGNED = sensing(SubsampledHadamard)


def messages(make: Callable[..., Compressor]) -> tuple[Compressor, At, Any, Any]:
    """A compressor at a quarter of the bytes, a round, updates, and the numbers of their messages."""
    compressor = make(layout=LAYOUT, limit=byte_limit(LAYOUT, 4))
    at = At(KERNELS, 3, 0, TRIALS)
    x = np.random.default_rng(1).standard_normal((TRIALS, 1, LAYOUT.d)).astype("float32")
    exchange = compressor.exchange(x, compressor.begin(TRIALS, 1, KERNELS), at)
    return compressor, at, x, exchange


def places(make: Callable[..., Compressor]) -> list[list[int]]:
    """The places of a message's numbers among the public ones, -1 where there is none."""
    compressor, at, x, exchange = messages(make)
    every = public_numbers(compressor, at)(torch.tensor(x[:, 0])).numpy()
    (seen,) = (part[:, 0] for part in exchange.messages[0].parts.values())
    near = np.abs(every[:, None] - seen[..., None])
    return np.where(near.min(axis=2) < 1e-4, near.argmin(axis=2), -1).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ORDERED)
def test_the_order_is_public_unless_the_key_hides_it(kind: str) -> None:
    for ordered, shuffled in zip(places(ORDERED[kind]), places(SHUFFLED[kind]), strict=True):
        assert ordered == sorted(ordered)
        assert min(ordered) >= 0
        assert min(shuffled) >= 0
        assert np.mean(np.diff(shuffled) > 0) < 0.7


def test_signs_hide_all_numbers() -> None:
    assert np.mean(np.array(places(SIGNED)) < 0) > 0.9


@pytest.mark.parametrize("kind", ORDERED)
def test_an_order_from_the_key_costs_nothing(kind: str) -> None:
    """As many bytes, the same step for the transform, whose rows are the same; Rand-K's step has as many entries."""
    (_, _, _, one), (_, _, _, other) = messages(ORDERED[kind]), messages(SHUFFLED[kind])
    assert (one.bytes_up, one.bytes_down) == (other.bytes_up, other.bytes_down)
    np.testing.assert_allclose(other.step, one.step, rtol=1e-3, atol=1e-4)


def test_no_public_order() -> None:
    compressor, at, *_ = messages(ORDERED["fiht"])
    plain = object.__new__(type(compressor))
    object.__setattr__(plain, "__dict__", {**vars(compressor), "sketch_family": None})
    with pytest.raises(ValueError, match="come in no public order; choose fiht or random_k"):
        public_numbers(plain, at)


@pytest.mark.parametrize("n", [4, 7])
def test_the_posterior_is_that_of_all_choices(n: int) -> None:
    m = 3
    possible = RANDOM.standard_normal((2, n)).astype("float32")
    seen = (possible[:, [0, 2, 3]] + 0.3 * RANDOM.standard_normal((2, m))).astype("float32")
    deviations = RANDOM.uniform(0.4, 0.8, (2, n)).astype("float32")
    found = Lattice(m, n).posterior(seen, possible, deviations)
    for trial in range(2):
        choices = np.array(list(itertools.combinations(range(n), m)))
        chosen = deviations[trial, choices]
        off = (seen[trial] - possible[trial, choices]) / chosen
        likelihoods = (np.exp(-(off**2) / 2) / chosen).prod(axis=1)
        weights, sums = np.zeros(n), np.zeros(n)
        for choice, likelihood in zip(choices, likelihoods / likelihoods.sum(), strict=True):
            weights[choice] += likelihood
            sums[choice] += likelihood * seen[trial]
        np.testing.assert_allclose(found.weights[trial], weights, atol=1e-3)
        np.testing.assert_allclose(found.means[trial] * found.weights[trial], sums, atol=1e-3)
        assert found.log_likelihood[trial] == pytest.approx(np.log(likelihoods.sum()), abs=1e-3)


def test_the_attack_finds_a_line_through_some_of_its_numbers() -> None:
    """Of 40 of 120 numbers, linear in 3 pixels, in their order; and not where the order is another."""
    matrix = torch.randn(120, 3, generator=torch.Generator().manual_seed(1))
    truth = torch.tensor([[0.2, 0.8, 0.5], [0.7, 0.1, 0.4]])
    chosen = np.sort(RANDOM.permutation(120)[:40])
    attack = OrderAttack(passes=15, steps=10, rate=0.1, draws=8, deviation=1, last=0.05)

    def images(z: Tensor) -> Tensor:
        return 0.5 + 0.3 * z

    for order, least in ((chosen, 0.0), (RANDOM.permutation(chosen), 0.1)):
        seen = (truth @ matrix.T)[:, order]
        found = attack.run(seen, lambda x: x @ matrix.T, images, 3, 1)
        error = float((found - truth).abs().max())
        assert least <= error < least + (0.05 if least == 0 else 1)
