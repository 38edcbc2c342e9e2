"""Verdicts from tables of several commits: whether each is of the code of the plan, and the commits behind it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from writing import claim, table

from sketchbench.command.main import main
from sketchbench.report import seal
from sketchbench.report.claim import gate, page
from sketchbench.report.claim.check import broken
from sketchbench.report.claim.claims import Claim, ClaimError, read_claims
from sketchbench.report.claim.criteria import Comparison
from sketchbench.report.claim.error_rate import ErrorRate
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.report.claim.judging import Judgement
from sketchbench.report.claim.rerun import chance_of_another
from sketchbench.report.claim.state import commits_behind, describe_states, with_code
from sketchbench.report.claim.verdict import Verdict
from sketchbench.report.codes import code_of
from sketchbench.report.inputs import CODE
from sketchbench.report.table import origin

OLDER, SEED = "older code", "another seed"
KINDS = {"contract": "sketch", "moments": "sketch", "controls": "sketch"}


def sealed(folder: Path, study: str, commit: str, **means: float) -> None:
    place = folder / "tables" / f"{study}.csv"
    place.parent.mkdir(exist_ok=True)
    table(**means).to_csv(place, index=False)
    seal.write("table", "quick", {CODE: code_of("table")}, [place])
    origin.write(place, "quick", [(name, {"commit": one}) for name in means for one in commit.split()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    claim(tmp_path, "C1", "contract", "contract")
    controls = {"default": {"method": "control/off", "studies": ["controls"]}}
    claim(tmp_path, "S1", "moments", negative_control=controls)
    claim(tmp_path, "S2", "nowhere")
    sealed(tmp_path, "contract", "111111111111", good=1.0, bad=1.5, new=1.0)
    sealed(tmp_path, "moments", "222222222222 333333333333", good=1.0, bad=1.0, new=1.0)
    sealed(tmp_path, "controls", "444444444444", **{"control/off": 2.0})
    return tmp_path


def judged(folder: Path, older: dict[str, dict[str, list[str]]]) -> pd.DataFrame:
    facts = {"scale": "quick", "kernels": "numba", "seed": 0, "kinds": KINDS, "skipped": [], "older": older}
    main(
        [
            *("step", "claims", *map(str, sorted((folder / "tables").glob("*.csv")))),
            *("--claims", str(folder)),
            *("--facts", json.dumps({**facts, "studies": [*KINDS, "nowhere"]})),
            *(f"--{name}={folder}/claims.{end}" for name, end in (("csv", "csv"), ("page", "md"))),
        ]
    )
    found = pd.read_csv(folder / "claims.csv", keep_default_na=False)
    return found.set_index(["claim", "method"])


def checked(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[str]]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["check", str(folder / "claims.csv"), *options])
    return int(stop.value.code or 0), capsys.readouterr().out.splitlines()


def test_the_commits_behind_a_verdict(folder: Path) -> None:
    first, second = read_claims([folder / "C1.yaml", folder / "S1.yaml"])
    assert commits_behind(first, "good", folder / "tables") == {"111111111111"}
    assert commits_behind(second, "good", folder / "tables") == {"222222222222", "333333333333", "444444444444"}
    seal.put(origin.place(folder / "tables" / "controls.csv"), None)
    assert commits_behind(second, "good", folder / "tables") == {"222222222222", "333333333333"}
    found = judged(folder, {})
    assert found.loc["S2", ["verdict", "code"]].to_numpy().tolist() == [["not run", ""]]
    assert set(found["code"]) == {""}
    assert "111111111111" not in (folder / "claims.csv").read_text() + (folder / "tables" / "seals.jsonl").read_text()
    assert "Is everything of this code?" not in (folder / "claims.md").read_text()


def test_a_row_is_as_old_as_the_oldest_that_it_rests_on(folder: Path) -> None:
    """A method's own rows make that method's verdicts older, and those of a control all that are held against it."""
    found = judged(folder, {"moments": {OLDER: ["good"]}, "controls": {SEED: ["control/off"]}})
    assert found["code"].drop("S2").to_dict() == {
        **{("C1", name): "" for name in ("good", "bad", "new")},
        ("S1", "good"): f"{OLDER}, {SEED}",
        ("S1", "bad"): SEED,
        ("S1", "new"): SEED,
    }
    page = (folder / "claims.md").read_text()
    assert "Is everything of this code?" in page
    assert "- moments: older code: good\n" in page


def test_what_broke_the_contract_in_an_older_table_stays_void(folder: Path) -> None:
    """A run of another study changes nothing of it, whether it is the contract that is older or all else."""
    for older in ({"moments": {OLDER: ["bad", "good"]}}, {"contract": {OLDER: ["bad", "good"]}}):
        found = judged(folder, older)
        assert found["verdict"]["C1", "bad"] == "fails"
        assert found["verdict"]["S1"].to_dict() == {"bad": "void", "good": "holds", "new": "holds"}
        assert found["case"]["S1", "bad"] == "breaks the contract: C1"
        (study,) = older
        assert (found["code"]["S1", "bad"] == OLDER) is (study == "moments")
        assert (found["code"]["C1", "bad"] == OLDER) is (study == "contract")


def test_the_check_counts_what_is_not_current(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged(folder, {})
    code, lines = checked(folder, capsys, "--current")
    assert code == 1
    assert lines[0].startswith("C1 BAD: the contract is broken (its only comparison: 1.5 in [")
    assert lines[1] == "void BAD: 1 verdicts; breaks the contract: C1"
    last = f"nothing is published to compare with: git's HEAD has no {folder / 'claims.csv'}"
    assert lines[2:] == ["7 verdicts, 4 as predicted, 2 otherwise, 1 not run", last]
    claim(folder, "C1", "contract", "contract", methods=["good", "new"])
    claim(folder, "S1", "moments", methods=["good", "new"])
    judged(folder, {})
    assert checked(folder, capsys, "--current") == (0, ["5 verdicts, 4 as predicted, 1 not run", last])
    judged(folder, {"moments": {OLDER: ["good"], SEED: ["new"]}})
    counted = "5 verdicts, 4 as predicted, 1 not run, 1 of another seed, 1 of older code"
    assert checked(folder, capsys) == (0, [counted, last])
    line = "S1: 1 of another seed, 1 of older code"
    assert checked(folder, capsys, "--current") == (1, [line, counted, last])


def test_what_an_older_table_does_not_have_is_not_run(folder: Path) -> None:
    without = {
        "where": ("has no column d", {"where": {"quantity": "q", "d": 8}}),
        "hits": ("they have no hits", {"criterion": "audit"}),
        "rows": ("finds nothing to judge", {"where": {"quantity": "r"}}),
    }
    tables = {"moments": table(good=1.0).assign(bound=1.0)}
    for reason, change in without.values():
        check = {"criterion": "equality", "where": {"quantity": "q"}, **change}
        claim(folder, "S1", "moments", checks=[check])
        claims = read_claims([folder / "S1.yaml"])
        (found,) = evaluate(claims, tables, "quick", older=["moments"])[0].to_dict("records")
        assert found["verdict"] == "not run"
        assert reason in found["case"]
        with pytest.raises((ClaimError, KeyError)):
            evaluate(claims, tables, "quick")


def test_many_methods_are_counted() -> None:
    older = {"two": {OLDER: list("abcdefg")}, "one": {SEED: ["a", "b"]}}
    assert describe_states(older) == ["one: another seed: a, b", "two: older code: 7 methods"]


# A method that breaks the contract has no other verdicts, and the page says why


FACTS: dict[str, Any] = {"scale": "quick", "seed": 0, "kernels": "numba", "skipped": []}
ALL_KINDS = {"contract": "sketch", "sensing": "recovery", "moments": "sketch", "reconstruction": "recovery"}


@pytest.fixture
def claims(tmp_path: Path) -> list[Claim]:
    claim(tmp_path, "C1", "contract", "contract")
    claim(tmp_path, "C2", "sensing", "contract")
    claim(tmp_path, "S1", "moments")
    claim(tmp_path, "S2", "moments", on_times=True, methods=["bad", "good", "control/bad"])
    claim(tmp_path, "T1", "reconstruction")
    return read_claims(tmp_path.glob("*.yaml"))


def verdicts(claims: list[Claim], **tables: pd.DataFrame) -> pd.DataFrame:
    return evaluate(claims, tables, "quick", kinds=ALL_KINDS)[0]


def by_claim(found: pd.DataFrame, method: str) -> dict[str, str]:
    return found[found["method"] == method].set_index("claim")["verdict"].to_dict()


def test_what_breaks_the_contract_has_no_other_verdicts(claims: list[Claim]) -> None:
    """Neither what would hold nor what is a time; the sketch `bad` is not the recovery `bad`."""
    everything = table(good=1.0, bad=1.0, **{"control/bad": 1.0})
    found = verdicts(
        claims,
        contract=table(good=1.0, bad=1.5, **{"control/bad": 1.5}),
        sensing=table(good=1.0, bad=1.0),
        moments=everything,
        reconstruction=everything,
    )
    assert by_claim(found, "good") == dict.fromkeys(("C1", "C2", "S1", "S2", "T1"), "holds")
    assert by_claim(found, "bad") == {"C1": "fails", "C2": "holds", "S1": "void", "S2": "void", "T1": "holds"}
    assert by_claim(found, "control/bad") == {"S2": "holds"}
    void = found[found["verdict"] == gate.VOID]
    assert set(void["case"]) == {"breaks the contract: C1"}
    assert [(one.claim, one.method) for one in broken(found)] == [("C1", "BAD"), ("void", "BAD")]


def test_recoveries_fall_with_their_sensing_families(claims: list[Claim]) -> None:
    found = verdicts(
        claims,
        contract=table(good=1.0),
        sensing=table(good=1.5),
        moments=table(good=1.0),
        reconstruction=table(good=1.0),
    )
    assert by_claim(found, "good") == {"C1": "holds", "C2": "fails", "S1": "holds", "S2": "holds", "T1": "void"}


def test_what_takes_none_of_the_sizes_has_no_verdicts_either(claims: list[Claim]) -> None:
    """Else a family could hide: who refuses the sizes of the contract is not measured."""
    moments = table(good=1.0, new=1.0, **{"control/bad": 1.0})
    sensing = table(new=1.0)
    found = verdicts(claims, contract=table(good=1.0), sensing=sensing, moments=moments, reconstruction=sensing)
    assert by_claim(found, "new") == {"C2": "holds", "S1": "void", "T1": "holds"}
    assert by_claim(found, "control/bad") == {"S2": "holds"}
    assert set(found[found["verdict"] == gate.VOID]["case"].str.partition(":")[0]) == {"the contract was not measured"}


def test_without_a_table_of_the_contract_all_is_void(claims: list[Claim]) -> None:
    without = verdicts(claims, moments=table(good=1.0), reconstruction=table(good=1.0))
    assert by_claim(without, "good") == dict.fromkeys(("S1", "S2", "T1"), "void")
    assert set(without[without["verdict"] == gate.VOID]["case"].str.rpartition(": ")[2]) == {"its table is missing"}


def test_what_is_inconclusive_does_not_count(claims: list[Claim]) -> None:
    vague = table(good=1.0).assign(trials=100)
    found = verdicts(claims, contract=vague, moments=table(good=1.0))
    assert by_claim(found, "good") == {"C1": "inconclusive", "S1": "holds", "S2": "holds"}


def rendered(claims: list[Claim], found: pd.DataFrame) -> str:
    found = with_code(found, claims, {})
    return page.render(claims, found, {**FACTS, "kinds": ALL_KINDS}, ErrorRate().levels([]))


def test_the_page_says_what_is_broken_and_what_was_not_measured(claims: list[Claim]) -> None:
    moments = table(good=1.0, bad=1.0, new=1.0)
    broken = rendered(claims, verdicts(claims, contract=table(good=1.0, bad=1.5), moments=moments))
    assert "It was not measured for NEW." in broken
    assert "- BAD (bad): C1" in broken
    kept = rendered(claims, verdicts(claims, contract=table(good=1.0, bad=1.0), moments=moments))
    assert "No method breaks it." in kept
    without = rendered(claims, verdicts(claims, moments=moments))
    assert "This run did not measure it." in without


# The chance that a rerun gives another verdict


def judgement(verdict: Verdict, flips: float = np.nan) -> Judgement:
    return Judgement("one", "probability", Comparison(verdict, "", 0.0, 0.0, 1.0, 0.5, 1.0, 24, flips=flips))


def test_what_holds_needs_all_of_its_comparisons_and_its_control() -> None:
    both = [judgement("holds", 0.1), judgement("holds", 0.2), judgement("holds")]
    assert chance_of_another("holds", both, {}) == pytest.approx(1 - 0.9 * 0.8)
    control = {"negative_control": [judgement("fails", 0.5), judgement("fails", 0.5), judgement("holds", 0.9)]}
    assert chance_of_another("holds", both, control) == pytest.approx(1 - 0.9 * 0.8 * 0.75)


def test_a_control_that_is_not_rejected_changes_nothing() -> None:
    assert chance_of_another(
        "holds", [judgement("holds", 0.1)], {"near_miss": [judgement("holds", 0.9)]}
    ) == pytest.approx(0.1)


def test_what_fails_needs_one_that_fails() -> None:
    assert chance_of_another(
        "fails", [judgement("fails", 0.1), judgement("fails", 0.2), judgement("holds", 0.9)], {}
    ) == (pytest.approx(0.02))
    assert np.isnan(chance_of_another("fails", [judgement("fails", 0.1), judgement("fails")], {}))  # the other stays


def test_without_counts_nothing_is_known() -> None:
    assert np.isnan(chance_of_another("holds", [judgement("holds")], {}))
    assert chance_of_another("inconclusive", [judgement("inconclusive", 0.3), judgement("holds", 0.1)], {}) == 0.3


def test_a_method_must_have_all_contracts_of_its_kind() -> None:
    """Here the sensing family of `mine` was measured, but not its decoder."""
    kinds = dict.fromkeys(("sensing", "decoder", "errors"), "recovery")

    def row(study: str, method: str, role: str = gate.ROLE) -> dict[str, str]:
        return {"study": study, "method": method, "role": role, "verdict": "holds", "claim": study, "case": ""}

    contracts = [row("sensing", "mine"), row("sensing", "fiht"), row("decoder", "fiht")]
    judged = [row("errors", name, "printed") for name in ("mine", "fiht")]
    found = gate.apply_gate([*contracts, *judged], kinds)
    assert [one["verdict"] for one in found[-2:]] == [gate.VOID, "holds"]
    assert gate.measured_methods(contracts, kinds) == {("recovery", "fiht")}
