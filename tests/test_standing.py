"""A plan of some studies knows the tables of the others: which are there, and what of them it would make otherwise."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from sketchbench.base.files import FileError
from sketchbench.base.project import CONF
from sketchbench.command.main import main
from sketchbench.plan import making as planning
from sketchbench.plan.plan import Plan
from sketchbench.report import inputs, seal, standing
from sketchbench.report.standing import DROPPED, KERNELS, OLDER, SEED, Table
from sketchbench.report.table import origin
from sketchbench.run import record

STUDIES: dict[str, dict[str, Any]] = {
    "one": {"task": "moments", "sketch": ["ams", "srht"], "axes": {"d": [8], "b": [4]}},
    "two": {"task": "norms", "sketch": ["srht", "gaussian"], "axes": {"d": [8], "b": [4, 16]}},
    "always": {"task": "norms", "sketch": ["all", "control/zero"], "axes": {"d": [8], "b": [4]}, "always": True},
    "elsewhere": {"task": "norms", "sketch": ["srht"], "axes": {"d": [8], "b": [4]}, "only": ["paper"]},
}


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All configs, with four studies: one of them for always, and one for another scale."""
    folder = tmp_path_factory.mktemp("project") / "conf"
    folder.mkdir()
    for entry in CONF.iterdir():
        if entry.name != "study":
            (folder / entry.name).symlink_to(entry)
    (folder / "study").mkdir()
    for name, text in STUDIES.items():
        (folder / "study" / f"{name}.yaml").write_text(yaml.safe_dump(text))
    return folder


def expanded(conf: Path, studies: str, there: dict[str, Table] | None = None, **changes: Any) -> Plan:
    return planning.expand(
        "quick", studies=studies, conf=conf, tables=lambda *_: there or {}, **{"kernels_name": "numpy", **changes}
    )


def made(plan: Plan) -> dict[str, Table]:
    """The tables that a run of this plan leaves behind."""
    return {study: Table(inputs.records_inputs(json.loads(plan.manifest(study))), plan.settings) for study in plan.runs}


def methods(plan: Plan, study: str) -> set[str]:
    return {run.columns["method"] for run in plan.runs[study].values()}


def outdated(found: Table, *names: str) -> Table:
    """The table as it was made of older code of some methods."""
    return Table({**found.made_of, **dict.fromkeys(names, "of older code")}, found.settings)


@pytest.fixture(scope="module")
def there(conf: Path) -> dict[str, Table]:
    return made(expanded(conf, "all"))


@pytest.mark.parametrize("studies", ["one", "two", "two,one", "always"])
def test_after_a_full_run_the_page_says_the_same_whatever_is_chosen(
    conf: Path, there: dict[str, Table], studies: str
) -> None:
    """So a run of some studies that are there finds nothing to do."""
    whole, some = expanded(conf, "all"), expanded(conf, studies, there)
    assert "b > d" not in whole.facts  # of another reason: b=16 rows without replacement need b <= 8
    assert [skipped.study for skipped in whole.skipped] == ["elsewhere", "two"]
    assert some.facts == whole.facts
    assert some.tables == some.up_to_date_tables == whole.tables == ["always", "one", "two"]
    assert sorted(some.runs) == sorted(studies.split(","))
    assert expanded(conf, "all", there).standing == {}


def test_and_so_after_a_run_of_some(conf: Path) -> None:
    """Where there was nothing before, the second run of the same studies is told the same as the first."""
    first = expanded(conf, "one")
    second = expanded(conf, "one", made(first))
    assert list(first.runs) == ["one", "always"]
    assert list(second.runs) == ["one"]
    assert second.facts == first.facts
    assert first.tables == second.tables


@pytest.mark.parametrize(
    ("change", "options", "states"),
    [
        (lambda found: outdated(found, "srht"), {}, {OLDER: ["srht"]}),
        (lambda found: Table({**found.made_of, "ams": "once"}, found.settings), {}, {DROPPED: ["ams"]}),
        (lambda found: Table(dict.fromkeys(found.made_of, ""), {}), {}, {OLDER: ["gaussian", "srht"]}),
        (lambda found: found, {"seed": 1}, {SEED: ["gaussian", "srht"]}),
        (lambda found: found, {"kernels_name": "numba"}, {KERNELS: ["gaussian", "srht"]}),
    ],
    ids=["code", "method", "no origin", "seed", "kernels"],
)
def test_what_is_not_of_this_plan(
    conf: Path, there: dict[str, Table], change: Any, options: dict[str, Any], states: dict[str, list[str]]
) -> None:
    plan = expanded(conf, "one", {**there, "two": change(there["two"])}, **options)
    assert plan.older["two"] == json.loads(plan.facts)["older"]["two"] == states
    assert "two" in plan.tables
    assert "two" not in plan.up_to_date_tables


