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
    assert list(plan.runs) == STUDIES
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
    assert {run.columns["subject"] for run in runs.values()} == files
    assert {run.config["b"] for run in runs.values() if run.columns["subject"] == "identity"} == {
        16
    }


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
def test_bad_studies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], message: str
) -> None:
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
