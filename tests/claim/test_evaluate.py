"""Claims as files, the shared error rate, and what was predicted."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import writing
from all_claims import entry_text

from sketchbench.command.main import main
from sketchbench.measure.column import TRIALS_THERE
from sketchbench.report import seal
from sketchbench.report.claim import page
from sketchbench.report.claim.check import broken
from sketchbench.report.claim.claims import ClaimError, check_studies, read_claims
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.report.claim.state import with_code
from sketchbench.run.config.schema import SchemaError

ROOT = Path(__file__).parents[2]


def table(**means: float) -> pd.DataFrame:
    measured = writing.table(**means)
    return pd.concat([measured, measured.assign(quantity="other", mean=7.0)], ignore_index=True)


def write(folder: Path, **changes: Any) -> list[Path]:
    predicted = {"default": "holds", "control/bad": "fails"}
    writing.claim(folder, "X1", "one", **{"role": "printed", "predicted": predicted, **changes})
    return [folder / "X1.yaml"]


def test_verdicts_per_method(tmp_path: Path) -> None:
    claims = read_claims(write(tmp_path))
    tables = {"one": table(good=1.0, bad=2.0, **{"control/bad": 2.0})}
    verdicts, levels = evaluate(claims, tables, "quick")
    assert levels.comparisons == 2  # one for each method; a control is none unless it is named
    found = verdicts.set_index("method")[["verdict", "predicted"]].T.to_dict("list")
    assert found == {"good": ["holds", "holds"], "bad": ["fails", "holds"]}

    claims = read_claims(write(tmp_path, methods=["control/bad"]))
    verdicts, _ = evaluate(claims, tables, "quick")
    assert verdicts[["verdict", "predicted"]].to_numpy().tolist() == [["fails", "fails"]]


def test_another_prediction_for_a_scale(tmp_path: Path) -> None:
    days = {"default": "2026-01-01", "good": "2026-01-02"}
    told = {"predicted": {"default": "fails", "good": "inconclusive"}, "predicted_on": days}
    scales = {"paper": {**told, "reason": "three trainings"}, "smoke": {"reason": "few"}}
    claims = read_claims(write(tmp_path, scales=scales, predicted_on="2025-12-31"))
    tables = {"one": table(good=1.0, bad=2.0)}
    predicted = {
        scale: dict(evaluate(claims, tables, scale)[0][["method", "predicted"]].to_numpy())
        for scale in ("smoke", "quick", "paper")
    }
    holds = {"good": "holds", "bad": "holds"}
    assert predicted == {"smoke": holds, "quick": holds, "paper": {"good": "inconclusive", "bad": "fails"}}
    assert [claims[0].at(scale).day("bad") for scale in predicted] == ["2025-12-31", "2025-12-31", "2026-01-01"]
    assert claims[0].at("paper").day("good") == "2026-01-02"
    assert [claims[0].at(scale).reason for scale in predicted] == ["few", "", "three trainings"]
    (absent,) = evaluate(claims, {}, "paper")[0]["predicted"]
    assert absent == "fails"
    for wrong, message in (
        ({"scales": {"paper": told}}, "reason"),
        ({"scales": {"paper": {"predicted": "fails", "reason": "x"}}}, "predicted_on"),
        ({"predicted_on": "yesterday"}, "predicted_on"),
        ({"predicted": "any"}, "predicted"),
    ):
        with pytest.raises(SchemaError, match=message):
            read_claims(write(tmp_path, **wrong))


def test_no_verdict_depends_on_what_was_predicted(tmp_path: Path) -> None:
    tables = {"one": table(good=1.0, bad=2.0)}
    found = []
    for told in ("holds", "fails", None):
        writing.claim(tmp_path, "X1", "one", predicted=told)
        path = tmp_path / "X1.yaml"
        path.write_text("".join(line for line in path.open() if "null" not in line))
        found.append(evaluate(read_claims([path]), tables, "quick")[0])
    assert [set(one.pop("predicted")) for one in found] == [{"holds"}, {"fails"}, {"nothing"}]
    for one in found[1:]:
        pd.testing.assert_frame_equal(one, found[0])


def test_computed_numbers_take_no_share_of_the_error(tmp_path: Path) -> None:
    both = [
        {"criterion": "equality", "where": {"quantity": "q"}, "margin": 0.1},
        {"criterion": "computed", "where": {"quantity": "exact"}},
    ]
    claims = read_claims(write(tmp_path, checks=both))
    number = {"method": "good", "label": "G", "quantity": "exact", "value": 2.0, "bound": 3.0}
    measured = pd.concat([table(good=1.0), pd.DataFrame([number])])
    verdicts, levels = evaluate(claims, {"one": measured}, "quick")
    assert levels.comparisons == 1
    assert verdicts["verdict"].tolist() == ["holds"]
    assert verdicts["comparisons"].tolist() == [2]


def test_a_comparison_of_a_single_trial_takes_its_share_of_the_error(tmp_path: Path) -> None:
    check = {"criterion": "probability", "where": {"quantity": "q"}}
    rows = table(good=1.0).assign(trials=1, count=0, bound=0.5)
    verdicts, levels = evaluate(read_claims(write(tmp_path, checks=[check])), {"one": rows}, "quick")
    assert verdicts["verdict"].tolist() == ["inconclusive"]
    assert levels.comparisons == 1


def test_a_study_that_did_not_run(tmp_path: Path) -> None:
    verdicts, levels = evaluate(read_claims(write(tmp_path)), {}, "quick")
    assert levels.comparisons == 0
    assert verdicts["verdict"].tolist() == ["not run"]
    assert verdicts["case"].tolist() == [""]
    verdicts, _ = evaluate(read_claims(write(tmp_path)), {}, "quick", takes={"one": "2 runs", "other": "3 runs"})
    assert verdicts["case"].tolist() == ["one: 2 runs"]


def test_an_old_table_without_what_a_claim_asks_for(tmp_path: Path) -> None:
    claims = read_claims(write(tmp_path))
    old = table(good=1.0).replace({"quantity": {"q": "another"}})
    with pytest.raises(ClaimError, match="finds nothing to judge"):
        evaluate(claims, {"one": old}, "quick")
    verdicts, _ = evaluate(claims, {"one": old}, "quick", older=["one"], takes={"one": "2 runs", "other": "3 runs"})
    assert verdicts["verdict"].tolist() == ["not run"]
    (case,) = verdicts["case"]
    assert "finds nothing to judge in study one" in case
    assert case.endswith("; one: 2 runs")


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    check = {"criterion": "equality", "where": {"lemma": "q"}}
    claims = read_claims(write(tmp_path, checks=[check]))
    with pytest.raises(ClaimError, match="the table of one has no column lemma"):
        evaluate(claims, {"one": table(good=1.0)}, "quick")


def test_a_claim_that_finds_nothing(tmp_path: Path) -> None:
    check = {"criterion": "equality", "where": {"quantity": "p"}}
    claims = read_claims(write(tmp_path, checks=[check]))
    with pytest.raises(ClaimError, match="X1: criterion equality finds nothing to judge in study one"):
        evaluate(claims, {"one": table(good=1.0)}, "quick")
    verdicts, _ = evaluate(claims, {"one": table(good=1.0)}, "smoke", whole=False)
    (row,) = verdicts.to_dict("records")
    assert row["verdict"] == "not run"
    assert row["case"].startswith("X1: criterion equality finds nothing to judge in study one")
    scales = {"paper": {"not_run": True, "reason": "Its runs are left out."}}
    claims = read_claims(write(tmp_path, checks=[check], scales=scales))
    with pytest.raises(ClaimError, match="finds nothing to judge"):
        evaluate(claims, {"one": table(good=1.0)}, "quick")
    verdicts, _ = evaluate(claims, {"one": table(good=1.0)}, "paper")
    assert verdicts["verdict"].tolist() == ["not run"]
    check = {"criterion": "growth", "where": {"quantity": "q"}, "over": "d"}
    claims = read_claims(write(tmp_path, checks=[check]))
    with pytest.raises(ClaimError, match="no column d to grow along"):
        evaluate(claims, {"one": table(good=1.0)}, "quick")


def test_an_unknown_study(tmp_path: Path) -> None:
    claims = read_claims(write(tmp_path))
    with pytest.raises(ClaimError, match="X1: study=one is unknown; choose one of two"):
        check_studies(claims, ["two"])


def test_half_the_studies_are_not_enough(tmp_path: Path) -> None:
    claims = read_claims(write(tmp_path, studies=["one", "two"]))
    verdicts, _ = evaluate(claims, {"one": table(good=1.0)}, "quick")
    assert verdicts["verdict"].tolist() == ["not run"]


def judged(folder: Path, tables: dict[str, pd.DataFrame], **changes: Any) -> dict[str, Any]:
    verdicts, _ = evaluate(read_claims(write(folder, methods=["good"], **changes)), tables, "quick")
    (row,) = verdicts.to_dict("records")
    return row


@pytest.mark.parametrize(
    ("control", "passed", "verdict"),
    [
        (2.0, "fails", "holds"),
        (1.0, "holds", "vacuous"),  # a control that is made sound
    ],
)
def test_a_claim_holds_only_where_its_control_fails(tmp_path: Path, control: float, passed: str, verdict: str) -> None:
    row = judged(tmp_path, {"one": table(good=1.0, zero=control)}, negative_control={"method": "zero"})
    assert (row["verdict"], row["negative_control_verdict"]) == (verdict, passed)
    assert (row["negative_control"], row["negative_control_statistic"]) == ("zero", control)
    assert row["predicted"] == "holds"


def test_an_open_control_leaves_the_claim_open(tmp_path: Path) -> None:
    """One without rows, too: nothing may hold because its control did not run."""
    wide = table(good=1.0, zero=1.0).assign(skewness=0.0)
    wide.loc[wide["method"] == "zero", "skewness"] = 99.0
    row = judged(tmp_path, {"one": wide}, negative_control={"method": "zero"})
    assert (row["verdict"], row["negative_control_verdict"]) == ("inconclusive", "inconclusive")
    row = judged(tmp_path, {"one": table(good=1.0)}, negative_control={"method": "zero"})
    assert (row["verdict"], row["negative_control_verdict"]) == ("inconclusive", "not run")


@pytest.mark.parametrize(
    ("near", "zero", "good", "verdict"),
    [
        (2.0, 2.0, 1.0, "holds"),
        (1.0, 2.0, 1.0, "holds, not sharp"),
        (None, 2.0, 1.0, "holds, not sharp"),  # it has no rows, so that nothing shows that it is rejected
        (1.0, 1.0, 1.0, "vacuous"),
        (1.0, 2.0, 3.0, "fails"),
    ],
)
def test_a_claim_is_sharp_only_where_its_near_miss_fails(
    tmp_path: Path, near: float | None, zero: float, good: float, verdict: str
) -> None:
    means = {"good": good, "zero": zero} | ({} if near is None else {"near": near})
    controls = {"negative_control": {"method": "zero"}, "near_miss": {"method": "near"}}
    row = judged(tmp_path, {"one": table(**means)}, **controls)
    passed = {2.0: "fails", 1.0: "holds", None: "not run"}[near]
    assert (row["verdict"], row["near_miss"], row["near_miss_verdict"]) == (verdict, "near", passed)


@pytest.mark.parametrize(
    ("good", "zero", "near", "verdict"),
    [
        (1.0, 2.0, 2.0, "not refuted"),
        (1.0, 2.0, 1.0, "not refuted"),
        (3.0, 2.0, 2.0, "fails"),
        (1.0, 1.0, 2.0, "vacuous"),
    ],
)
def test_attacks_never_prove_a_claim(tmp_path: Path, good: float, zero: float, near: float, verdict: str) -> None:
    """They may refute it, and a control decides whether they could have."""
    controls = {"negative_control": {"method": "zero"}, "near_miss": {"method": "near"}}
    found = table(good=good, zero=zero, near=near)
    row = judged(tmp_path, {"one": found}, attacks=["ours"], predicted="holds", **controls)
    assert (row["verdict"], row["predicted"]) == (verdict, "not refuted")
    failing = judged(tmp_path, {"one": found}, attacks=["ours"], predicted="fails", **controls)
    assert failing["predicted"] == "fails"


def test_near_misses_share_a_rate_of_their_own(tmp_path: Path) -> None:
    """Two comparisons of the claim, as many of its controls, and three of its near misses: three share the rate."""
    tables = {"one": table(good=1.0, other=1.0, zero=2.0), "two": table(near=2.0), "three": table(near=2.0)}
    one = {"method": "near", "studies": ["two"]}
    near = {"good": one, "other": {**one, "studies": ["two", "three"]}}
    claims = read_claims(
        write(tmp_path, methods=["good", "other"], negative_control={"method": "zero"}, near_miss=near)
    )
    assert evaluate(claims, tables, "quick")[1].comparisons == 3


def test_a_near_miss_that_can_not_be(tmp_path: Path) -> None:
    row = judged(tmp_path, {"one": table(good=1.0)}, near_miss={"reason": "it has no rows to leave out"})
    assert (row["verdict"], row["near_miss"], row["near_miss_verdict"]) == ("holds", "none can be", "")
    assert judged(tmp_path, {"one": table(good=1.0)})["near_miss"] == ""


def test_a_near_miss_in_another_study(tmp_path: Path) -> None:
    near = {"studies": ["two"]}
    assert judged(tmp_path, {"one": table(good=1.0), "two": table(good=2.0)}, near_miss=near)["verdict"] == "holds"
    assert judged(tmp_path, {"one": table(good=1.0)}, near_miss=near)["verdict"] == "not run"


@pytest.mark.parametrize("control", [1.0, 2.0])
def test_a_control_changes_no_failure(tmp_path: Path, control: float) -> None:
    row = judged(tmp_path, {"one": table(good=3.0, zero=control)}, negative_control={"method": "zero"})
    assert row["verdict"] == "fails"


@pytest.mark.parametrize(("mean", "verdict"), [(1.0, "holds"), (3.0, "does not transfer")])
def test_what_fails_on_a_stand_in_does_not_transfer(tmp_path: Path, mean: float, verdict: str) -> None:
    tables = {"one": table(good=mean, zero=2.0)}
    row = judged(tmp_path, tables, negative_control={"method": "zero"}, stand_ins=["smoke", "quick"])
    assert row["verdict"] == verdict
    elsewhere = judged(tmp_path, tables, negative_control={"method": "zero"}, stand_ins=["paper"])
    assert elsewhere["verdict"] == ("holds" if verdict == "holds" else "fails")


def test_a_reason_is_no_control(tmp_path: Path) -> None:
    row = judged(tmp_path, {"one": table(good=1.0)}, negative_control={"reason": "an identity"})
    assert (row["verdict"], row["negative_control"], row["negative_control_verdict"]) == ("holds", "none can be", "")
    row = judged(tmp_path, {"one": table(good=1.0)})
    assert (row["verdict"], row["negative_control"], row["negative_control_verdict"]) == ("holds", "", "")


def test_a_control_in_another_study(tmp_path: Path) -> None:
    control = {"studies": ["two"]}
    row = judged(tmp_path, {"one": table(good=1.0), "two": table(good=2.0)}, negative_control=control)
    assert (row["verdict"], row["negative_control"], row["study"]) == ("holds", "two", "one")
    assert judged(tmp_path, {"one": table(good=1.0)}, negative_control=control)["verdict"] == "not run"
    with pytest.raises(ClaimError, match="X1: study=two is unknown"):
        check_studies(read_claims(write(tmp_path, negative_control=control)), ["one"])


def test_a_control_with_other_values(tmp_path: Path) -> None:
    row = judged(tmp_path, {"one": table(good=1.0)}, negative_control={"where": {"quantity": "other"}})
    assert (row["verdict"], row["negative_control_statistic"]) == ("holds", 7.0)


def test_a_control_is_with_references_its_own_reference_or_that_of_the_claim(tmp_path: Path) -> None:
    measured = table(good=1.0, zero=2.0)
    measured.loc[measured["method"] == "zero", "exact"] = 2.0
    for reference, verdict in (("control", "vacuous"), ("claim", "holds")):
        control = {"method": "zero", "reference": reference}
        assert judged(tmp_path, {"one": measured}, negative_control=control)["verdict"] == verdict


def test_only_the_checks_of_the_method_are_put_to_its_control(tmp_path: Path) -> None:
    """`good` has no rows of study two, so that what `zero` has there is nothing to compare with."""
    checks = [
        {"criterion": "equality", "where": {"quantity": "q"}, "margin": 0.1},
        {"criterion": "equality", "where": {"quantity": "q"}, "margin": 0.1, "studies": ["two"]},
    ]
    tables = {"one": table(good=1.0, zero=1.0), "two": table(zero=2.0, better=1.0)}
    claims = read_claims(write(tmp_path, checks=checks, negative_control={"method": "zero"}))
    verdicts, _ = evaluate(claims, tables, "quick")
    assert verdicts.set_index("method")["verdict"].to_dict() == {"good": "vacuous", "better": "holds", "zero": "fails"}


def test_what_is_a_control_needs_none(tmp_path: Path) -> None:
    """Neither the method that the claim takes for one, nor the methods that are broken on purpose, nor such claims."""
    tables = {"one": table(good=1.0, zero=1.0, **{"control/bad": 1.0})}
    claims = read_claims(write(tmp_path, methods=["good", "zero", "control/bad"], negative_control={"method": "zero"}))
    verdicts, _ = evaluate(claims, tables, "quick")
    found = verdicts.set_index("method")
    assert found["negative_control"].to_dict() == {"good": "zero", "zero": "", "control/bad": ""}
    assert found["role"].to_dict() == {"good": "printed", "zero": "printed", "control/bad": "control"}
    row = judged(tmp_path, tables, role="control", negative_control={"method": "zero"})
    assert (row["verdict"], row["role"], row["negative_control"]) == ("holds", "control", "")


def test_controls_have_an_error_rate_of_their_own(tmp_path: Path) -> None:
    """At the level of the claims, which only more controls than claims would lower."""
    tables = {"one": table(good=1.0, zero=2.0), "two": table(**{f"s{i}": 2.0 for i in range(9)}, good=2.0)}
    alone, levels = evaluate(read_claims(write(tmp_path, methods=["good"])), tables, "quick")
    assert levels.comparisons == 1
    controlled = judged(tmp_path, tables, negative_control={"method": "zero"})
    assert controlled["high"] == alone["high"].iloc[0]
    both = pd.concat([tables["two"], tables["two"].assign(d=2)])
    more = judged(tmp_path, {**tables, "two": both}, negative_control={"studies": ["two"]})
    assert more["high"] > controlled["high"]


def test_the_tightness_of_a_verdict_is_the_least_of_its_comparisons(tmp_path: Path) -> None:
    both = [
        {"criterion": "equality", "where": {"quantity": "q"}, "margin": 0.1},
        {"criterion": "computed", "where": {"quantity": "exact"}},
    ]
    numbers = [
        {"method": "good", "label": "G", "quantity": "exact", "value": value, "bound": 6.0} for value in (2.0, 3.0)
    ]
    measured = pd.concat([table(good=1.0), pd.DataFrame(numbers)])
    row = judged(tmp_path, {"one": measured}, checks=both)
    assert row["tightness"] == 2.0
    assert row["loosest"] >= row["tightness"]
    assert pd.isna(judged(tmp_path, {"one": table(good=1.0)})["tightness"])


@pytest.mark.parametrize("value", [1.0, 2.0])
@pytest.mark.parametrize("role", ["printed", "contract"])
def test_the_check_fails_where_a_contract_is_broken(
    tmp_path: Path, role: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, role=role)
    results = tmp_path / "one.csv"
    table(good=value).to_csv(results, index=False)
    seal.write("table", "quick", {"records": ""}, [results])
    facts = {"scale": "quick", "kernels": "numba", "seed": 0, "studies": ["one"]}
    facts["skipped"] = [["one", "s", "why"]]
    outputs = {name: tmp_path / "deep" / f"claims.{name}" for name in ("csv", "page")}
    erratum = tmp_path / "errata" / "song2023-D.11.yaml"
    erratum.parent.mkdir()
    erratum.write_text(entry_text("erratum", erratum.stem).replace("[S1]", "[X1]"))
    code, _ = run(
        capsys,
        *("step", "claims", str(results), "--claims", str(tmp_path / "X1.yaml"), "--facts", json.dumps(facts)),
        *("--errata", str(erratum.parent)),
        *(text for name, path in outputs.items() for text in (f"--{name}", str(path))),
    )
    assert code == 0
    page = outputs["page"].read_text()
    assert "X1" in page
    assert "| song2023, Lemma D.11 | misprint |" in page
    assert "one: s: why" in page
    code, out = run(capsys, "check", str(outputs["csv"]))
    assert code == (role == "contract" and value != 1.0)
    assert ("X1 GOOD: the contract is broken" in out) is bool(code)
    assert f"1 verdicts, 1 {'as predicted' if value == 1.0 else 'otherwise'}\n" in out


def test_times_are_compared_with_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim about times passes on every machine, whatever comes out, and beside an older run."""
    claims = read_claims(write(tmp_path, on_times=True))
    found = (evaluate(claims, {"one": table(good=value)}, "quick")[0] for value in (1.0, 2.0))
    old, new = (with_code(verdicts, claims, {}) for verdicts in found)
    assert [*old["verdict"], *new["verdict"], *new["predicted"]] == ["holds", "fails", "any"]
    paths = [tmp_path / name for name in ("old.csv", "new.csv")]
    for verdicts, path in zip((old, new), paths, strict=True):
        verdicts.to_csv(path, index=False)
        seal.write("claims", "quick", {}, [path])
    for strict in ([], ["--strict"]):
        code, out = run(capsys, "check", str(paths[1]), "--against", str(paths[0]), *strict)
        assert code == 0
        assert "reproduced: 0 of 0 verdicts" in out


