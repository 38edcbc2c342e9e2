"""Studies expand into named, stable runs; every scale of every study can."""

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from whole_plan import whole_plan

from sketchbench.base.errors import ConfigError
from sketchbench.base.project import CONF, PROJECT
from sketchbench.measure.column import CONTROLS
from sketchbench.plan import making as planning
from sketchbench.plan.batch import LEAST
from sketchbench.plan.plan import SHORT, Plan
from sketchbench.run.config import composition
from sketchbench.run.config import study as study_files
from sketchbench.run.config.chapters import named
from sketchbench.run.config.composition import user_folder
from sketchbench.run.config.schema import SchemaError

STUDIES = list(named(CONF, "study"))


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """All configs, without studies."""
    folder = tmp_path / "conf"
    folder.mkdir()
    for entry in CONF.iterdir():
        if entry.name != "study":
            (folder / entry.name).symlink_to(entry)
    (folder / "study").mkdir()
    return folder


def expanded(conf: Path, study: dict[str, Any], scale: str = "quick", **others: dict[str, Any]) -> Plan:
    """The plan of a study `one`, with others beside it."""
    for name, text in {"one": study, **others}.items():
        (conf / "study" / f"{name}.yaml").write_text(yaml.safe_dump(text, sort_keys=False))
    return planning.expand(scale, "numpy", studies="one", conf=conf)


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_every_study_expands(scale: str) -> None:
    plan = whole_plan(scale)
    left_out = {skipped.study for skipped in [*plan.skipped, *plan.besides] if skipped.name == "all runs"}
    assert list(plan.runs) == [name for name in STUDIES if name not in left_out]
    texts = {name: yaml.safe_load(named(CONF, "study")[name].read_text()) for name in STUDIES}
    long = {name for name, text in texts.items() if "long" in text.get("scales", {}).get(scale, {})}
    assert left_out == long or scale == "quick"
    assert all(plan.runs.values())
    records = [run.record for batch in plan.all_batches for run in batch.runs]
    joined = [run for run in plan.all_runs if run.trials]
    assert bool(joined) == (scale == "paper")
    assert len(set(records)) == len(records) == len(plan.units) + len(joined)
    assert len(set(plan.all_receipts)) == len(plan.all_receipts)
    assert not any("${" in json.dumps(run.config) for run in plan.all_runs)
    assert all(skipped.reason for skipped in plan.skipped)


def test_short_studies_share_processes() -> None:
    """Every run is in one batch, and those of a short study are together; none of a user's own code is short."""
    plan = dataclasses.replace(whole_plan("quick"), sharing="short")
    records = [run.record for batch in plan.all_batches for run in batch.runs]
    assert sorted(records) == sorted(unit.record for unit in plan.units)
    assert sorted([*plan.shared, *plan.apart]) == sorted(plan.runs)
    assert len(plan.batches["short"]) < len(plan.shared) / 4
    assert {len(plan.batches_of(study)) for study in plan.shared} == {1}
    for study in plan.shared:
        assert sum(run.seconds or 0 for run in plan.runs[study].values()) <= SHORT
    assert plan.first == [study for study in plan.shared if list(plan.batches_of(study)) == ["1"]]
    assert sum(run.seconds or 0 for study in plan.first for run in plan.runs[study].values()) <= LEAST
    order = sorted(plan.batches["short"], key=lambda number: -plan.priority("short", number))
    assert order[0] == "1"
    assert plan.batches["short"][order[1]].seconds == max(one.seconds or 0 for one in plan.batches["short"].values())
    assert not dataclasses.replace(plan, runs={"units": plan.runs["units"]}).first  # all of it is done as soon
    mine = {"task": {"_target_": "mine.Task"}}
    first = next(iter(plan.runs["units"].values()))
    own = {"units": {"own": dataclasses.replace(first, config=mine)}}
    assert not dataclasses.replace(plan, runs=own).shared


def test_trials_that_can_be_no_runs(conf: Path) -> None:
    with pytest.raises(ConfigError, match=r"one\.yaml: trials: the task norms has no trials that can be separate runs"):
        expanded(conf, {"task": "norms", "sketch": ["srht"], "scales": {"quick": {"trials": "runs"}}})
    with pytest.raises(SchemaError, match="trials"):
        expanded(conf, {"task": "training", "sketch": ["srht"], "scales": {"quick": {"trials": 3}}})