def test_a_method_that_a_table_does_not_have_yet_is_listed(conf: Path, there: dict[str, Table]) -> None:
    made_of = {"srht": there["two"].made_of["srht"]}
    plan = expanded(conf, "one", {**there, "two": Table(made_of, there["two"].settings)})
    (listed,) = (skipped for skipped in plan.skipped if skipped.name == "gaussian")
    assert (listed.study, plan.older) == ("two", {})
    assert "run the study again" in listed.reason


def test_the_contract_of_all_verdicts_that_stay(conf: Path, there: dict[str, Table]) -> None:
    """It stays where it is of this code for what is chosen; else it is made again, of all methods that it had."""
    whole = set(there["always"].made_of)
    for names, kept in ((["gaussian"], True), (["ams"], False), (["control/zero"], False)):
        plan = expanded(conf, "one", {**there, "always": outdated(there["always"], *names)})
        assert ("always" in plan.standing) is kept
        assert ("always" in plan.older) is kept
        assert kept or methods(plan, "always") == whole
    lost = expanded(conf, "one", {name: there[name] for name in ("one", "two")})
    assert methods(lost, "always") == {"ams", "srht", "gaussian", "control/zero"}
    few = made(expanded(conf, "one"))
    assert methods(expanded(conf, "two", few), "always") == {"ams", "srht", "gaussian", "control/zero"}


# --- the files


