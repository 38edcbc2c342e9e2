"""The claims K1 to K12, read from conf/claim, reject each broken compressor, and no sound one."""

from pathlib import Path

import compressing
import pandas as pd
import pytest
from levels import LEVEL
from weekly import weekly

from sketchbench.base.project import CONF
from sketchbench.kernels import Kernels
from sketchbench.measure.column import COLUMNS
from sketchbench.measure.row import Row
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.claim.criteria import CRITERIA
from sketchbench.task.compressors.compressor_contract import Budget, CompressorContract

CLAIMS = {claim.id: claim for claim in read_claims((CONF / "claim").rglob("K*.yaml"))}
BREAKS = {
    "unscaled": "K1",
    "other_operator": "K1",
    "no_norm": "K1",
    "smallest": "K2",
    "forgetful": "K3",
    "doubled": "K3",
    "false_sum": "K4",
    "hidden_sum": "K4-others",
    "too_large": "K5",
    "of_its_calls": "K6",
    "same_every_round": "K6",
    "one_unit": "K7",
    "poisoned": "K7",
    "stuck": "K7",
    "clipped": "K8",
    "stashed": "K9",
    "lying_lens": "K10",
    "same_noise": "K11",
    "same_rounding": "K11",
    "overconfident": "K12",
    "eight_votes": "K4-twice",
}
FACTORED = (2,)  # compressions at which PowerSGD sends factors of this layout's matrices
SOME = {"eden_back_2", "fetch_sgd", "power_sgd", "top_k"}  # of the others the study compressor_contract tells the same
LARGE = [[[72, 16, 2, 2], []]]
BUDGET = Budget(draws=2000, vectors=200, trials=3, clients=3, rounds=3, entries=4e6)


def rows(name: str, kernels: Kernels, compressions: tuple[int, ...] = (1, 4, 16)) -> list[Row]:
    layout = [list(shape) for shape in compressing.LAYOUT.shapes]
    made = compressing.maker(name)
    return CompressorContract(made, kernels, 1, [layout], list(compressions), BUDGET, 1e-4, LARGE).run()


def verdicts(claim: Claim, measured: list[Row]) -> set[str]:
    """What each check of a claim says."""
    table = pd.DataFrame([dict(row) for row in measured], columns=list(COLUMNS))
    found = set()
    for check in claim.checks:
        wanted = check.where["quantity"]
        chosen = table[table["quantity"].isin([wanted] if isinstance(wanted, str) else wanted)]
        found |= {one.verdict for one in CRITERIA[check.criterion](chosen, LEVEL, check.settings)}
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("name", weekly(compressing.NAMES, lambda name: name not in SOME))
def test_sound_compressors_keep_all_of_it(name: str, reference: Kernels) -> None:
    measured = rows(name, reference)
    found = {number: verdicts(claim, measured) for number, claim in CLAIMS.items()}
    for mean in ("K1", "K11", "K12"):
        assert found.pop(mean) <= {"holds", "inconclusive"}  # fewer draws than a quick run has
    assert all(several <= {"holds"} for several in found.values()), found
    assert found["K5"] == found["K6"] == found["K7"] == {"holds"}
    assert found["K4"] | found["K4-others"] == found["K9"] == found["K10"] == {"holds"}


@pytest.mark.statistical
@pytest.mark.parametrize("name", BREAKS)
def test_broken_compressors_break_their_part(name: str, reference: Kernels) -> None:
    measured = rows(f"control/broken/{name}", reference, *([FACTORED] if name == "stuck" else []))
    assert "fails" in verdicts(CLAIMS[BREAKS[name]], measured)


def test_every_control_is_told() -> None:
    assert [f"control/broken/{name}" for name in sorted(BREAKS)] == compressing.BROKEN
    for claim in CLAIMS.values():
        control = claim.controls["default"].method
        assert control is not None
        assert BREAKS[Path(control).name] == claim.id


def test_one_that_is_refused_says_why(reference: Kernels) -> None:
    (row,) = rows("none", reference, compressions=(4, 16))
    assert row["status"] == "refused"
    assert str(row["reason"]).startswith("Plain needs 560 bytes")


def test_what_is_counted_names_the_size_that_is_furthest_off(reference: Kernels) -> None:
    found = {row["quantity"]: row for row in rows("control/broken/too_large", reference)}
    assert found["bytes"]["compression"] == 16
    assert found["bytes"]["count"] == found["bytes"]["trials"] == 4 * BUDGET.trials + 1
    assert found["bytes"]["maximum"] == pytest.approx((43 // 6 * 6 + 6) / 43)