def test_expansion_is_stable() -> None:
    """Signatures are those of the config and code alone, not of the order or of other studies."""
    alone = planning.expand("quick", "numba", studies="norms")
    assert alone.runs["norms"] == whole_plan("quick").runs["norms"]
    other = planning.expand("quick", "numba", seed=1, studies="norms")
    names = alone.runs["norms"].keys()
    assert names == other.runs["norms"].keys()
    assert all(alone.runs["norms"][n].signature != other.runs["norms"][n].signature for n in names)


def test_all_means_every_file() -> None:
    files = {path.stem for path in (CONF / "sketch").glob("*.yaml")}
    runs = whole_plan("quick").runs["embedding"]
    assert {run.columns["method"] for run in runs.values()} == files
    assert {run.config["b"] for run in runs.values() if run.columns["method"] == "identity"} == {16}


def test_labels_do_not_count() -> None:
    """How a sketch is called in figures is no part of what a run is."""
    run = next(iter(whole_plan("quick").runs["tails"].values()))
    assert "label" not in json.dumps(run.config)
    assert run.columns["label"]


def test_impossible_sizes_are_left_out_with_the_reason() -> None:
    plan = whole_plan("quick")
    reasons = {skipped.name: skipped.reason for skipped in plan.skipped if skipped.study == "inner_products"}
    assert "set replacement=true or lower b" in reasons["srht/d64-b128"]
    (told,) = (reason for study, _, reason in json.loads(plan.facts)["skipped"] if study == "inner_products")
    assert told == reasons["srht/d64-b128"]


RECOVERIES = sorted(path.stem for path in (CONF / "recovery").glob("*.yaml"))


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_reconstruction(scale: str) -> None:
    """`recovery: all` means every file, at the compressions, the sparsity and the share of padding of
    tang2021 Figure 4; what decides is in the config, labels aren't."""
    plan = whole_plan(scale)
    runs = plan.runs["reconstruction"].values()
    assert {run.columns["method"] for run in runs} == set(RECOVERIES)
    compressions = [1, 1.25, 2, 3, 5, 10, 20]
    if scale == "paper":
        compressions = sorted([*compressions, 1.5, 4, 7.5, 15])
    assert len(runs) == len(compressions) * len(RECOVERIES)
    assert not [skipped for skipped in plan.skipped if skipped.study == "reconstruction"]
    found = sorted({run.config["d"] / run.config["b"] for run in runs})
    assert found == pytest.approx(compressions, rel=0.005)
    for run in runs:
        task, d, b = run.config["task"], run.config["d"], run.config["b"]
        assert b % task["rows"] == 0
        assert b == run.columns["b"]
        assert task["k"] / d == pytest.approx(30_000 / 668_426, rel=0.001)
        assert (1 << (d - 1).bit_length()) / d == pytest.approx(2**20 / 668_426, rel=0.001)
        assert run.config["recovery"].keys() == {"name", "algorithm", "sensing"}
        assert "sketch" not in run.config
        assert "label" not in json.dumps(run.config)
        assert not run.needs_folder
    assert len({run.signature for run in runs}) == len(runs)


def test_options_of_a_recovery_reach_the_run() -> None:
    """They make another run, with another signature; so does the sensing."""
    runs = whole_plan("quick").runs["stability"].values()
    methods = {run.config["recovery"]["name"]: run.config["recovery"] for run in runs}
    printed, relative = methods["fiht"]["algorithm"], methods["fiht_relative"]["algorithm"]
    assert (printed["stopping"], printed["support"]) == ("paper", "padded")
    assert (relative["stopping"], relative["support"]) == ("relative", "true")
    assert methods["fiht_replacement"]["sensing"]["replacement"] is True
    assert "Cosine" in methods["fiht_cosine"]["sensing"]["_target_"]
    assert len({run.signature for run in runs}) == len(runs)


