"""Operators are values: equal by what they were drawn from, and the same bits after any copy, on every backend."""

import copy
import io
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch
from configs import NAMES, B, D, family

from sketchbench.kernels import Kernels, load
from sketchbench.sketch import CountSketch, Family, Sketch, SubsampledHadamard, broken
from sketchbench.sketch.dense import Dense
from sketchbench.sketch.operator import draw_again
from sketchbench.sketch.scattered import Scattered

BROKEN = {
    name: one
    for name, one in vars(broken).items()
    if isinstance(one, type) and issubclass(one, Family) and one.__module__ == broken.__name__
}
FORMS: list[Callable[[Sketch], Sketch]] = [
    lambda sketch: sketch,
    lambda sketch: sketch.padded(),
    lambda sketch: sketch.with_workspace(),
    lambda sketch: sketch.with_workspace().padded().with_workspace(),
]


def saved(sketch: Sketch) -> Sketch:
    memory = io.BytesIO()
    torch.save({"operator": sketch}, memory)
    memory.seek(0)
    loaded: Sketch = torch.load(memory, weights_only=False)["operator"]
    return loaded


def copies(sketch: Sketch) -> list[Sketch]:
    pickles = [pickle.loads(pickle.dumps(sketch, protocol)) for protocol in (0, 2, pickle.HIGHEST_PROTOCOL)]
    return [*pickles, copy.copy(sketch), copy.deepcopy(sketch), saved(sketch)]


@pytest.mark.parametrize("operators", [None, 3])
@pytest.mark.parametrize("name", [*NAMES, *BROKEN])
def test_copies_have_the_same_bits(kernels: Kernels, name: str, operators: int | None) -> None:
    one = BROKEN[name](D, B) if name in BROKEN else family(name)
    drawn = one.draw(2**64 - 5, operators=operators, first=7, kernels=kernels)
    for form in FORMS:
        sketch = form(drawn)
        matrix = kernels.to_numpy(sketch.materialize())
        for other in copies(sketch):
            assert other is not sketch
            assert (other, hash(other)) == (sketch, hash(sketch))
            assert (type(other), other.kernels, other.operators) == (type(sketch), kernels, operators)
            again = kernels.to_numpy(other.materialize())
            assert again.dtype == matrix.dtype
            assert np.array_equal(again, matrix)


def test_what_makes_them_equal() -> None:
    f = SubsampledHadamard(5, 4)
    sketch = f.draw(1, kernels="numpy")
    assert sketch == f.draw(1, kernels=load("numpy")) == sketch.with_workspace()
    others = [
        f.draw(2, kernels="numpy"),
        f.draw(1, kernels="numba"),
        f.draw(1, first=1, kernels="numpy"),
        f.draw(1, operators=1, kernels="numpy"),
        SubsampledHadamard(5, 3).draw(1, kernels="numpy"),
        SubsampledHadamard(5, 4, replacement=True).draw(1, kernels="numpy"),
        sketch.padded(),
    ]
    assert len({sketch, *others, *copy.deepcopy(others)}) == 8
    assert sketch != "a string"


def test_memory_is_not_shared_with_a_copy() -> None:
    """The next call of `desketch` overwrites the last result of the same operator only."""
    working = SubsampledHadamard(8, 8, signs=False).draw(1, kernels="numba").with_workspace()
    for other in (copy.copy(working), working.with_workspace()):
        result = working.desketch(np.arange(8.0))
        before = result.copy()
        other.desketch(np.ones(8))
        assert np.array_equal(result, before)


def test_they_are_small() -> None:
    assert len(pickle.dumps(CountSketch(10**6, 10**4).draw(1, kernels="numba"))) < 300


def test_those_made_by_hand(kernels: Kernels) -> None:
    """They consist of their parts, equal nobody else, and cannot be pickled where a part cannot."""
    rows, signs = kernels.asarray(np.zeros((1, 1, 4), np.int32)), kernels.asarray(np.ones((1, 1, 4), np.int8))
    sketch = Scattered(kernels, 3, rows, signs)
    assert sketch in {sketch}
    for other in copies(sketch):
        assert other != sketch
        assert other.kernels is kernels
        assert np.array_equal(kernels.to_numpy(other.materialize()), kernels.to_numpy(sketch.materialize()))
    dense = Dense(kernels, 4, 3, 1, lambda row, rows: kernels.xp.ones((1, rows, 4)))
    assert np.array_equal(*(kernels.to_numpy(one.materialize()) for one in (dense, copy.deepcopy(dense))))
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(dense)


def test_loaded_without_other_code() -> None:
    """As torch's `weights_only` reads it, once it is told what is safe; no other method of an operator is called."""
    memory = io.BytesIO()
    sketch = SubsampledHadamard(5, 4).draw(2**64 - 1, operators=2, kernels="numpy").padded()
    torch.save({"operator": sketch}, memory)
    memory.seek(0)
    with torch.serialization.safe_globals([draw_again, SubsampledHadamard]):
        assert torch.load(memory, weights_only=True) == {"operator": sketch}
    with pytest.raises(ValueError, match="form='materialize' of an operator must be padded or with_workspace"):
        draw_again(CountSketch(5, 4), 1, None, 0, "numpy", ("materialize",))


def test_kernels_that_cannot_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sketchbench.kernels.device_missing", lambda: "no device today")
    with pytest.raises(RuntimeError, match="kernels=cupy can't run here: no device today"):
        draw_again(CountSketch(5, 4), 1, None, 0, "cupy")
