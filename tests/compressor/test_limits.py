"""How many bits, entries and bytes compressors send at a limit, and what they forget."""

import functools
import math

import numpy as np
import pytest
from compressing import LAYOUT

from sketchbench.compressor import traits
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.compressor import Memory
from sketchbench.compressor.message import KEY, WORD, Layout, byte_limit
from sketchbench.compressor.packing import from_bits, to_bits
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.compressor.quantised import QSGD, Float16
from sketchbench.compressor.sketched_memory import FetchSGD
from sketchbench.kernels import Kernels
from sketchbench.sketch import BlockSparseEmbedding
from sketchbench.sketch.family import SizeError

D = 100
fetch_sgd = functools.partial(FetchSGD, family=functools.partial(BlockSparseEmbedding, s=2))


@pytest.mark.parametrize("width", [3, 4, 9, 16])
def test_qsgd_takes_the_most_bits_that_fit(width: int) -> None:
    """w bits of each of 100 entries and the norm; with a byte less, a bit less, below 3 bits three levels."""
    limit = WORD + math.ceil(width * D / 8)
    assert QSGD(Layout(((D,),)), limit).width == width
    assert QSGD(Layout(((D,),)), limit - 1).width == (width - 1 if width > 3 else 0)
    assert QSGD(Layout(((D,),)), 10 * limit).width == 16


def test_half_precision_takes_two_bytes_an_entry() -> None:
    Float16(Layout(((D,),)), WORD + 2 * D)
    with pytest.raises(SizeError, match=f"{WORD + 2 * D} bytes"):
        Float16(Layout(((D,),)), WORD + 2 * D - 1)


@pytest.mark.parametrize("width", [1, 16])
def test_bits_of_the_least_and_the_largest_width(width: int) -> None:
    numbers = np.array([[0, 2**width - 1, 1]], dtype="uint16")
    bits = to_bits(np, numbers, width)
    assert bits.tolist() == [[0] * width + [1] * width + [1] + [0] * (width - 1)]
    assert (from_bits(np, bits, width) == numbers).all()
    for other in (0, 17):
        with pytest.raises(ValueError, match=f"width={other} must be from 1 to 16"):
            to_bits(np, numbers, other)


def test_what_also_fits_the_next_smaller_budget_is_refused_there() -> None:
    """Half precision fits a compression of 1.9, which is the next to 1, but not one of 8."""
    with pytest.raises(SizeError, match=f"sends {WORD + 2 * D} bytes, which fit into 1/1.9 of the dense update"):
        at_budget(Float16, Layout(((D,),)), 1, [8, 1, 1.9])
    assert at_budget(Float16, Layout(((D,),)), 1.9, [8, 1, 1.9]).limit == byte_limit(Layout(((D,),)), 1.9)


def test_a_step_has_a_quarter_as_many_entries_as_its_sketch_has_rows() -> None:
    compressor = fetch_sgd(LAYOUT, byte_limit(LAYOUT, 2))
    assert compressor.k == compressor.sketch_family.b // 4 > 1


def test_momentum_is_below_one() -> None:
    """With a momentum of 1 or more, the sum of all updates would never fade."""
    fetch_sgd(LAYOUT, byte_limit(LAYOUT, 2), momentum=0.999)
    with pytest.raises(ValueError, match="momentum=1"):
        fetch_sgd(LAYOUT, byte_limit(LAYOUT, 2), momentum=1.0)


def test_power_sgd_gets_one_key_for_all_rounds() -> None:
    compressor = PowerSGD(LAYOUT, byte_limit(LAYOUT, 2))
    assert [traits.key_nbytes(compressor, number) for number in range(3)] == [KEY, 0, 0]


def test_only_what_is_forgotten_becomes_zero(kernels: Kernels) -> None:
    """In arrays of one, two and three axes, of which the first are the trials."""
    arrays = [np.arange(1, 1 + 3 * size, dtype="float32").reshape(3, *rest) for size, rest in ((1, ()), (8, (2, 4)))]
    one, three = map(kernels.asarray, arrays)
    left = Memory(one, {"server": three}).forget(kernels.asarray(np.array([False, True, False])), kernels)
    assert kernels.to_numpy(left.clients).tolist() == [1, 0, 3]
    kept = kernels.to_numpy(left.server["server"])
    assert kept.shape == (3, 2, 4)
    np.testing.assert_array_equal(kept, arrays[1] * np.array([1, 0, 1])[:, None, None])