@pytest.mark.parametrize(
    ("recovery", "b", "reason"),
    [
        ("count_sketch", 12, "sketch size b=12 must be a multiple of the number of blocks s=5"),
        ("fiht", 1025, "b=1025 rows without replacement need b <= 1024"),
    ],
)
def test_recoveries_are_left_out_where_their_sensing_has_no_such_size(
    conf: Path, recovery: str, b: int, reason: str
) -> None:
    study = {"task": "units", "recovery": [recovery], "axes": {"d": [1000], "b": [10, b]}}
    plan = expanded(conf, study)
    assert list(plan.runs["one"]) == [f"{recovery}/d1000-b10"]
    (skipped,) = plan.skipped
    assert skipped.name == f"{recovery}/d1000-b{b}"
    assert reason in skipped.reason


def test_a_study_that_compares_nothing() -> None:
    runs = whole_plan("quick").runs["sparsity"]
    assert list(runs) == sorted(f"any/length{length}" for length in (2, 3, 16, 257))
    for run in runs.values():
        assert run.config.keys() == {"task", "kernels", "seed"}
        assert run.columns == {
            "method": "any",
            "label": "any",
            "length": run.config["task"]["length"],
        }


INVERSION = {"task": "inversion", "sketch": ["count_sketch"], "share": 0.5, "axes": {}}


def test_a_group_may_be_an_axis(conf: Path) -> None:
    """Its options are composed by Hydra, and are a column."""
    runs = expanded(conf, INVERSION | {"axes": {"attack": ["lbfgs", "adam"]}}).runs["one"]
    attacks = {run.columns["attack"]: run.config["task"]["attack"]["_target_"] for run in runs.values()}
    assert attacks["lbfgs"].endswith(".LBFGS")
    assert attacks["adam"].endswith(".Adam")
    with pytest.raises(ConfigError, match=r"attack/newton is unknown; choose from .*lbfgs"):
        expanded(conf, INVERSION | {"axes": {"attack": ["newton"]}})


def test_a_share_is_the_smallest_sizes(conf: Path) -> None:
    (run,) = expanded(conf, INVERSION).runs["one"].values()
    assert (run.config["d"], run.config["b"]) == (2, 1)
    (run,) = expanded(conf, INVERSION | {"share": 0.3}).runs["one"].values()
    assert (run.config["d"], run.config["b"]) == (10, 3)


def test_a_study_may_be_like_another(conf: Path) -> None:
    """Mappings are merged key by key, scales, too; a chain is refused."""
    model = {
        "task": "moments",
        "sketch": ["ams"],
        "axes": {"d": [8], "b": [4]},
        "set": {"task.trials": 10},
        "scales": {"smoke": {"axes": {"b": [2]}, "set": {"task.trials": 3}}},
    }
    study = {"like": "model", "axes": {"b": [8]}, "scales": {"smoke": {"set": {"task.trials": 4}}}}
    (run,) = expanded(conf, study, model=model).runs["one"].values()
    assert (run.config["d"], run.config["b"], run.config["task"]["trials"]) == (8, 8, 10)
    (run,) = expanded(conf, study, "smoke", model=model).runs["one"].values()
    assert (run.config["b"], run.config["task"]["trials"]) == (2, 4)
    with pytest.raises(ConfigError, match="study model is itself like"):
        expanded(conf, study, model=study)


MOMENTS = {"task": "moments", "sketch": "all", "axes": {"d": [8], "b": [4]}}


def copied(conf: Path, group: str, *names: str) -> Path:
    """A group of the configs that can be edited: all files, or those of these names."""
    (conf / group).unlink()
    if not names:
        shutil.copytree(CONF / group, conf / group)
    for name in names:
        (conf / group).mkdir(exist_ok=True)
        shutil.copy(CONF / group / f"{name}.yaml", conf / group)
    return conf / group


