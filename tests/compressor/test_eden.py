"""EDEN beside its papers: the levels, the error, the bias, and what one transform does to sparse updates."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from compressing import LAYOUT, SEED, exchanged, made, updates
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from sketchbench.compressor import lloyd_max
from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.eden import EDEN
from sketchbench.compressor.message import Layout
from sketchbench.kernels import Kernels

MAX_1960 = {1: 0.3634, 2: 0.1175, 3: 0.03454, 4: 0.009497}  # Table I; 5 bits: 0.002499
DRAWS = 300


def eden(d: int, bits: float, **settings: Any) -> EDEN:
    """With so many bits for an entry, of one block if d is a power of two."""
    return EDEN(layout=Layout(((d,),)), limit=8 + math.ceil(bits * d / 8), **settings)


def decoded(compressor: EDEN, x: Any, draws: int, kernels: Kernels) -> Any:
    """What the server makes of many messages of x (d,), float64 (draws, d)."""
    at = At(kernels, SEED, 0, draws)
    many = kernels.asarray(np.repeat(x[None, None].astype(np.float32), draws, axis=0))
    found = compressor.decode(compressor.encode(many, Memory(), at, ()), at, ())
    return kernels.to_numpy(found)[:, 0].astype(np.float64)


@pytest.mark.parametrize("bits", range(1, lloyd_max.MOST_BITS + 1))
def test_levels_are_the_means_of_their_numbers(bits: int) -> None:
    levels = lloyd_max.levels(bits)
    edges = [-np.inf, *(levels[1:] + levels[:-1]) / 2, np.inf]
    for level, low, high in list(zip(levels, edges, edges[1:], strict=False))[:: max(1, 2**bits // 8)]:
        assert level == pytest.approx(stats.truncnorm.mean(low, high), abs=1e-9)
    lost = sum(
        integrate.quad(lambda z, c=c: (z - c) ** 2 * stats.norm.pdf(z), low, high)[0]
        for c, low, high in zip(levels, edges, edges[1:], strict=False)
        if bits <= 4
    )
    if bits in MAX_1960:
        assert lloyd_max.distortion(bits) == pytest.approx(lost, rel=1e-6)
        assert lloyd_max.distortion(bits) == pytest.approx(MAX_1960[bits], rel=1e-3)
    assert lloyd_max.distortion(bits) < math.sqrt(3) * math.pi / 2 / 4**bits  # Panter & Dite 1951: in the limit equal


@pytest.mark.parametrize("bits", [-1, 9])
def test_other_numbers_of_bits_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 8"):
        lloyd_max.levels(bits)


@given(data=st.data(), d=st.integers(1, 90), limit=st.integers(14, 400))
def test_the_part_along_the_update_is_the_update(data: st.DataObject, d: int, limit: int, reference: Kernels) -> None:
    """In every draw, for any update of a single block; if nothing of it was sent, the message is 0."""
    d = min(d, 32)
    x = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=d, max_size=d)), dtype=np.float32)
    found = decoded(EDEN(layout=Layout(((d,),)), limit=limit), x, 3, reference)
    along, length = found @ x.astype(np.float64), float(x @ x)
    assert all(one == pytest.approx(length, rel=1e-4) or not row.any() for one, row in zip(along, found, strict=True))


@pytest.mark.statistical
@pytest.mark.parametrize("bits", [0.5, 1, 1.5, 2, 4, 8])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_error_is_that_of_the_levels(bits: float, sparse: bool, reference: Kernels) -> None:
    """1/(1 - D) - 1 for every update (Vargaftik et al. 2022, Theorem 2.3), to 5 standard errors and the 1/d in which
    directions differ from normal vectors; EDEN with half a bit less is off."""
    d = 1024
    x = np.zeros(d)
    x[: 3 if sparse else d] = np.random.default_rng(2).standard_t(3, 3 if sparse else d)
    compressor = eden(d, bits)
    off = ((decoded(compressor, x, DRAWS, reference) - x) ** 2).sum(axis=1) / (x @ x)
    allowed = 5 * off.std() / DRAWS**0.5 + 4 * compressor.variance / d
    assert abs(off.mean() - compressor.variance) <= allowed
    assert eden(d, bits - 0.3).variance - compressor.variance > 2 * allowed


@pytest.mark.statistical
def test_two_transforms_have_no_bias_and_one_has(reference: Kernels) -> None:
    """Of (2, 1, 0, ...): one transform sends signs of the 2 alone. The mean of others is within 5 standard errors."""
    x = np.zeros(1024)
    x[:2] = 2, 1
    one = decoded(eden(1024, 1, rotations=1), x, 20, reference)
    np.testing.assert_allclose(one, np.repeat([[2.5, *np.zeros(1023)]], 20, axis=0), atol=1e-5)
    off = decoded(eden(1024, 1), x, DRAWS, reference)[:, :2] - x[:2]
    assert (abs(off.mean(axis=0)) <= 5 * off.std(axis=0) / DRAWS**0.5).all()


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "rotations", "left"), [(1024, 2, math.sqrt(2 / math.pi / 1024)), (1024, 3, 0.0)])
def test_bias_that_one_large_entry_leaves(n: int, rotations: int, left: float, reference: Kernels) -> None:
    """It makes some entries of two rotations 0, so that a thousandth beside it decides their signs alone. To 5 standard
    errors, and a tenth of the share √(2/πn) of the update."""
    x, draws = np.zeros(n), 10 * DRAWS
    x[:2] = 1, 1e-3
    off = decoded(eden(n, 1, rotations=rotations), x, draws, reference)[:, 1] - x[1]
    assert abs(off.mean() - left) <= 5 * off.std() / draws**0.5 + 0.1 * math.sqrt(2 / math.pi / n)


@pytest.mark.statistical
def test_errors_of_clients_average_out(reference: Kernels) -> None:
    """Ten clients with one update: a tenth of the error of one; and with one rotation for all, all of it."""
    d, clients = 1024, 10
    x = np.random.default_rng(3).standard_normal((1, 1, d), dtype=np.float32)
    compressor, trials = eden(d, 1), 40
    (done,), _ = exchanged(compressor, reference, [np.tile(x, (trials, clients, 1))])
    off = ((done.step - x[0]) ** 2).sum(axis=1) / float((x**2).sum())
    wanted = compressor.variance / clients
    assert abs(off.mean() - wanted) <= 5 * off.std() / trials**0.5 + 4 * wanted / d
    assert off.max() < compressor.variance / 2


@given(d=st.integers(1, 400_000), spare=st.integers(0, 2_000_000))
def test_blocks_cover_the_update_within_the_limit(d: int, spare: int) -> None:
    least = EDEN(layout=Layout(((d,),)), limit=10_000)._lengths
    limit = 4 + 5 * len(least) + spare
    blocks = EDEN(layout=Layout(((d,),)), limit=limit).blocks
    assert [block.start for block in blocks] == [0, *(block.stop for block in blocks[:-1])]
    assert blocks[-1].stop == d
    assert sum(block.n for block in blocks) < max(32, 1.02 * d) + 32
    assert all(1 <= block.nbytes <= block.n for block in blocks)
    assert 4 + sum(4 + block.nbytes for block in blocks) <= limit
    assert all(bits <= 8 and (stop - start) % 8 == 0 for block in blocks for start, stop, bits in block.parts)


def test_a_message_is_read_by_a_server_that_never_saw_the_client(reference: Kernels) -> None:
    """From its bytes, by another instance in another round, which has no key."""
    compressor = made("eden", 7)
    at = At(reference, SEED, 3, 3)
    sent = compressor.encode(updates(1), Memory(), at, ())
    there = dataclasses.replace(compressor)
    elsewhere = At(reference, SEED + 1, 9, 3)
    np.testing.assert_array_equal(there.decode(sent, elsewhere, ()), compressor.decode(sent, at, ()))
    assert sent.nbytes <= compressor.limit < LAYOUT.nbytes / 6
