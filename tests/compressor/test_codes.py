"""What the codes and the other compressors of the field do, beside their papers."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from compressing import CLIENTS, LAYOUT, SEED, TRIALS, exchanged, made, single, updates
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.compressor.buckets import BucketQSGD
from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.message import Layout
from sketchbench.compressor.prefix_codes import (
    decode_gamma,
    decode_rice,
    encode_gamma,
    encode_rice,
    gamma_lengths,
    rice_bits,
)
from sketchbench.compressor.quantised import Natural, Vote
from sketchbench.compressor.shifted import EF21, DIANARandomK, EF21RandomK
from sketchbench.compressor.sparse import CodedTopK, TopK
from sketchbench.kernels import Kernels

ROUNDS = 4


def gamma(number: int) -> int:
    """The length of Elias' code word of a number >= 1, as he writes it: its binary digits after as many zeros less
    one."""
    return 2 * len(f"{number:b}") - 1


@given(levels=st.lists(st.integers(-40_000, 40_000), min_size=1, max_size=60), more=st.lists(st.integers(0, 1)))
def test_signed_integers_come_back(levels: list[int], more: list[int]) -> None:
    """Whatever follows their code, whose length is that of Elias' code words and a sign for others than 0."""
    bits = encode_gamma(np, np.array(levels))
    assert len(bits) == sum(gamma(abs(level) + 1) + (level != 0) for level in levels)
    assert len(bits) == gamma_lengths(np, abs(np.array(levels))).sum()
    padded = np.concatenate([bits, np.array(more, dtype=np.uint8)])
    assert decode_gamma(np, padded, len(levels)).tolist() == levels


@given(places=st.sets(st.integers(0, 5000), min_size=1, max_size=80), width=st.integers(0, 13))
def test_places_come_back(places: set[int], width: int) -> None:
    bits = encode_rice(np, np.array(sorted(places)), width)
    assert len(bits) <= rice_bits(len(places), 5001, width)
    assert decode_rice(np, bits, len(places), width).tolist() == sorted(places)


@given(bits=st.lists(st.integers(0, 1), max_size=60), count=st.integers(1, 20), width=st.integers(0, 9))
def test_what_is_no_code_is_refused_in_one_line(bits: list[int], count: int, width: int) -> None:
    sent, said = np.array(bits, dtype=np.uint8), []
    for decode in (lambda: decode_gamma(np, sent, count), lambda: decode_rice(np, sent, count, width)):
        try:
            assert len(decode()) == count
        except ValueError as error:
            said.append(str(error))
    assert all("invalid code" in one and len(one.splitlines()) == 1 for one in said)


