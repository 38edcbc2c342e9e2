"""Philox4x32-10 against the Random123 distribution, and where each word goes."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from sketchbench.kernels import Kernels, numba_kernels
from sketchbench.kernels.numpy_kernels import philox

# Random123 1.14, tests/kat_vectors: counter (4 words), key (2 words), result (4 words).
KNOWN = [
    ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
KEY = 0x299F31D0_A4093822  # the third vector's: the low word first


def numbers(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def words(i: int, row: int, t: int, stream: int, key: int = KEY) -> list[int]:
    return [int(word) for word in philox((i, row, t, stream), key)]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter: str, key: str, result: str) -> None:
    low, high = numbers(key)
    i, row, t, stream = numbers(counter)
    assert words(i, row, t, stream, high << 32 | low) == numbers(result)


def test_word_i_of_operator_t(kernels: Kernels) -> None:
    """Word i is word i % 4 of counter (i // 4, 0, first + t, stream)."""
    drawn = kernels.to_numpy(kernels.random_words(KEY, 0x03707344, 0x13198A2E, 3, 10))
    expected = [[words(i // 4, 0, 0x13198A2E + t, 0x03707344)[i % 4] for i in range(10)] for t in range(3)]
    assert drawn.tolist() == expected


def test_bit_of_a_sign(kernels: Kernels) -> None:
    """Sign i of a row is bit i % 32 of word i // 32, words as above with the row in the counter."""
    row, first, stream = 0x85A308D3, 0x13198A2E, 0x03707344
    signs = kernels.to_numpy(kernels.sign_rows(KEY, stream, first, 2, row, 2, 200))
    for t in range(2):
        for k in range(2):
            bits = [words(i // 128, row + k, first + t, stream)[i // 32 % 4] >> i % 32 & 1 for i in range(200)]
            assert signs[t, k].tolist() == [2 * bit - 1 for bit in bits]


def test_word_of_an_integer(kernels: Kernels) -> None:
    row, first, stream = 0x85A308D3, 0x13198A2E, 0x03707344
    drawn = kernels.to_numpy(kernels.integer_rows(KEY, stream, first, 2, row, 2, 9, 1000))
    for t in range(2):
        for k in range(2):
            expected = [words(i // 4, row + k, first + t, stream)[i % 4] * 1000 >> 32 for i in range(9)]
            assert drawn[t, k].tolist() == expected


def test_word_of_a_normal(kernels: Kernels) -> None:
    row, first, stream = 0x85A308D3, 0x13198A2E, 0x03707344
    normals = kernels.to_numpy(kernels.gaussian_rows(KEY, stream, first, 2, row, 2, 9))
    for t in range(2):
        for k in range(2):
            expected = [words(i // 4, row + k, first + t, stream)[i % 4] for i in range(9)]
            np.testing.assert_allclose(ndtr(normals[t, k]) * 2**32 - 0.5, expected, atol=1e-2)


# The normal quantile of the Numba kernels, out to where a 32-bit word can reach


TAILS = np.geomspace(2.0**-33, 0.0749, 500)
CENTRES = np.concatenate([np.linspace(-0.425, 0.425, 501), [2.0**-33, -(2.0**-33)]])


def test_outer() -> None:
    values = [numba_kernels._outer(p) for p in TAILS]
    np.testing.assert_allclose(values, -ndtri(TAILS), rtol=1e-14)


def test_central() -> None:
    values = [numba_kernels._central(q) for q in CENTRES]
    np.testing.assert_allclose(values, ndtri(0.5 + CENTRES), rtol=1e-13, atol=1e-15)
