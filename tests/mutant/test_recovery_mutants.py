"""Every broken recovery is rejected by the very claims or checks that pass the sound one.

The claims are the project's T1, T2, T3 and T5, on rows of their tasks at a small size; each comparison
keeps the level of a quick run. What a claim does not see must fail the contract
(tests/contract/test_recovery.py) or the reference (tests/reference.py):

| mutant | T1 | T2 | T3 | T5 | contract, reference |
|---|---|---|---|---|---|
| SmallestKept | fails | | fails | | recovers, iterates |
| SupportOfBefore | | | fails | | recovers, iterates |
| RowsInOrder | | fails | fails | | recovers |
| RowsFromFront | | fails | | | |
| MedianUnsigned | fails | | | | formula |
| StoppingAbsolute | | | | fails | iterates |
| ResidualStale | | | | | recovers, iterates |
| OneFewer | | | | | recovers, iterates |
| OneMore | | | | | shapes, iterates |
| DesketchUnscaled | | | | | formula |
| OneUnit | | | | | scale |
| UnitOfTheBatch | | | | | scale |

The contract R1 to R7 rejects each of `BREAKS` by exactly the claims that stand there, and also SmallestKept and
SupportOfBefore (R2), StoppingAbsolute, OneUnit and UnitOfTheBatch (R6), and MedianUnsigned (R2, R4).

Optimal step lengths make up for a missing factor of the adjoint, a stale direction only slows down, and
one entry of 92 is below the margins.
"""

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recoveries
from judging import verdicts
from recoveries import (
    DesketchUnscaled,
    MedianUnsigned,
    OneFewer,
    OneMore,
    OneUnit,
    ResidualStale,
    RowsFromFront,
    SmallestKept,
    StoppingAbsolute,
    SupportOfBefore,
    UnitOfTheBatch,
)

from sketchbench import kernels
from sketchbench.sketch import BlockSparseEmbedding, Family, SubsampledHadamard
from sketchbench.sketch.ordered import RowsInOrder
from sketchbench.sketch.recovery import FIHT, CountSketchMedian, Desketch
from sketchbench.task.recovery.reconstruction import Reconstruction
from sketchbench.task.recovery.recovery_contract import RecoveryContract
from sketchbench.task.recovery.signals import draw_sparse
from sketchbench.task.recovery.stability import Stability
from sketchbench.task.recovery.units import Units
from sketchbench.task.sketches.isometry import Isometry

TESTS_FOLDER = Path(__file__).parents[1]
D, K, SIGNALS = 2048, 92, 30  # the sparsity of the studies
# The mildest rejection is that of SupportOfBefore by T3: a slope of 0.25 where 1/2 is the limit, and
# 30 signals leave +-0.03 around it.

Sensing = Callable[[int, int], Family]
HADAMARD: Sensing = partial(SubsampledHadamard, signs=False)
IN_ORDER: Sensing = partial(RowsInOrder, signs=False)
UNSCALED: Sensing = partial(DesketchUnscaled, signs=False)
CELLS: Sensing = partial(BlockSparseEmbedding, s=5)
PAPER = {"stopping": "paper", "support": "padded"}


def shared(sensing: Sensing, b: int) -> dict[str, Any]:
    made = kernels.load("numba")
    return {"family": sensing(D, b), "kernels": made, "seed": 1, "trials": SIGNALS, "k": K}


def reconstruction(sensing: Sensing, recovery: Any) -> list[dict[str, Any]]:
    rows = []
    for b in (2045, 1025, 410, 205):  # compression 1 to 10
        task = Reconstruction(**shared(sensing, b), recovery=recovery, noise=0.05, rows=5)
        rows += [{**row, "d": D, "b": b} for row in task.run()]
    return rows


def stability(sensing: Sensing, recovery: Any) -> list[dict[str, Any]]:
    task = Stability(**shared(sensing, 1024), recovery=recovery, amounts=[0.01, 0.1, 1])
    return [{**row, "d": D, "b": 1024} for row in task.run()]