def tabulated(folder: Path, study: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of two methods, made by the command from records of several commits."""
    manifest = []
    for method, commit in (("ams", "1a"), ("srht", "2b"), ("srht", None)):
        place = folder / "results" / f"{study}-{method}-{commit}.parquet"
        config = {"seed": 7, "kernels": "numpy"}
        record.write(
            place, record.Record([{"mean": 1.0, "case": study}], {"signature": "s", "commit": commit, "config": config})
        )
        columns = {"method": method, "label": method.upper(), "quantity": "q"}
        manifest.append({"record": str(place), "signature": "s", "columns": columns})
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(manifest)))
    csv = folder / "tables" / f"{study}.csv"
    main(["step", "table", study, "--csv", str(csv), "--scale", "quick"])
    return csv


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "tables").iterdir() if path.is_file()}


def test_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole tables stay byte for byte; damaged ones are put aside; and what takes no part is named in one line each."""
    names = ("whole", "moved", "damaged", "cut", "unsealed", "removed", "planned")
    csv = {name: tabulated(tmp_path, name, monkeypatch) for name in names}
    own = origin.read(csv["whole"])
    assert own is not None
    assert own.commits == {"ams": "1a", "srht": "2b"}
    csv["damaged"].write_text(csv["damaged"].read_text().replace("1", "2"))
    seal.beside(csv["cut"]).write_text("{")
    seal.beside(csv["unsealed"]).unlink()
    shutil.copy(csv["whole"], csv["moved"])
    found = standing.find_tables(tmp_path, "quick")
    assert set(found) == {"whole", "removed", "planned"}
    assert set(found["whole"].made_of) == {"ams", "srht"}
    assert found["whole"].settings == {"seed": "7", "kernels": "numpy"}
    assert standing.find_tables(tmp_path, "paper") == {}

    before = contents(tmp_path)
    lines = standing.check_others(tmp_path, "quick", ["planned"], ["whole"])
    folder = tmp_path / "tables"
    set_aside = {name: f"{folder}/{name}" for name in ("cut.seal", "damaged.csv", "moved.csv")}
    assert [line.partition(": ")[0] for line in lines[:3]] == list(set_aside.values())
    assert all("set aside" in line for line in lines[:3])
    assert lines[3].startswith(f"{folder}: unsealed: without seals")
    assert lines[4].startswith(f"{folder}: removed: of no study of this plan at scale=quick")
    assert len(lines) == 5
    after = contents(tmp_path)
    assert after == {(f"{name}.rejected" if name in set_aside else name): content for name, content in before.items()}


def test_a_seal_that_names_no_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    csv = tabulated(tmp_path, "one", monkeypatch)
    seal.write("table", "quick", {"records": "00"}, [csv])
    assert standing.find_tables(tmp_path, "quick") == {"one": Table({"ams": "", "srht": ""}, {})}


def test_jobs_are_told_what_was_there(tmp_path: Path, there: dict[str, Table]) -> None:
    place = tmp_path / "standing.json"
    place.write_text(standing.to_json(there))
    assert standing.from_json(place) == there
    for content in ("", "[]", '{"one": 1}', '{"one": {"made": 1}}'):
        place.write_text(content)
        with pytest.raises(FileError, match=r"standing\.json can't be read .*start snakemake again"):
            standing.from_json(place)
    with pytest.raises(FileError, match="start snakemake again"):
        standing.from_json(tmp_path / "none")


def test_a_job_plans_as_the_run_that_started_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a table that was there is no more, or is made by then."""
    monkeypatch.chdir(tmp_path)
    settings = {**yaml.safe_load((CONF / "workflow.yaml").read_text()), "kernels": "numpy", "studies": "consensus"}
    csv = tabulated(tmp_path / "reports", "tails", monkeypatch)
    plan = planning.from_settings(settings)
    assert set(plan.older["tails"]) == {SEED}
    plan.describe()
    csv.unlink()
    tabulated(tmp_path / "reports", "norms", monkeypatch)
    job = planning.from_settings(settings, main=False)
    assert (job.facts, job.standing, job.batches) == (plan.facts, plan.standing, plan.batches)
    assert planning.from_settings(settings).standing.keys() == {"norms"}


def test_claims_are_judged_again_where_a_table_a_state_or_a_claim_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever Snakemake remembers: the seal of the page tells what it was judged from."""
    csv = tabulated(tmp_path, "one", monkeypatch)
    files = [tmp_path / "claims.csv", tmp_path / "claims.md"]
    facts, claim = json.dumps({"older": {}}), tmp_path / "S1.yaml"
    claim.write_text("predicted: holds\n")

    def judged() -> bool:
        for path in files:
            path.write_text("")
        seal.write("claims", "quick", inputs.claims_inputs(seal.sums([csv]), facts, [claim]), files)
        return current(facts)

    def current(told: str) -> bool:
        assert standing.check(tmp_path, "quick", {}, facts=told, claims=[claim], standing=["one"]) == []
        return seal.beside(files[0]).exists()

    assert judged()
    assert not current(json.dumps({"older": {"one": {OLDER: ["ams"]}}}))
    assert judged()
    claim.write_text("predicted: fails\n")
    assert not current(facts)
    assert judged()
    csv.write_text(csv.read_text() + "\n")
    seal.write("table", "quick", {}, [csv])
    assert not current(facts)


def test_the_origin_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All machines and versions of its records, apart from the table; of another table it says nothing."""
    csv = tabulated(tmp_path, "one", monkeypatch)
    assert not seal.read(seal.beside(csv)).commits
    made = {"commit": "a", "machine": "Linux, Python 3", "versions": {"torch": "2", "numpy": "1"}}
    origin.write(csv, "quick", [("ams", made), ("ams", {**made, "versions": {"numpy": "2"}}), ("ams", {"commit": "b"})])
    own = origin.read(csv)
    assert own is not None
    assert own.machines == {
        "machine": "Linux, Python 3",
        "arithmetic": "not known",
        "versions": "numpy 1, torch 2; numpy 2",
    }
    assert origin.commits_of(csv) == origin.commits_of(csv, "ams") == {"a", "b"}
    assert origin.commits_of(csv, "srht") == set()
    origin.place(csv).write_text(origin.place(csv).read_text().replace('"a b"', '"a c"'))
    with pytest.raises(seal.SealError, match=r"origin/one\.seal: no whole seal"):
        origin.read(csv)
    origin.write(csv, "quick", [("ams", {**made, "arithmetic": "x86-64-v3"}), ("ams", made)])
    assert origin.machines_of(csv)["arithmetic"] == "not known; x86-64-v3"
    csv.write_text("edited")
    assert origin.read(csv) is None