def test_coded_places_leave_room_for_more_entries(reference: Kernels) -> None:
    """The entries are those of Top-K with as many, and the bytes hold them."""
    coded, plain = made("top_k_coded", 7), made("top_k", 7)
    assert isinstance(coded, CodedTopK)
    assert isinstance(plain, TopK)
    assert coded.k > plain.k
    same = TopK(layout=LAYOUT, limit=6 * coded.k)
    x, at = updates(3), At(reference, SEED, 0, TRIALS)
    sent = coded.encode(x, Memory(), at, ())
    assert sent.nbytes <= coded.limit
    assert coded.k == LAYOUT.d or coded._nbytes(coded.k + 1) > coded.limit
    np.testing.assert_array_equal(coded.decode(sent, at, ()), same.decode(same.encode(x, Memory(), at, ()), at, ()))
    large = CodedTopK(layout=Layout(((199_210,),)), limit=199_210 // 16)
    assert large.k > 1.5 * TopK(layout=large.layout, limit=large.limit).k


def buckets(bits: float, d: int = 140, bucket: int = 40) -> BucketQSGD:
    return BucketQSGD(layout=Layout(((d,),)), limit=2 + 4 * -(-d // bucket) + math.ceil(bits * d / 8), bucket=bucket)


@pytest.mark.parametrize("bits", [2.5, 4, 9])
def test_buckets_are_rounded_to_levels_of_their_norms(bits: float, reference: Kernels) -> None:
    compressor, x = buckets(bits), updates(2)
    x[0, 0, :50] = 0  # a bucket of zeros, and part of another
    x[1, 1, 41:80] = 0  # an entry as large as the norm
    at = At(reference, SEED, 3, TRIALS)
    sent = compressor.encode(x, Memory(), at, ())
    assert sent.nbytes <= compressor.limit
    found = compressor.decode(sent, at, ())
    for t, c in np.ndindex(TRIALS, CLIENTS):
        s = float(sent.parts["s"][t, c, 0])
        for first in range(0, 140, 40):
            part, got = x[t, c, first : first + 40].astype(float), found[t, c, first : first + 40]
            norm = np.sqrt((part**2).sum()) or 1.0
            np.testing.assert_allclose(got * s / norm, (got * s / norm).round(), atol=2e-3)
            assert (abs(got - part) <= 1.001 * norm / s).all()


@pytest.mark.statistical
def test_the_variance_of_buckets_is_that_of_rounding(reference: Kernels) -> None:
    """Alistarh et al. 2017, Lemma 3.1, in each bucket; and unbiased, both to 5 standard errors."""
    compressor, draws = buckets(4), 1500
    x = updates(3, 1, 1)[0, 0].astype(float)
    at = At(reference, SEED, 0, draws)
    message, _ = single(compressor, np.repeat(x[None].astype(np.float32), draws, axis=0), at)
    off = compressor.decode(message, at, ())[:, 0] - x
    (s,) = {int(one) for one in message.parts["s"].ravel()}  # the choice doesn't depend on the rounding
    rows = np.concatenate([x, np.zeros(20)]).reshape(4, 40)
    norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    share = abs(rows) / norms * s % 1
    exact = (share * (1 - share) * (norms / s) ** 2).sum()
    squares = (off**2).sum(axis=1)
    assert abs(squares.mean() - exact) <= 5 * squares.std() / draws**0.5
    assert exact <= compressor.variance(s) * (x**2).sum()
    assert (abs(off.mean(axis=0)) <= 5 * off.std(axis=0) / draws**0.5 + 1e-6).all()


def test_ef21_is_that_of_ten_dense_lines(kernels: Kernels) -> None:
    """Richtárik et al. 2021, Algorithm 2."""
    compressor = made("ef21", 7)
    assert isinstance(compressor, EF21)
    rounds = [updates(number) for number in range(ROUNDS)]
    done, _ = exchanged(compressor, kernels, rounds)
    g = np.zeros((TRIALS, CLIENTS, LAYOUT.d), dtype=np.float32)
    for x, one in zip(rounds, done, strict=True):
        off = x - g
        at = np.argsort(-abs(off), axis=2, kind="stable")[..., : compressor.k]
        np.put_along_axis(g, at, np.take_along_axis(x, at, axis=2), axis=2)
        np.testing.assert_allclose(kernels.to_numpy(one.step), g.mean(axis=1), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(kernels.to_numpy(one.memory.clients), -g, rtol=1e-4, atol=1e-5)


def test_ef21_comes_to_a_constant_gradient(reference: Kernels) -> None:
    """G = mean ‖g - x‖² shrinks by 1 - δ or more in a round (Richtárik et al. 2021, Equation 12 without a change)."""
    compressor = made("ef21", 7)
    x = updates(1)
    done, _ = exchanged(compressor, reference, [x] * 8)
    left = [((one.memory.clients + x) ** 2).sum() for one in done]
    assert left[0] <= (1 - compressor.contraction) * (x**2).sum()  # type: ignore[operator]
    for before, after in itertools.pairwise(left):
        assert after <= (1 - compressor.contraction) * before + 1e-5  # type: ignore[operator]


def test_random_places_that_all_share_need_no_client_state(reference: Kernels) -> None:
    """EF21 with Rand-K, its clients' estimates and all, gives the same steps (Richtárik et al. 2021, Algorithm 2)."""
    compressor = made("ef21_random_k", 7)
    assert isinstance(compressor, EF21RandomK)
    rounds = [updates(number) for number in range(ROUNDS)]
    done, _ = exchanged(compressor, reference, rounds)
    assert done[-1].memory.clients is None
    g = np.zeros((TRIALS, CLIENTS, LAYOUT.d))
    for number, (x, one) in enumerate(zip(rounds, done, strict=True)):
        places = compressor.places(At(reference, SEED, number, TRIALS))
        for t in range(TRIALS):
            g[t][:, places[t]] += (x[t] - g[t])[:, places[t]]
        np.testing.assert_allclose(one.step, g.mean(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.statistical
def test_random_places_keep_k_of_d(reference: Kernels) -> None:
    """E‖C(x) - x‖² = (1 - k/d)‖x‖² exactly, for any x (Richtárik et al. 2021); to 5 standard errors."""
    compressor, draws = made("ef21_random_k", 7), 800
    assert isinstance(compressor, EF21RandomK)
    x = np.random.default_rng(4).standard_t(3, LAYOUT.d).astype(np.float32)
    message, _ = single(compressor, np.repeat(x[None], draws, axis=0), At(reference, SEED, 0, draws))
    off = ((compressor.decode(message, At(reference, SEED, 0, draws), ())[:, 0] - x) ** 2).sum(axis=1) / (x @ x)
    assert abs(off.mean() - (1 - compressor.k / LAYOUT.d)) <= 5 * off.std() / draws**0.5


@pytest.mark.statistical
def test_diana_is_unbiased_with_the_variance_of_what_it_has_not_seen(kernels: Kernels) -> None:
    """E step = x and E‖step - x‖² = (d/k - 1)‖x - h‖², exactly, for the mean update x and any h; and ‖x - h‖² goes by
    1 - k/d (Mishchenko et al. 2019); to 5 standard errors, for the h that one round leaves."""
    compressor, draws = made("diana_random_k", 7), 2000
    assert isinstance(compressor, DIANARandomK)
    before, x = (np.random.default_rng(seed).standard_t(3, (2, LAYOUT.d)).astype(np.float32) for seed in (4, 5))
    memory = compressor.begin(draws, 2, kernels)
    for number, clients in enumerate((before, x)):
        h = kernels.to_numpy(memory.server).astype(float)
        given = kernels.asarray(np.repeat(clients[None], draws, axis=0))
        exchange = compressor.exchange(given, memory, At(kernels, SEED, number, draws))
        memory = exchange.memory
    off = kernels.to_numpy(exchange.step) - x.mean(axis=0)
    omega = LAYOUT.d / compressor.k - 1
    assert (abs(off.mean(axis=0)) <= 5 * off.std(axis=0) / draws**0.5 + 1e-6).all()
    size, left = (((one - x.mean(axis=0)) ** 2).sum(axis=1) for one in (h, kernels.to_numpy(memory.server)))
    excess = (off**2).sum(axis=1) - omega * size
    assert abs(excess.mean()) <= 5 * excess.std() / draws**0.5
    shrunk = left - (1 - compressor.k / LAYOUT.d) * size
    assert abs(shrunk.mean()) <= 5 * shrunk.std() / draws**0.5


def test_dianas_first_step_is_rand_ks(reference: Kernels) -> None:
    """Before the server has seen anything; and it ends at a constant update, where Rand-K stays noisy."""
    diana, plain = (made(name, 7) for name in ("diana_random_k", "random_k"))
    x = updates(1)
    steps, _ = exchanged(diana, reference, [x] * 60)
    (first, *_), _ = exchanged(plain, reference, [x])
    np.testing.assert_allclose(steps[0].step, first.step, rtol=1e-5)
    np.testing.assert_allclose(steps[-1].step, x.mean(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.statistical
def test_natural_compression_rounds_to_powers_of_two(kernels: Kernels) -> None:
    """Horváth et al. 2022, Theorem 1: unbiased, a variance of at most 1/8, and 1/8 of 4/3."""
    compressor, draws = Natural(layout=Layout(((64,),)), limit=100), 1000
    x = np.random.default_rng(4).standard_t(3, 64).astype(np.float32)
    x[:4] = 0, 4 / 3, -8 / 3, 2.0**-20
    at = At(kernels, SEED, 0, draws)
    message, replies = single(compressor, np.repeat(x[None], draws, axis=0), at)
    found = kernels.to_numpy(compressor.decode(message, at, replies))[:, 0].astype(float)
    assert message.nbytes == 64 + 8
    nonzero = found[found != 0]
    assert (np.frexp(nonzero)[0] == np.sign(nonzero) / 2).all()
    assert (abs(found) <= 2 * abs(x)).all()
    assert (abs(found) >= abs(x) / 2).all()
    off = found - x
    below = 2.0 ** (np.frexp(abs(x).astype(float))[1] - 1)
    deviation = np.sqrt((abs(x) - below).clip(0) * (2 * below - abs(x)).clip(0))  # of the rounding of each entry
    assert (abs(off.mean(axis=0)) <= 5 * deviation / draws**0.5 + 1e-7).all()
    assert (off**2).sum(axis=1).mean() <= (x.astype(float) ** 2).sum() * compressor.variance
    for place in (1, 2):
        squares = off[:, place] ** 2 / x[place] ** 2
        assert abs(squares.mean() - compressor.variance) <= 5 * squares.std() / draws**0.5 + 1e-3
    np.testing.assert_array_equal(found[:, [0, 3]], np.repeat(x[None, [0, 3]], draws, axis=0))


def test_the_majority_decides(kernels: Kernels) -> None:
    """Bernstein et al. 2018, Algorithm 1; the votes of two clients are often even, and then both signs come up."""
    compressor = made("sign_vote", 16)
    assert isinstance(compressor, Vote)
    for clients in (2, 3):
        x = updates(5, TRIALS, clients)
        (done,), _ = exchanged(compressor, kernels, [x])
        step, votes = kernels.to_numpy(done.step), np.sign(x).sum(axis=1)
        size = abs(x).mean(axis=(1, 2))[:, None]
        np.testing.assert_allclose(abs(step), np.broadcast_to(size, step.shape), rtol=1e-5)
        np.testing.assert_array_equal(np.sign(step)[votes != 0], np.sign(votes[votes != 0]))
        even: Any = np.sign(step)[votes == 0]
        assert (clients == 3 and not len(even)) or {-1, 1} == set(even.tolist())
        assert done.bytes_up == done.bytes_down == 4 + math.ceil(LAYOUT.d / 8)
