"""What a recovery promises of its signals, T14 and T16: the claims pass the sound one, and reject what is broken."""

import functools
from typing import Any

import numpy as np
import pytest
from judging import verdict
from recoveries import SmallestKept

from sketchbench import kernels
from sketchbench.sketch import BlockSparseEmbedding, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT, CountSketchMedian
from sketchbench.sketch.recovery.control import Nothing
from sketchbench.task.recovery.for_all import ForAll
from sketchbench.task.recovery.for_each import ForEach
from sketchbench.task.recovery.probes import errors
from sketchbench.theory.compressed_sensing import orthogonal_constants

NUMBA = kernels.load("numba")


def for_all(recovery: Any, b: int = 256) -> list[dict[str, Any]]:
    rows = []
    for k in (4, 16):
        task = ForAll(SubsampledHadamard(256, b, signs=False), recovery, NUMBA, 3, trials=10, k=k, gamma=0.9)
        rows += [{**row, "d": 256, "b": b, "k": k} for row in task.run()]
    return rows


def test_fiht_keeps_its_promises() -> None:
    rows = for_all(FIHT)
    assert verdict("T14", rows) == "holds"
    assert max(row["maximum"] for row in rows if row["quantity"] == "lemma_3") > 0.97
    assert verdict("T16-all", rows) == "holds"
    twice = [row for row in rows if row["quantity"] == "lemma_3_twice"]
    assert [row["case"] for row in twice] == ["equal"] * 2
    assert verdict("T14", [{**row, "quantity": "lemma_3"} for row in twice]) == "fails"  # beyond condition (7)


def test_one_entry_too_many_for_the_printed_form() -> None:
    """k + 1 equal entries: an error of one entry, of which ‖x - x^[k]‖₁ is as large, so C₁ = √k."""
    rows = for_all(FIHT)
    assert verdict("T16-all-k", rows) == "fails"
    needed = [row["mean"] for row in rows if row["quantity"] == "c_1" and row["case"] == "printed"]
    assert needed == pytest.approx([2, 4])


@pytest.mark.parametrize("broken", [Nothing, SmallestKept])
def test_broken_promises(broken: Any) -> None:
    assert verdict("T14", for_all(broken)) == "fails"


def test_derived_constants() -> None:
    """Noise that makes the wrong one of two entries the larger, where the error is 1.5 times the noise."""
    sketch = SubsampledHadamard(64, 64, signs=False).draw(3, kernels=NUMBA)
    golden = (1 + 5**0.5) / 2
    x, v = np.zeros((2, 64))
    x[0], v[0], v[1] = 1, -1 / golden, 1 - 1 / golden + 1e-9  # the wrong entry of two is taken
    matrix = sketch.materialize()
    (error,) = errors(sketch, FIHT(1), x[None], (matrix @ v)[None])
    tail, noise = orthogonal_constants(1, 64)
    assert tail == 0
    assert 1.4 < error / np.linalg.norm(v) <= noise
    assert orthogonal_constants(64, 64).noise == 1


def for_each(recovery: Any) -> list[dict[str, Any]]:
    task = ForEach(BlockSparseEmbedding(64, 250, 5), recovery, NUMBA, 3, trials=2000, k=3, excess=1.0)
    return [{**row, "b": 120} for row in task.run()]


def test_signals_that_do_not_depend_on_the_sketch() -> None:
    rows = for_each(CountSketchMedian)
    assert verdict("T16-each", rows) == "holds"
    chosen = [{**row, "case": "fixed"} for row in rows if row["case"] == "chosen"]
    assert verdict("T16-each", chosen) == "fails"
    assert verdict("T16-each", for_each(Nothing)) == "fails"


@pytest.mark.parametrize("k", [5, 256])
def test_bad_sizes(k: int) -> None:
    task = ForAll(SubsampledHadamard(256, 128), functools.partial(FIHT), NUMBA, 3, trials=4, k=k, gamma=0.9)
    with pytest.raises(ValueError, match=f"k={k} must be even, and < d=256"):
        task.run()