@pytest.mark.parametrize("role", ["printed", "ours", "contract"])
@pytest.mark.parametrize(
    ("value", "sd", "verdict"), [(1.0, 1.0, "holds"), (1.0, 10.0, "inconclusive"), (2.0, 1.0, "fails")]
)
def test_nothing_is_predicted_of_ones_own_methods(
    tmp_path: Path, role: str, value: float, sd: float, verdict: str
) -> None:
    """But of a project's method with the same number, and another kind with the same name; the contract is for all."""
    claims = read_claims(write(tmp_path, role=role, predicted="holds"))
    tables, kinds = {"one": table(mine=value, ours=value).assign(sd=sd)}, {"one": "sketch"}
    verdicts, _ = evaluate(claims, tables, "quick", kinds=kinds, own={"sketch": ["mine"], "recovery": ["ours"]})
    assert verdicts["verdict"].tolist() == [verdict, verdict]
    assert dict(verdicts[["method", "predicted"]].to_numpy()) == {"mine": "nothing", "ours": "holds"}
    otherwise = "as predicted" if verdict == "holds" else "otherwise"
    assert page.predicted(verdicts).tolist() == ["nothing predicted", otherwise]
    assert len(broken(verdicts)) == (2 if role == "contract" and verdict == "fails" else 0)


