"""Every family that breaks the contract is refused by the claim that says so, and sound ones keep all of them.

Here are the controls, families that tests/family does not have, and families of it that are not run there by default.

The claims C1-C8, C10, C11 and S1-sizes, read from conf/claim, judge rows of the task `contract` at the level of a quick
run, with fewer operators than that has; those that are rarely wrong are judged with as many.
"""

import functools

import broken_keys
import broken_nonlinear
import broken_rare
import broken_reach
import contracts
import judging
import pytest
import yaml
from contracts import Dense, Method

from sketchbench import kernels
from sketchbench.base.project import CONF
from sketchbench.measure.row import Row
from sketchbench.sketch import AMS, CountSketch, Family, Identity, SubsampledHadamard, broken
from sketchbench.sketch.broken import Matrices
from sketchbench.sketch.contract import elsewhere
from sketchbench.task.sketches.contract import Contract

CONTRACT = [f"C{number}" for number in (*range(1, 9), 10, 11)]
SIZES = yaml.safe_load((CONF / "task" / "contract.yaml").read_text(encoding="utf-8"))["sizes"]
FEW, QUICK = 2000, 20_000
D, B = 16, 4

MUTANTS: list[tuple[str, Family]] = [
    ("C1", broken.NotLinear(D, B)),
    ("C2", broken.NotTransposed(D, B)),
    ("C3", broken.NotProjected(D, B)),
    ("C4", broken.OfItsStack(D, B)),
    ("C5", broken.HalfTheKey(D, B)),
    ("C6", broken.Antithetic(D, B)),
    ("C7", broken.NextKey(D, B)),
    ("C8", broken.Sloppy(D, B)),
    ("S1-sizes", broken.OddColumn(D, B)),
    ("C1", broken_nonlinear.FlushesSmall(D, B)),
    *[
        ("C1", getattr(broken_nonlinear, name)(D, B))
        for name in ("DoublesFew", "DoublesMany", "DoublesNearlyDense", "DoublesPeaks", "DoublesFewBack")
    ],
    ("C3", broken_nonlinear.ProjectsFewDoubled(D, B)),
    ("C8", broken_nonlinear.DoublesFewInSingle(D, B)),
    *[("C1", Method(D, B, name, "shifted")) for name in ("_sketch", "_desketch")],
    ("C1", Method(D, B, "_sketch", "by_the_batch")),
    ("C3", Method(D, B, "_project", "a_billionth")),
    ("C3", broken_nonlinear.SketchesFirstTerm(D, B)),
    ("C3", broken_nonlinear.WorkspaceWrong(D, B)),
    ("C3", broken_nonlinear.PaddedWrong(D, B)),
    ("C4", broken_keys.GlobalNumpy(D, B)),
    ("C4", broken_keys.DependsOnHashes(D, B)),
    ("C4", broken_keys.CountsDraws(D, B)),
    ("C4", broken_keys.DependsOnLargeStack(D, B)),
    ("C5", broken_keys.HalvesXored(D, B)),
    *[("C5", Dense(D, B, name)) for name in ("a_column_for_all_keys", "a_row_of_half_the_key")],
    *[
        ("C6", Dense(D, B, name))
        for name in ("shared_column", "every_500th_again", "permuted_by_7", "same_up_to_signs")
    ],
    ("C7", broken_keys.Modulo1000(D, B)),
    *[(claim, broken_rare.SaysRandom(D, B)) for claim in ("C5", "C6", "C7")],
    ("S1-sizes", contracts.RowNeverSampled(D, B)),
    *[("C7", getattr(broken_reach, name)(D, B)) for name in ("SwappedBytes", "BytesXored")],
    ("C10", broken.SixteenBits(D, B)),
    ("C11", broken.HidesNaN(D, B)),
]
RARE: list[tuple[str, Family]] = [
    ("C1", broken_reach.MiddleSupports(D, B)),
    ("C2", Method(D, B, "_desketch", "every_500th_doubled")),
    ("S1-sizes", Dense(D, B, "every_100th_nothing")),
]
SOUND = [AMS(D, B), CountSketch(D, B), SubsampledHadamard(D, B), Identity(D, D)]


@functools.cache
def rows(family: Family, operators: int) -> tuple[Row, ...]:
    """What the task measures; with few operators, at the sizes that mutants need only."""
    sizes = SIZES if operators == QUICK else [[12, 4], [15, 6], [16, 4], [64, 16]]
    task = Contract(family, kernels.load("numba"), 2, sizes=sizes, operators=operators, fewer=400, rate=0.001)
    return tuple(task.run())


@pytest.mark.parametrize(("claim", "family"), MUTANTS, ids=str)
def test_what_breaks_the_contract_is_refused(claim: str, family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    if claim != "C4":  # no other claim is about another process, which takes longer to start than all the rest
        monkeypatch.setattr(elsewhere, "matrices", lambda subject, count: subject.matrices(subject.key, count))
    assert judging.verdict(claim, rows(family, FEW)) == "fails"


@pytest.mark.parametrize(("claim", "family"), RARE, ids=str)
def test_what_rarely_breaks_it_is_refused(claim: str, family: Family) -> None:
    """One operator of 500, for E[RᵀR] one of 100, and vectors that are met at d = 640 only."""
    assert judging.verdict(claim, rows(family, QUICK)) == "fails"


@pytest.mark.parametrize("family", SOUND, ids=str)
def test_sound_families_keep_it(family: Family) -> None:
    found = rows(family, QUICK)
    assert {claim: judging.verdict(claim, found) for claim in [*CONTRACT, "S1-sizes"]} == dict.fromkeys(
        [*CONTRACT, "S1-sizes"], "holds"
    )


def test_every_control_is_a_mutant_here() -> None:
    """Those of conf/sketch/control/broken."""
    folder = CONF / "sketch" / "control" / "broken"
    targets = {yaml.safe_load(path.read_text(encoding="utf-8"))["family"]["_target_"] for path in folder.glob("*.yaml")}
    ours = {type(family) for _, family in MUTANTS}
    assert targets == {f"{kind.__module__}.{kind.__name__}" for kind in ours if kind.__module__ == Matrices.__module__}
