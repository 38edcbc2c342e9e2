"""The largest sizes that a family takes, and those far beyond: numbers of 64 bits, or a refusal before an allocation.

Small sizes that a family refuses are in tests/refusal/calls.py.
"""

import dataclasses
import sys
from typing import Any

import numpy as np
import pytest
from configs import NAMES, family
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.kernels import Kernels, numpy_kernels, wide
from sketchbench.sketch import (
    AMS,
    BalancedCountSketch,
    BlockSparseEmbedding,
    CountSketch,
    Identity,
    SparseEmbedding,
    SubsampledCosine,
    SubsampledHadamard,
    UniformSampling,
    sizes,
)

HUGE = [(2**40, 2**40), (2**40, 2**20), (2**40, 4), (12, 2**40), (2**33, 2**32), (2**31 + 1, 2**31 + 1)]


def test_the_largest_sizes() -> None:
    """Each remedy that an error message names works, and so do the largest sizes."""
    assert SparseEmbedding(9, 4).s == 4
    assert BlockSparseEmbedding(9, 8).b == 8
    assert UniformSampling(5, 5).b == 5
    assert SubsampledHadamard(5, 8).n == 8
    assert SubsampledHadamard(5, 9, replacement=True).n == 8
    assert SubsampledCosine(5, 6, replacement=True).n == 5
    assert BalancedCountSketch(10, 4, "paper").remainder == "paper"
    assert Identity(4, 4).d == 4


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=9), st.integers(1, 2**63))
def test_words_times_a_bound(words: list[int], bound: int) -> None:
    found = wide.times_wide(np.array(words, np.uint64), bound)
    assert found.dtype == np.int64
    assert found.tolist() == [word * bound >> 64 for word in words]


@given(st.integers(0, 2**64 - 1), st.integers(2**31 + 1, 2**40), st.integers(1, 70), st.integers(0, 3))
@examples(10)
def test_integers_of_64_bits(kernels: Kernels, key: int, bound: int, count: int, row: int) -> None:
    """They are made of two words each, and a row does not depend on others."""
    found = kernels.to_numpy(kernels.integer_rows(key, 1, 5, 2, row, 2, count, bound))
    assert (found.dtype, found.shape) == (np.int64, (2, 2, count))
    for k in range(2):
        words = kernels.to_numpy(kernels.integer_rows(key, 1, 5, 2, row + k, 1, 2 * count, 2**31))[:, 0]
        upper = words[:, 0::2].astype(object) * bound >> 31  # to the last bit of a word
        assert (np.abs(found[:, k] - upper) <= (bound >> 31) + 1).all()
        assert ((found[:, k] >= 0) & (found[:, k] < bound)).all()
    if not row:
        halves = kernels.to_numpy(kernels.random_words(key, 1, 5, 2, 2 * count)).astype(object)
        assert found[:, 0].tolist() == ((halves[:, 0::2] * 2**32 + halves[:, 1::2]) * bound >> 64).tolist()


@given(st.integers(0, 2**64 - 1), st.integers(2**31 + 1, 2**40), st.integers(1, 5))
@examples(10)
def test_different_rows_of_64_bits(kernels: Kernels, key: int, b: int, s: int) -> None:
    words = kernels.asarray(np.random.default_rng(key).integers(0, 2**64, (2, s, 7), np.uint64))
    words[:, 1:2] = words[:, :1]  # which would be the same row, but for the population's size
    rows = kernels.to_numpy(kernels.distinct(words, b))
    assert rows.dtype == np.int64
    assert ((rows >= 0) & (rows < b)).all()
    assert all(len(set(column)) == s for stack in rows for column in stack.T)


