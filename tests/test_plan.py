"""Studies expand into named, stable runs; every scale of every study can."""

import json
from pathlib import Path

import pytest
import yaml

from sketchbench import plan as planning
from sketchbench.job import ConfigError
from sketchbench.schema import SchemaError

STUDIES = sorted(path.stem for path in (planning.CONF / "study").glob("*.yaml"))


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_every_study_expands(scale: str) -> None:
    plan = planning.expand(scale, "numpy")
    left_out = {skipped.study for skipped in plan.skipped if skipped.name == "all runs"}
    assert list(plan.runs) == [name for name in STUDIES if name not in left_out]
    assert not left_out or scale == "quick"
    assert all(plan.runs.values())
    records = plan.all_records
    assert len(set(records)) == len(records)
    for runs in plan.runs.values():
        for run in runs.values():
            assert json.loads(run.payload) == run.config
            assert "${" not in run.payload
    assert all(skipped.reason for skipped in plan.skipped)


def test_expansion_is_stable() -> None:
    """Signatures are those of the config and code alone, not of the order or of other studies."""
    alone = planning.expand("quick", "numpy", studies="norms")
    among = planning.expand("quick", "numpy", studies="tails,norms")
    assert alone.runs["norms"] == among.runs["norms"]
    other = planning.expand("quick", "numpy", seed=1, studies="norms")
    names = alone.runs["norms"].keys()
    assert names == other.runs["norms"].keys()
    assert all(alone.runs["norms"][n].signature != other.runs["norms"][n].signature for n in names)


def test_all_means_every_file() -> None:
    files = {path.stem for path in (planning.CONF / "sketch").glob("*.yaml")}
    runs = planning.expand("quick", "numpy", studies="embedding").runs["embedding"]
    assert {run.columns["method"] for run in runs.values()} == files
    assert {run.config["b"] for run in runs.values() if run.columns["method"] == "identity"} == {16}


def test_labels_do_not_count() -> None:
    """How a sketch is called in figures is no part of what a run is."""
    run = next(iter(planning.expand("quick", "numpy", studies="tails").runs["tails"].values()))
    assert "label" not in run.payload
    assert run.columns["label"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tsak": "moments"}, "tsak"),
        ({"axes": {"d": []}}, "axes/d"),
        ({"axes": {"dd": [3]}}, "dd"),
        ({"set": {"task.trails": 3}}, "task.trails"),
        ({"axes": {"d": [8], "b": [0]}}, "sketch size b=0 must satisfy 1 <= b"),
        ({"set": {"sketch.family.hashing": "sha"}}, "hashing=sha is unknown"),
        ({"task": "moment"}, "task/moment is unknown; choose from"),
        ({"sketch": ["count"]}, "sketch/count is unknown; choose from"),
        ({"scales": {"huge": {}}}, "scales"),
    ],
)
def test_bad_studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], message: str) -> None:
    for name in ("sketch", "task", "kernels", "scale", "run.yaml"):
        (tmp_path / name).symlink_to(planning.CONF / name)
    study = {"task": "moments", "sketch": ["ams"], "axes": {"d": [8], "b": [4]}, **change}
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "bad.yaml").write_text(yaml.safe_dump(study))
    monkeypatch.setattr(planning, "CONF", tmp_path)
    with pytest.raises((ConfigError, SchemaError)) as caught:
        planning.expand("quick", "numpy", studies="bad")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_impossible_sizes_are_left_out_with_the_reason() -> None:
    plan = planning.expand("quick", "numpy", studies="inner_products")
    reasons = {skipped.name: skipped.reason for skipped in plan.skipped}
    assert "set replacement=true or lower b" in reasons["srht/d64-b128"]
    assert json.loads(plan.facts)["skipped"][0][0] == "inner_products"


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match="study tail is unknown; choose from"):
        planning.expand(studies="tail")
    with pytest.raises(ValueError, match="kernels=fast is unknown; choose one of"):
        planning.expand(kernels_name="fast")
    with pytest.raises(ConfigError, match="needs a folder `sketch`"):
        planning.expand(folder="/nonexistent")


RECOVERIES = sorted(path.stem for path in (planning.CONF / "recovery").glob("*.yaml"))


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_reconstruction(scale: str) -> None:
    """`recovery: all` means every file, at the compressions, the sparsity and the share of padding of
    tang2021 Figure 4; what decides is in the config, labels aren't."""
    plan = planning.expand(scale, "numpy", studies="reconstruction")
    runs = plan.runs["reconstruction"].values()
    assert {run.columns["method"] for run in runs} == set(RECOVERIES)
    compressions = [1, 1.25, 2, 3, 5, 7.5, 10, 20]
    if scale == "paper":
        compressions = sorted([*compressions, 1.5, 4, 15])
    assert len(runs) == len(compressions) * len(RECOVERIES)
    assert plan.skipped == []
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
        assert "label" not in run.payload
        assert not run.needs_folder
    assert len({run.signature for run in runs}) == len(runs)


def test_options_of_a_recovery_reach_the_run() -> None:
    """They make another run, with another signature; so does the sensing."""
    runs = planning.expand("quick", "numpy", studies="stability").runs["stability"].values()
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recovery: str, b: int, reason: str
) -> None:
    for entry in planning.CONF.iterdir():
        if entry.name != "study":
            (tmp_path / entry.name).symlink_to(entry)
    study = {"task": "units", "recovery": [recovery], "axes": {"d": [1000], "b": [10, b]}}
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "sizes.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    monkeypatch.setattr(planning, "CONF", tmp_path)
    plan = planning.expand("quick", "numpy", studies="sizes")
    assert list(plan.runs["sizes"]) == [f"{recovery}/d1000-b10"]
    (skipped,) = plan.skipped
    assert skipped.name == f"{recovery}/d1000-b{b}"
    assert reason in skipped.reason


def test_a_study_that_compares_nothing() -> None:
    plan = planning.expand("quick", "numpy", studies="sparsity")
    runs = plan.runs["sparsity"]
    assert list(runs) == sorted(f"any/length{length}" for length in (2, 3, 16, 257))
    for run in runs.values():
        assert run.config.keys() == {"task", "kernels", "seed"}
        assert run.columns == {
            "method": "any",
            "label": "any",
            "length": run.config["task"]["length"],
        }
