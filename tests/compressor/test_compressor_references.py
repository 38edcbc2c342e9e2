"""Each compressor is the algorithm that it says it is: beside dense code, SciPy's sketch and torch's gradients."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from compressing import CLIENTS, LAYOUT, SEED, TRIALS, exchanged, made, maker, single, updates
from scipy.linalg import clarkson_woodruff_transform

from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.message import Layout
from sketchbench.compressor.quantised import QSGD, Sign
from sketchbench.compressor.sketched_layers import SketchedLayers
from sketchbench.compressor.sketched_memory import CompressedSensing, FetchSGD, SketchedMemory
from sketchbench.kernels import Kernels

ROUNDS = 4


def dense(compressor: SketchedMemory, at: At) -> Any:
    """The operators as matrices (T, b, d)."""
    return compressor.operators(at).materialize()


def medians(matrix: Any, cells: Any) -> Any:
    """CountSketch's estimate of each entry, from the matrix of one trial."""
    found = []
    for column in matrix.T:
        at = np.flatnonzero(column)
        found.append(np.median(cells[at] / column[at]))
    return np.array(found)


def largest(x: Any, k: int) -> Any:
    """x with its k largest entries, of equal ones the first: entries that share a cell have the same estimate."""
    kept = np.zeros_like(x)
    at = np.argsort(-abs(x), kind="stable")[:k]
    kept[at] = x[at]
    return kept


def test_half_precision_is_that_of_numpy(kernels: Kernels) -> None:
    """Of all its numbers up to 1, subnormal ones too, and halfway between them."""
    halves = np.arange(15 * 2**10 + 1, dtype="uint16").view("float16").astype("float32")
    x = np.concatenate([halves, (halves[1:] + halves[:-1]) / 2, -halves])
    compressor = made("float16", 1, Layout(((len(x),),)))
    message, _ = single(compressor, x[None], At(kernels, SEED, 0, 1))
    sent, unit = (kernels.to_numpy(message.parts[name])[0, 0] for name in ("values", "unit"))
    np.testing.assert_array_equal(sent, (x / unit).astype("float16"))


def test_fetch_sgd_is_that_of_ten_dense_lines(kernels: Kernels) -> None:
    compressor = made("fetch_sgd", 4)
    assert isinstance(compressor, FetchSGD)
    compressor = dataclasses.replace(compressor, share=0.25)  # with half of the cells many medians are ties
    rounds = [updates(number) for number in range(ROUNDS)]
    done, at = exchanged(compressor, kernels, rounds)
    matrices = kernels.to_numpy(dense(compressor, at))
    for t, R in enumerate(matrices):
        u = e = np.zeros(len(R))
        for x, one in zip(rounds, done, strict=True):
            u = 0.9 * u + R @ x[t].mean(axis=0)
            e = e + u
            step = largest(medians(R, e), compressor.k)
            hit = R @ step != 0
            u, e = np.where(hit, 0, u), np.where(hit, 0, e)
            np.testing.assert_allclose(kernels.to_numpy(one.step)[t], step, rtol=1e-4, atol=1e-5)