def units(recovery: Any) -> list[dict[str, Any]]:
    shift = {"noise": 0.05, "exponents": [-20, 20]}
    return Units(**shared(HADAMARD, 1024), recovery=recovery, **shift).run()


def isometry(kind: Callable[[int, int], Family]) -> list[dict[str, Any]]:
    rows = []
    for d, b, k in ((D, 64, 16), (D, 512, 16), (4096, 256, 16), (512, 256, 16), (D, 64, 4)):
        task = Isometry(kind(d, b), kernels.load("numba"), 1, 100, k)
        rows += [{**row, "d": d, "b": b, "k": k} for row in task.run()]
    return rows


# The claims


@pytest.mark.statistical
def test_difference_from_count_sketch() -> None:
    """Claim T1 on FIHT; its first check also on CountSketch itself, whose difference is none."""
    assert verdicts("T1", reconstruction(HADAMARD, partial(FIHT, **PAPER))) == {"holds"}
    assert "fails" in verdicts("T1", reconstruction(HADAMARD, partial(SmallestKept, **PAPER)))
    same = reconstruction(CELLS, CountSketchMedian)
    assert verdicts("T1", same, "upper_bound") == {"holds"}
    assert "fails" in verdicts("T1", reconstruction(CELLS, MedianUnsigned), "upper_bound")


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (SubsampledHadamard, {"holds"}),
        (partial(SubsampledHadamard, replacement=True), {"holds"}),
        (RowsFromFront, None),
        (RowsInOrder, None),
    ],
)
def test_restricted_isometry(kind: Any, expected: set[str] | None) -> None:
    found = verdicts("T2", isometry(kind))
    assert found == expected if expected else "fails" in found


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("sensing", "kind", "broken"),
    [
        (HADAMARD, FIHT, False),
        (HADAMARD, SmallestKept, True),
        (HADAMARD, SupportOfBefore, True),
        (IN_ORDER, FIHT, True),
    ],
)
def test_stability(sensing: Sensing, kind: type[FIHT], broken: bool) -> None:
    found = verdicts("T3", stability(sensing, partial(kind, **PAPER)))
    assert ("fails" in found) if broken else (found == {"holds"})


@pytest.mark.parametrize("kind", [FIHT, StoppingAbsolute])
def test_units(kind: type[FIHT]) -> None:
    assert ("fails" in verdicts("T5", units(kind))) is (kind is StoppingAbsolute)


# The contract, and the reference