def test_ones_own_method_that_breaks_the_contract(tmp_path: Path) -> None:
    for name, study, role in (("C1", "contract", "contract"), ("X1", "one", "printed"), ("X2", "one", "ours")):
        writing.claim(tmp_path, name, study, role)
    claims = read_claims(sorted(tmp_path.glob("*.yaml")))
    tables, kinds = {"contract": table(mine=2.0), "one": table(mine=1.0)}, {"contract": "sketch", "one": "sketch"}
    verdicts, _ = evaluate(claims, tables, "quick", kinds=kinds, own={"sketch": ["mine"]})
    assert verdicts["verdict"].tolist() == ["fails", "void", "void"]
    first, second = map(str, broken(verdicts))
    assert first.startswith("C1 MINE: the contract is broken")
    assert second == "void MINE: 2 verdicts; breaks the contract: C1"


def test_claims_that_find_nothing_of_ones_own_are_left_out(tmp_path: Path) -> None:
    names = {"X1": ("one", {}), "X2": ("another", {}), "X3": ("one", {"methods": ["ours"]})}
    for name, (study, changes) in names.items():
        writing.claim(tmp_path, name, study, **changes)
    claims = read_claims(sorted(tmp_path.glob("*.yaml")))
    for only_own, expected in ((False, ["X1", "X2", "X3"]), (True, ["X1"])):
        verdicts, _ = evaluate(claims, {"one": table(mine=1.0)}, "quick", whole=False, only_own=only_own)
        assert verdicts["claim"].tolist() == expected


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code: Any = 0
    try:
        main([*arguments])
    except SystemExit as stop:
        code = stop.code
    return int(code or 0), capsys.readouterr().out


def test_trials_that_are_not_there_yet(tmp_path: Path) -> None:
    """A claim about runs that have no trial yet is not run, and no mistake; one about others is judged."""
    nothing = {"method": "none", "label": "NONE", "quantity": TRIALS_THERE, "status": "unfinished", "trials": 0}
    claims = read_claims(write(tmp_path))
    for measured, found in (([], {"": "not run"}), ([table(good=1.0)], {"good": "holds"})):
        whole = pd.concat([*measured, pd.DataFrame([nothing])], ignore_index=True)
        verdicts, _ = evaluate(claims, {"one": whole}, "quick")
        assert verdicts.get("method", pd.Series([""])).to_list() == list(found)
        assert verdicts["verdict"].to_list() == list(found.values())
    check = {"criterion": "equality", "where": {"quantity": "p"}}
    verdicts, _ = evaluate(read_claims(write(tmp_path, checks=[check])), {"one": whole}, "quick")
    assert verdicts["verdict"].to_list() == ["not run"]