def test_compressed_sensing_is_that_of_ten_dense_lines(kernels: Kernels) -> None:
    """With the median of a CountSketch; tang2021 Algorithm 1."""
    compressor = made("count_sketch_feedback", 4)
    assert isinstance(compressor, CompressedSensing)
    rounds = [updates(number) for number in range(ROUNDS)]
    done, at = exchanged(compressor, kernels, rounds)
    for t, phi in enumerate(kernels.to_numpy(dense(compressor, at))):
        memory = np.zeros(len(phi))
        for x, one in zip(rounds, done, strict=True):
            z = phi @ x[t].mean(axis=0) + memory
            step = largest(medians(phi, z), compressor.k)
            memory = z - phi @ step
            np.testing.assert_allclose(kernels.to_numpy(one.step)[t], step, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(kernels.to_numpy(one.memory.server)[t], memory, rtol=1e-3, atol=1e-4)


def test_what_fiht_did_not_recover_comes_later(kernels: Kernels) -> None:
    """A sparse update, and silence: the steps come nearer to it, by an operator of each trial's own."""
    compressor = made("fiht", 2)
    assert isinstance(compressor, CompressedSensing)
    x = np.zeros((TRIALS, CLIENTS, LAYOUT.d), dtype=np.float32)
    for t in range(TRIALS):  # two places for each trial, shared by its clients
        x[t, :, [5 + t, 60 + 2 * t]] = np.array([[1.0, 2.0], [-3.0, 1.0]])
    done, at = exchanged(compressor, kernels, [x, *[0 * x] * 4])
    steps = np.cumsum([kernels.to_numpy(one.step) for one in done], axis=0)
    off = np.linalg.norm(steps - x.mean(axis=1), axis=-1) / np.linalg.norm(x.mean(axis=1), axis=-1)
    assert (off[0] < 0.2).all()
    assert (off[4] < 0.8 * off[0]).all()
    first, second = kernels.to_numpy(dense(compressor, at))[:2]
    assert not np.array_equal(first, second)


@pytest.mark.statistical
def test_a_count_sketch_is_off_as_far_as_that_of_scipy(reference: Kernels) -> None:
    """Standard errors of both means are 2 %."""
    compressor, draws = made("count_sketch", 4), 400
    x = updates(1, 1, 1)[0, 0]
    at = At(reference, SEED, 0, draws)
    message, _ = single(compressor, np.repeat(x[None], draws, axis=0), at)
    ours = ((compressor.decode(message, at, ())[:, 0] - x) ** 2).sum(axis=1)
    b = message.parts["cells"].shape[-1]
    theirs = []
    for seed in range(draws):
        R = clarkson_woodruff_transform(np.eye(LAYOUT.d), b, rng=np.random.default_rng(seed))
        theirs.append(((R.T @ (R @ x) - x) ** 2).sum())
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.15)


def qsgd(width: int) -> QSGD:
    """With so many bits for an entry; 0: three levels."""
    made = QSGD(layout=LAYOUT, limit=4 + math.ceil((width or 1.6) * LAYOUT.d / 8))
    assert made.width == width
    return made


