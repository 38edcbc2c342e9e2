"""Keys and generators of named axes."""

import numpy as np
import pytest

from sketchbench.base import seeds


def test_key_has_64_bits() -> None:
    keys = [seeds.key(0, trial=trial) for trial in range(200)]
    assert all(0 <= key < 2**64 for key in keys)
    assert max(keys) >= 2**63
    assert len(set(keys)) == 200


def test_every_part_counts() -> None:
    keys = {
        seeds.key(0, study="a", trial=1),
        seeds.key(1, study="a", trial=1),
        seeds.key(0, study="b", trial=1),
        seeds.key(0, study="a", trial="1"),
        seeds.key(0, trial=1),
        seeds.key(0, kind="a", trial=1),
    }
    assert len(keys) == 6


def test_order_does_not_count() -> None:
    assert seeds.key(3, a=1, b="x") == seeds.key(3, b="x", a=1)


def test_key_is_the_same_everywhere() -> None:
    """A frozen value: another one would silently change every result ever published."""
    assert seeds.key(7, study="moments") == 7488899388451622867


def test_generators() -> None:
    first, again = (seeds.generator(5, data="x").standard_normal(4) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != seeds.generator(5, data="y").standard_normal(4)).all()


def test_negative_root() -> None:
    with pytest.raises(ValueError, match="root seed -1 must be >= 0"):
        seeds.key(-1)
