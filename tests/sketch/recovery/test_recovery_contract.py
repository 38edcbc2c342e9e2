"""The contract R1 to R7 holds of every recovery of conf/recovery, and rejects each control by its own part."""

import functools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from all_claims import CLAIMS
from levels import LEVEL
from weekly import weekly

from sketchbench import kernels
from sketchbench.base.project import CONF
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.report.claim.criteria import CRITERIA
from sketchbench.run import execution
from sketchbench.run.config import composition
from sketchbench.sketch import BlockSparseEmbedding, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT, CountSketchMedian
from sketchbench.sketch.recovery.contract import estimates, relations
from sketchbench.sketch.recovery.contract.subject import RecoverySubject
from sketchbench.task.recovery.recovery_contract import RecoveryContract

CONTRACT = [f"R{number}" for number in range(1, 8)]
NAMES = sorted(path.stem for path in (CONF / "recovery").glob("*.yaml"))
SOME = {"fiht", "count_sketch"}  # of the others the study recovery_contract tells the same
BREAKS = {
    "one_more": {"R1"},
    "too_small": {"R2"},
    "false_report": {"R3"},
    "together": {"R4", "R6"},  # signals in units far apart are recovered in calls of their own
    "reseeding": {"R5"},
    "one_unit": {"R6"},
    "deaf": {"R7"},
}


def rows(name: str, backend: str = "numba") -> list[Row]:
    overrides = ["task=recovery_contract", f"recovery={name}", "d=64", "b=20", f"kernels={backend}"]
    return execution.execute(composition.frozen(composition.compose(overrides)).config)


def broken(measured: list[Row]) -> set[str]:
    """The claims of the contract that fail. Each must compare something."""
    table, found = pd.DataFrame([dict(row) for row in measured]), set()
    for name in CONTRACT:
        (check,) = CLAIMS[name].checks
        wanted = check.where["quantity"]
        chosen = table[table["quantity"].isin([wanted] if isinstance(wanted, str) else wanted)]
        verdicts = {one.verdict for one in CRITERIA[check.criterion](chosen, LEVEL, check.settings)}
        assert verdicts, name
        if verdicts != {"holds"}:
            found.add(name)
    return found


@pytest.mark.parametrize("backend", weekly(["numba", "numpy"], lambda backend: backend == "numpy"))
@pytest.mark.parametrize("name", weekly(NAMES, lambda name: name not in SOME))
def test_every_recovery_keeps_it(name: str, backend: str) -> None:
    measured = rows(name, backend)
    assert broken(measured) == set()
    wanted = {"nonzeros", "zero", "single", "report", "batch", "stack", "calls", "backend", "process"}
    assert wanted | {"sign", "unit", "order", "ignored", "refusal"} <= {row["quantity"] for row in measured}


@pytest.mark.parametrize("name", BREAKS)
def test_each_control_breaks_its_part(name: str) -> None:
    assert broken(rows(f"control/broken/{name}")) == BREAKS[name]


def test_every_control_is_told() -> None:
    named = {path.stem for path in (CONF / "recovery/control/broken").glob("*.yaml")}
    assert named == {*BREAKS, "not_transposed"}  # of the contract of the sensing family
    for name in CONTRACT:
        control = CLAIMS[name].controls["default"].method
        assert control is not None
        assert name in BREAKS[Path(control).name]


def test_exact_recovery_is_judged_where_it_is_due() -> None:
    """Of all signals through an orthonormal matrix, of iterations if one row is missing, of neither for a quarter."""
    make: Any = functools.partial(FIHT)
    counts = []
    for b in (64, 63, 16):
        family = SubsampledHadamard(64, b, signs=False)
        subject = RecoverySubject(make, family, kernels.load("numpy"), 5)
        counts.append((len(estimates.find_all_entries(subject)), len(estimates.approach(subject, 4))))
    assert counts == [(60, 4), (0, 4), (0, 0)]


def test_a_recovery_may_state_what_it_does_not_keep(reference: Kernels) -> None:
    class Stated(FIHT):
        exact = permutes = False

    subject = RecoverySubject(Stated, SubsampledHadamard(64, 64, signs=False), reference, 5)
    assert not len(estimates.find_all_entries(subject))
    assert not len(relations.permute(subject, 4))


def test_sizes_are_the_largest_that_the_family_takes(reference: Kernels) -> None:
    task = RecoveryContract(
        BlockSparseEmbedding(64, 20, s=5), CountSketchMedian, reference, 1, [[64, 64], [3, 3]], 0, 8
    )
    assert {(row["d"], row["b"]) for row in task.run()} <= {(64, 60), (64, 20)}
    with pytest.raises(ValueError, match=r"sizes=\[64\] must be a pair"):
        RecoveryContract(SubsampledHadamard(64, 20), FIHT, reference, 1, [[64]], 0, 10)