@pytest.mark.parametrize("width", [0, 3, 5, 8, 11, 16])
def test_qsgd_is_stochastic_rounding(width: int, kernels: Kernels) -> None:
    compressor, x = qsgd(width), updates(2)
    x[0, 0] = 0  # whose norm is 0
    x[1, 1, 1:] = 0  # an entry as large as the norm
    at = At(kernels, SEED, 3, TRIALS)
    sent = compressor.encode(kernels.asarray(x), Memory(), at, ())
    found = kernels.to_numpy(compressor.decode(sent, at, ()))
    s = {0: 1, 3: 3, 5: 15, 8: 127, 11: 1023, 16: 32767}[width]
    for t in range(TRIALS):
        for c in range(CLIENTS):
            norm = np.sqrt((x[t, c].astype(float) ** 2).sum())
            exact = x[t, c].astype(float) * s / (norm or 1)
            levels = found[t, c] * s / (norm or 1)
            np.testing.assert_allclose(levels, levels.round(), atol=0.02)
            assert (levels.round() >= np.floor(exact - 0.01)).all()
            assert (levels.round() <= np.ceil(exact + 0.01)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("width", [0, 3, 8])
def test_the_variance_of_qsgd_is_within_its_bound(width: int, reference: Kernels) -> None:
    """Alistarh et al. 2017, Lemma 3.1; and it is that of independent rounding, to 5 standard errors."""
    compressor, draws = qsgd(width), 2000
    x = updates(3, 1, 1)[0, 0].astype(float)
    at = At(reference, SEED, 0, draws)
    message, _ = single(compressor, np.repeat(x[None].astype(np.float32), draws, axis=0), at)
    off = ((compressor.decode(message, at, ())[:, 0] - x) ** 2).sum(axis=1) / (x**2).sum()
    share = abs(x) / np.sqrt((x**2).sum()) * compressor.s % 1
    exact = (share * (1 - share)).sum() / compressor.s**2
    assert abs(off.mean() - exact) <= 5 * off.std() / draws**0.5
    assert exact <= compressor.variance == min(LAYOUT.d / compressor.s**2, LAYOUT.d**0.5 / compressor.s)


def test_signs_lose_what_the_paper_says(kernels: Kernels) -> None:
    """Karimireddy et al. 2019: C(x) = ‖x‖₁/d sign(x), and ‖C(x) - x‖² = (1 - ‖x‖₁²/(d‖x‖²))‖x‖²."""
    compressor, d = made("sign", 16), LAYOUT.d
    assert isinstance(compressor, Sign)
    x = np.random.default_rng(1).standard_t(2, (TRIALS, d)).astype(np.float32)
    at = At(kernels, SEED, 0, TRIALS)
    message, replies = single(compressor, x, at)
    found = kernels.to_numpy(compressor.decode(message, at, replies))[:, 0]
    sums = abs(x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, sums / d * np.sign(x), rtol=1e-5)
    energy = (x**2).sum(axis=1)
    delta = sums[:, 0] ** 2 / (d * energy)
    np.testing.assert_allclose(((found - x) ** 2).sum(axis=1), (1 - delta) * energy, rtol=1e-4)
    assert (delta >= compressor.contraction).all()


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_16_and_8_bits_are_near_in_every_unit(unit: float, kernels: Kernels) -> None:
    x = (updates(5)[:, 0] * np.float32(unit)).astype(np.float32)
    at = At(kernels, SEED, 0, TRIALS)
    found = {}
    for name in ("float16", "int8"):
        compressor = made(name, 1)
        message, replies = single(compressor, x, at)
        found[name] = kernels.to_numpy(compressor.decode(message, at, replies))[:, 0]
    top = abs(x).max(axis=1, keepdims=True)
    assert (abs(found["float16"] - x) <= 2.0**-11 * abs(x) + 2.0**-24 * top).all()
    assert (abs(found["int8"] - x) <= 1.001 * top / 127).all()


def test_sketched_layers_send_the_gradient_of_the_sketched_network(reference: Kernels) -> None:
    """Torch computes it by the sketched weights W S, and by W through the projection."""
    compressor = made("sketched_layers", 2)
    assert isinstance(compressor, SketchedLayers)
    at = At(reference, SEED, 2, TRIALS)
    projection, *others = traits.projections(compressor, at)
    assert others == [None, None, None]  # the last layer, and biases
    assert projection is not None
    part = compressor.parts[0]
    assert part.family is not None
    operators = part.family.draw(at.key("sketched layers parameter0"), operators=TRIALS, kernels=reference)
    S = torch.as_tensor(operators.materialize().swapaxes(1, 2))
    np.testing.assert_allclose(projection, S @ S.mT, atol=1e-6)
    random = torch.Generator().manual_seed(1)
    x, labels = torch.randn(TRIALS, 6, 12, dtype=torch.float64, generator=random), torch.arange(6) % 4
    shapes = LAYOUT.shapes
    weights = [torch.randn(TRIALS, *shape, dtype=torch.float64, generator=random) for shape in shapes]

    def gradients(first: torch.Tensor, inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        leaves = [one.clone().requires_grad_() for one in (first, *weights[1:])]
        hidden = torch.tanh(inputs @ leaves[0].mT + leaves[1][:, None])
        logits = hidden @ leaves[2].mT + leaves[3][:, None]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.repeat(TRIALS), reduction="sum")
        return torch.autograd.grad(loss, leaves)

    gamma = gradients(weights[0] @ S, x @ S)
    whole = torch.cat([one.flatten(1) for one in gradients(weights[0], x @ S @ S.mT)], dim=1)
    message, replies = single(compressor, whole.numpy().astype(np.float32), at)
    for number, one in enumerate(gamma):
        np.testing.assert_allclose(message.parts[f"parameter{number}"][:, 0], one.flatten(1), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(compressor.decode(message, at, replies)[:, 0], whole, rtol=1e-3, atol=1e-5)


def test_top_k_and_random_k_send_what_they_say(kernels: Kernels) -> None:
    x = updates(7)
    at = At(kernels, SEED, 0, TRIALS)
    top, some = made("top_k", 4), made("random_k", 4)
    sent, drawn = (
        kernels.to_numpy(c.decode(c.encode(kernels.asarray(x), Memory(), at, ()), at, ())) for c in (top, some)
    )
    for t in range(TRIALS):
        for c in range(CLIENTS):
            np.testing.assert_array_equal(sent[t, c], largest(x[t, c], top.k))  # type: ignore[attr-defined]
            at_places = np.flatnonzero(drawn[t, c])
            np.testing.assert_allclose(
                drawn[t, c, at_places], x[t, c, at_places] * LAYOUT.d / len(at_places), rtol=1e-5
            )
            np.testing.assert_array_equal(at_places, np.flatnonzero(drawn[t, 0]))  # the same for all clients


def test_fetch_sgd_refuses_a_sketch_without_cells(reference: Kernels) -> None:
    family = maker("srht").keywords["family"]  # type: ignore[attr-defined]
    wrong = FetchSGD(layout=LAYOUT, limit=100, family=family)
    with pytest.raises(TypeError, match="choose family BlockSparseEmbedding or CountSketch"):
        exchanged(wrong, reference, [updates(1)])