@pytest.fixture
def contract(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(TESTS_FOLDER / "contract")
    return importlib.import_module("test_recovery")


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(TESTS_FOLDER / "recovery")
    return importlib.import_module("reference")


@pytest.mark.parametrize(
    ("check", "sensing", "sound", "mutant"),
    [
        ("check_shapes", HADAMARD, FIHT, OneMore),
        ("check_recovers", HADAMARD, FIHT, OneFewer),
        ("check_recovers", HADAMARD, FIHT, SmallestKept),
        ("check_recovers", HADAMARD, FIHT, SupportOfBefore),
        ("check_recovers", HADAMARD, FIHT, ResidualStale),
        ("check_formula", CELLS, CountSketchMedian, MedianUnsigned),
    ],
)
def test_contract(contract: Any, check: str, sensing: Sensing, sound: Any, mutant: Any) -> None:
    checked = getattr(contract, check)
    family = sensing(contract.D, contract.B)
    checked(sound, family, kernels.load("numba"))
    with pytest.raises(AssertionError):
        checked(mutant, family, kernels.load("numba"))


@pytest.mark.parametrize("mutant", [OneUnit, UnitOfTheBatch])
@pytest.mark.parametrize(("dtype", "exponent"), [("float32", -80), ("float64", -700), ("float64", 700)])
def test_scale(contract: Any, mutant: type[FIHT], dtype: str, exponent: int) -> None:
    family = HADAMARD(contract.D, contract.B)
    contract.check_scale(FIHT, family, kernels.load("numba"), dtype, (0, exponent))
    with pytest.raises(AssertionError), np.errstate(all="ignore"):
        contract.check_scale(mutant, family, kernels.load("numba"), dtype, (0, exponent))


@pytest.mark.parametrize(
    ("check", "mutant", "recovery"), [("check_formula", UNSCALED, Desketch), ("check_recovers", IN_ORDER, FIHT)]
)
def test_contract_of_the_sensing(contract: Any, check: str, mutant: Sensing, recovery: Any) -> None:
    checked = getattr(contract, check)
    checked(recovery, HADAMARD(contract.D, contract.B), kernels.load("numba"))
    with pytest.raises(AssertionError):
        checked(recovery, mutant(contract.D, contract.B), kernels.load("numba"))


@pytest.mark.parametrize(
    "kind", [FIHT, OneFewer, OneMore, ResidualStale, SmallestKept, StoppingAbsolute, SupportOfBefore]
)
def test_reference(reference: Any, kind: type[FIHT]) -> None:
    """On signals of norm about 3, and about 3e-4, where the absolute rule stops too early or too late."""
    sketch = HADAMARD(200, 150).draw(3, kernels="numba")
    x = draw_sparse(200, 12, 6, 3, noise=0.05) * [[1], [1], [1], [1e-5], [1e-5], [1e-5]]
    recovery = kind(12)
    if kind is FIHT:
        assert reference.check_iterates(recovery, sketch, sketch.sketch(x)) == len(x)
    else:
        with pytest.raises(AssertionError):
            reference.check_iterates(recovery, sketch, sketch.sketch(x))


# The contract that a run measures

BREAKS = {
    "SmallestKept": {"R2"},
    "SupportOfBefore": {"R2"},
    "StoppingAbsolute": {"R6"},
    "OneUnit": {"R6"},
    "UnitOfTheBatch": {"R6"},
    "MedianUnsigned": {"R2", "R4"},
    "ManyNonzeros": {"R1"},
    "Singular": {"R1"},
    "SinglePrecision": {"R2", "R6"},
    "SixteenBits": {"R2"},
    "WrongAtOne": {"R2"},
    "WrongAtAll": {"R2"},
    "NegativeTooSmall": {"R2", "R3", "R6"},
    "FlatTrace": {"R3"},
    "LargeBatches": {"R4", "R6"},  # the units of a type are one batch
    "WrongInStacks": {"R4"},
    "StacksOfFive": {"R4"},
    "EightOfSeven": {"R1"},
    "ElevenBits": {"R2"},
    "GlobalNoise": {"R2", "R4", "R5", "R6"},
    "TenthCall": {"R2", "R4", "R5", "R6"},
    "HashSeed": {"R5"},
    "Overwrites": {"R4", "R5"},
    "Ceiling": {"R6"},
    "PrefersFront": {"R6"},
    "ForgetsFirst": {"R7"},
    "AcceptsAll": {"R7"},
    "IgnoresFirst": {"R7"},
    "StacksOfHundred": {"R4"},
    "FewerInSingle": {"R5"},
}


@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_contract_of_recoveries(name: str) -> None:
    mutant = getattr(recoveries, name)
    sensing = CELLS if issubclass(mutant, CountSketchMedian) else HADAMARD
    sizes = [[12, 5]] if name == "EightOfSeven" else [[64, 40], [64, 64], [64, 63], [2**17, 2**17]]
    rows = RecoveryContract(sensing(64, 20), mutant, kernels.load("numba"), 1, sizes, 0, 320).run()
    assert {f"R{n}" for n in range(1, 8) if "fails" in verdicts(f"R{n}", rows)} == BREAKS[name]
