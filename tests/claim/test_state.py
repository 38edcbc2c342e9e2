"""Verdicts from tables of several commits: whether each is of the code of the plan, and the commits behind it."""

import json
from pathlib import Path

import pandas as pd
import pytest
from writing import claim, table

from sketchbench.command.main import main
from sketchbench.report import seal
from sketchbench.report.claim.claims import ClaimError, read_claims
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.report.claim.state import commits_behind, describe_states
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
    """Three tables, of three commits, and claims on them; `bad` breaks the contract."""
    claim(tmp_path, "C1", "contract", "contract")
    controls = {"default": {"method": "control/off", "studies": ["controls"]}}
    claim(tmp_path, "S1", "moments", negative_control=controls)
    claim(tmp_path, "S2", "nowhere")
    sealed(tmp_path, "contract", "111111111111", good=1.0, bad=1.5, new=1.0)
    sealed(tmp_path, "moments", "222222222222 333333333333", good=1.0, bad=1.0, new=1.0)
    sealed(tmp_path, "controls", "444444444444", **{"control/off": 2.0})
    return tmp_path


def judged(folder: Path, older: dict[str, dict[str, list[str]]]) -> pd.DataFrame:
    """What `step claims` writes, by claim and method."""
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
    """Those of its own rows and of its negative control's, where tables have an origin; no verdict shows them."""
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
    """A column, a criterion's or one to select by, or rows; of a table of this code that is an error."""
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