def test_numbers_of_64_bits_in_every_kernel(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give what those of 32 bits give; as if sizes were large, where a kernel chooses them."""
    rng = np.random.default_rng(0)
    T, s, d, b, k, n = 3, 2, 40, 6, 9, 64
    on = kernels.asarray
    buckets, signs = rng.integers(0, b, (T, s, d)), on(rng.choice([-1, 1], (T, s, d)).astype(np.int8))
    x, y = on(rng.standard_normal((T, 2, d))), on(rng.standard_normal((T, 2, b)))
    at, values = np.sort(rng.integers(0, n, (T, 1, k))), rng.standard_normal((T, 2, k))
    v = rng.standard_normal((T, 2, n))

    def results(kind: str) -> list[Any]:
        matrix, places = kernels.prepare(on(buckets.astype(kind)), signs, b), on(at.astype(kind))
        return [
            *(f(matrix, x) for f in (kernels.scatter, kernels.project)),
            *(f(matrix, y) for f in (kernels.gather, kernels.median)),
            kernels.collect(on(v), places),
            kernels.spread(places, on(values), on(v.copy()), keep=True),
            kernels.spread_hadamard(places, on(values), 2.0, on(v.copy())),
            kernels.hadamard_collect(on(v.copy()), places, 2.0),
            kernels.sampled_hadamard(on(v), None, n, places, 2.0, lambda: on(v.copy())),
            kernels.spread_hadamard_collect([(places, on(values))], on(v.copy()), places, 2.0),
        ]

    def chosen() -> list[Any]:
        subsets = [kernels.random_subset(5, 1, 0, 2, 30, population) for population in (99, 70_000)]
        return [*subsets, kernels.largest(on(v[0]), k)]

    narrow, chosen_narrow = results("int32"), chosen()
    for function in (kernels.scatter, kernels.largest, kernels.random_subset, numpy_kernels.smallest):
        monkeypatch.setattr(sys.modules[function.__module__], "index_type", lambda bound: "int64")
    chosen_long = chosen()
    assert {one.dtype.name for one in chosen_long} == {"int64"}
    for one, other in zip((*narrow, *chosen_narrow), (*results("int64"), *chosen_long), strict=True):
        assert np.array_equal(kernels.to_numpy(one), kernels.to_numpy(other))


def test_rows_and_buckets_beyond_32_bits(kernels: Kernels) -> None:
    family = SubsampledHadamard(2**31 + 1, 64, replacement=True, signs=False)
    rows = [family.draw(key, kernels=kernels)._rows for key in range(2)]  # type: ignore[attr-defined]
    columns = [
        f.draw(7, kernels=kernels)._matrix.buckets  # type: ignore[attr-defined]
        for f in (CountSketch(64, 2**32 + 5), SparseEmbedding(16, 2**32 + 5), BlockSparseEmbedding(16, 2**32 + 8))
    ]
    for numbers in map(kernels.to_numpy, (*rows, *columns)):
        assert numbers.dtype == np.int64
        assert 0 <= numbers.min() < 2**30
        assert 2**32 - 2**30 < numbers.max() < 2**32 + 8


@pytest.mark.parametrize("name", NAMES)
def test_sizes_up_to_a_trillion(kernels: Kernels, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A family refuses them, or its operator applies itself to what fits; each refusal says what it cannot have."""
    monkeypatch.setattr(sizes, "free_memory", lambda name: 2**28)
    for d, b in HUGE:
        try:
            sketch = dataclasses.replace(family(name), d=d, b=b).draw(3, kernels=kernels)
        except (sizes.SizeError, MemoryError) as error:
            reason = str(error)
            assert any(part in reason for part in ("GiB", "random words", "hash functions", f"{d}", f"{b}")), reason
            continue
        for method, length in ((sketch.sketch, d), (sketch.desketch, b)):
            if length < 2**20:
                with pytest.raises(MemoryError, match=r"GiB, and 0.25 GiB of memory are free"):
                    method(kernels.xp.ones(length))
        with pytest.raises(MemoryError, match=rf"matrix of shape \(1, {b}, {d}\) takes .* GiB"):
            sketch.materialize()


def test_memory_is_asked_for_first(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 MiB and more, by the family's name."""
    assert sizes.free_memory(kernels.NAME) > 2**27
    sketch = CountSketch(2**25, 4).draw(1, kernels=kernels) if kernels.NAME == "numba" else None
    monkeypatch.setattr(sizes, "free_memory", lambda name: 2**26)
    with pytest.raises(MemoryError, match=r"CountSketch.* can't be drawn for 1 operators: a draw takes"):
        CountSketch(2**25, 4).draw(1, kernels=kernels)
    if sketch is not None:
        with pytest.raises(MemoryError, match=r"an operator with d=33554432, b=4 takes 0.25 GiB, and 0.0625 GiB"):
            sketch.desketch(np.ones(4))
        with pytest.raises(MemoryError, match="an operator with d=33554432, b=4"):
            sketch.sketch_sparse((np.zeros((1, 1), np.int32), np.ones((1, 1))))


def test_hash_functions_end() -> None:
    for make in (lambda d, b: CountSketch(d, b, "polynomial"), lambda d, b: AMS(d, b, "logarithmic")):
        make(2**31 - 1, 8)
        with pytest.raises(sizes.SizeError, match=r"from 2147483647 points .*; set hashing=full, or lower d or b"):
            make(2**31, 8)
    with pytest.raises(sizes.SizeError, match="from 5 to 2147483648"):
        CountSketch(5, 2**31, "polynomial")
