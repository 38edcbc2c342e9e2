"""Runs of the workflow with kernels=cupy on the emulated device, from plan to reports: no GPU is needed."""

import dataclasses
import platform
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Project, copied

from sketchbench.run import record

DEVICE = ROOT / "tests" / "cuda"
pytestmark = [
    pytest.mark.workflow,
    pytest.mark.cuda,
    pytest.mark.skipif(
        shutil.which("g++") is None or platform.machine() != "x86_64",
        reason="the emulated device needs g++ and a processor of the kind x86-64",
    ),
]
# With those of the small project they launch every kind of kernel: dense operators, transforms, buckets, selections,
# and operators beside networks.
STUDIES = ("units", "sketched_layers", "inversion_double_blind")
SKETCHES = ("block_sparse_embedding", "gaussian", "sparse_embedding", "srht")


@pytest.fixture
def emulated(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("EMULATED_CUDA", "fast")
    project = dataclasses.replace(copied(small, tmp_path), packages=(DEVICE / "emulated",))
    for group, names in (("study", STUDIES), ("sketch", SKETCHES)):
        for name in names:
            shutil.copy(next((ROOT / "conf" / group).rglob(f"{name}.yaml")), project.path / "conf" / group)
    project.edit("conf/workflow.yaml", lambda text: text.replace("smoke: 16", "smoke: all"))
    return project


def pretended(folder: Path) -> Path:
    """The emulated device, which says that it is none."""
    shutil.copytree(DEVICE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    package = folder / "emulated" / "cupy" / "__init__.py"
    text = package.read_text()
    assert text.count("EMULATED = True") == 1
    package.write_text(text.replace("EMULATED = True", "EMULATED = False"))
    return folder / "emulated"


def test_its_records_are_no_devices(emulated: Project, tmp_path: Path) -> None:
    emulated.succeed("kernels=cupy")
    made = sorted((emulated.path / "results" / "smoke").rglob("*.parquet"))
    origins = [record.read(path).provenance for path in made]
    assert {path.relative_to(emulated.path / "results" / "smoke").parts[0] for path in made} == {"tiny", *STUDIES}
    assert {origin["kernels"] for origin in origins} == {"cupy-emulated"}
    assert "cupy-emulated" in (emulated.path / "reports" / "smoke" / "claims.md").read_text()
    assert "Nothing to be done" in emulated.succeed("kernels=cupy", "--dry-run")
    device = dataclasses.replace(emulated, packages=(pretended(tmp_path / "device"),))
    assert "Nothing to be done" not in device.succeed("kernels=cupy", "--dry-run")


@pytest.mark.long_emulated
def test_the_whole_smoke_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every study from plan to verdicts; a quarter of an hour of one core."""
    monkeypatch.setenv("EMULATED_CUDA", "fast")
    project = Project(tmp_path / "project", (DEVICE / "emulated",))
    for name in ("conf", "workflow", "sketchbench"):
        shutil.copytree(ROOT / name, project.path / name)
    shutil.copy(ROOT / "environment.yml", project.path)
    process = project.start("kernels=cupy", "differences=list")
    output, _ = process.communicate()
    assert process.returncode == 0, output
    made = sorted((project.path / "results" / "smoke").rglob("*.parquet"))
    assert {record.read(path).provenance["kernels"] for path in made} == {"cupy-emulated"}