def test_what_was_composed_is_remembered(
    conf: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second plan asks Hydra nothing, and is the same; nor does one elsewhere, with other kernels and seed."""
    copied(conf, "sketch", "ams", "count_sketch")
    first = expanded(conf, MOMENTS)
    composition.composed_parts.cache_clear()  # as in another process
    monkeypatch.setattr(composition, "compose", lambda *_: pytest.fail("composed again"))
    assert expanded(conf, MOMENTS) == first
    elsewhere = shutil.copytree(conf.parent, tmp_path_factory.mktemp("other") / "place", symlinks=True) / "conf"
    other = planning.expand("quick", "numba", seed=1, studies="one", conf=elsewhere).runs["one"]
    assert other.keys() == first.runs["one"].keys()
    for name, run in first.runs["one"].items():
        assert other[name].config == {**run.config, "kernels": "numba", "seed": 1}
    monkeypatch.undo()
    memory = conf.parent / composition.MEMORY
    for text in ("", "[]", memory.read_text()[:-100], memory.read_text().replace("moments", "norms")):
        memory.write_text(text)
        assert expanded(conf, MOMENTS) == first


def test_a_plan_sees_what_changed(conf: Path, tmp_path: Path) -> None:
    """An edited config, a new file and a user's folder, although other things are remembered."""
    sketch, task = copied(conf, "sketch", "ams", "count_sketch"), copied(conf, "task")
    before = expanded(conf, MOMENTS).runs["one"]

    moments = task / "moments.yaml"
    moments.write_text(moments.read_text().replace("pairs: [", "pairs: [flat, "))
    edited = expanded(conf, MOMENTS).runs["one"]
    assert all(edited[name].signature != run.signature for name, run in before.items())

    (sketch / "second.yaml").write_text((sketch / "ams.yaml").read_text().replace("name: ams", "name: second"))
    assert expanded(conf, MOMENTS).runs["one"].keys() - before.keys() == {"second/d8-b4"}

    (tmp_path / "mine" / "sketch").mkdir(parents=True)
    own = tmp_path / "mine" / "sketch" / "own.yaml"
    own.write_text((sketch / "ams.yaml").read_text().replace("name: ams\nlabel: AMS", "label: Mine"))
    runs = planning.expand("quick", "numpy", user=user_folder(tmp_path / "mine"), conf=conf).runs["one"]
    assert runs.keys() - before.keys() == {"second/d8-b4", "own/d8-b4"}
    own.write_text(own.read_text() + "# edited\n" + "size: 8\n")
    runs = planning.expand("quick", "numpy", user=user_folder(tmp_path / "mine"), conf=conf).runs["one"]
    assert "own/d8-b8" in runs


def test_what_environment_or_plan_decide_is_not_remembered(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = copied(conf, "task") / "moments.yaml"
    lines = [line for line in moments.read_text().splitlines() if not line.startswith("trials:")]
    moments.write_text("\n".join([*lines, "trials: ${oc.decode:${oc.env:TRIALS}}", ""]))
    for trials in (7, 8):
        monkeypatch.setenv("TRIALS", str(trials))
        runs = expanded(conf, MOMENTS | {"sketch": ["ams"]}).runs["one"].values()
        assert [run.config["task"]["trials"] for run in runs] == [trials]
    moments.write_text("\n".join([*lines, "trials: ${seed}", ""]))
    for seed in (7, 8):
        (run,) = planning.expand("quick", "numpy", seed=seed, studies="one", conf=conf).runs["one"].values()
        assert run.config["task"]["trials"] == seed


def test_a_plan_without_a_place_for_its_memory(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(composition, "write_text", full)
    assert expanded(conf, MOMENTS | {"sketch": ["ams"]}).runs["one"]


# Studies for always


def contract(**changes: Any) -> dict[str, Any]:
    study = {"task": "norms", "sketch": ["all", "control/zero"], "axes": {"d": [8], "b": [4]}, "always": True}
    return {**study, **changes}


def test_a_long_study_is_run_where_it_is_named_or_on_a_gpu(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what it would take is said, to the user and in the rows of the claims that need it."""
    long = {"hours": 75, "measured": "two rounds"}
    scales = {"quick": {"long": long, "set": {"task.trials": 10}}}
    study = {"task": "moments", "sketch": ["ams", "srht"], "axes": {"d": [8], "b": [4]}, "scales": scales}
    short = {**study, "scales": {}}
    assert list(expanded(conf, study, other=short).runs) == ["one"]
    plan = planning.expand("quick", "numba", conf=conf)
    assert list(plan.runs) == ["other"]
    (left_out,) = plan.besides
    assert (left_out.study, left_out.name) == ("one", "all runs")
    takes = "2 runs, 75 hours of one processor core (two rounds), or a GPU"
    assert left_out.reason == f"{takes}; run it by --studies one"
    assert json.loads(plan.facts)["takes"] == {"one": takes}
    monkeypatch.setattr("sketchbench.kernels.resolve", lambda name: "cupy")
    assert list(planning.expand("quick", "cupy", conf=conf).runs) == ["one", "other"]


@pytest.mark.weekly
def test_chapters_are_folders_of_studies() -> None:
    """`make results` and `make frontier` leave no chapter out, and share none but contracts."""
    papers = re.search(r"^PAPERS := (.+)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    assert papers

    def studies(chapters: str) -> set[str]:
        return {unit.study for unit in planning.expand("smoke", "numpy", chapters=chapters).units}

    one, rest = studies("compressors"), studies(papers[1])
    assert one | rest == studies("all")
    assert all(study_files.read(CONF, name, "smoke").always for name in one & rest)
    assert "frontier" in one - rest
    with pytest.raises(ValueError, match="chapter=frontier is unknown; choose one of compressors, convergence"):
        planning.expand("smoke", "numpy", chapters="frontier")
    with pytest.raises(ConfigError, match="studies=tails and chapters=sketches both choose; give one of them"):
        planning.expand("smoke", "numpy", studies="tails", chapters="sketches")


def test_what_a_study_without_a_table_would_take(conf: Path) -> None:
    """A study that was not chosen: as its costs have it, where they are known."""
    study = {"task": "moments", "sketch": ["ams", "srht"], "axes": {"d": [8], "b": [4]}}
    plan = expanded(conf, study, norms=study, other=study)
    takes = json.loads(plan.facts)["takes"]
    assert takes["other"] == "2 runs, never measured"
    assert re.fullmatch(r"\d+ runs, \d+ seconds of one processor core", takes["norms"])


def test_a_study_for_always_takes_the_methods_of_those_that_are_chosen(conf: Path) -> None:
    """And its controls; where it has none of the methods, nor any of its scale, it is left out."""
    study = {"task": "moments", "sketch": ["ams", "srht"], "axes": {"d": [8], "b": [4]}}
    plan = expanded(conf, study, other=contract())
    assert {run.columns["method"] for run in plan.runs["other"].values()} == {"ams", "srht", "control/zero"}
    assert json.loads(plan.facts)["kinds"] == {"one": "sketch", "other": "sketch"}
    assert set(expanded(conf, study, other=contract(always=False)).runs) == {"one"}
    assert set(expanded(conf, study, other=contract(only=["paper"])).runs) == {"one"}
    assert set(expanded(conf, study, other=contract(sketch=["gaussian"])).runs) == {"one"}
    assert set(expanded(conf, {"task": "consensus"}, other=contract()).runs) == {"one"}
    recovery = {"task": "reconstruction", "recovery": ["fiht"], "axes": {"d": [64], "b": [20]}}
    assert set(expanded(conf, recovery, other=contract()).runs) == {"one"}


def test_a_study_for_always_takes_the_first_size_that_a_method_has(conf: Path) -> None:
    """sparse_embedding has four nonzeros in a column, so b = 2 is none of its sizes."""
    sizes = {"d": [8, 640], "b": [2, 4]}
    plan = expanded(conf, contract(sketch=["ams", "sparse_embedding"], axes=sizes))
    assert set(plan.runs["one"]) == {"ams/d8-b2", "sparse_embedding/d8-b4"}


@pytest.mark.parametrize("studies", ["moments", "reconstruction"])
def test_the_contract_is_measured_with_whatever_is_chosen(studies: str) -> None:
    plan = planning.expand("quick", "numba", studies=studies)
    contracts = set(plan.runs) - {studies}
    every = {"moments": {"contract"}, "reconstruction": {"contract_sensing", "recovery_contract"}}
    assert contracts == every[studies]
    wanted = {run.columns["method"] for run in plan.runs[studies].values()}
    for name in contracts:
        measured = {run.columns["method"] for run in plan.runs[name].values()}
        assert {method for method in measured if not method.startswith(CONTROLS)} == wanted
