"""What must agree across files: pins, configs, claims."""

import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from all_claims import CLAIMS
from hydra.utils import get_class
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from sketchbench.run.config.chapters import named

ROOT = Path(__file__).parents[1]
CONF = ROOT / "conf"
CONDA = {"torch": "pytorch"}  # what is called otherwise on conda-forge
# The rows of the design: letter of the paper, and the numbers of its claims. Other claims have any other id.
NUMBERS = {
    "F": [*range(1, 42), 43, 44],  # F42 is gone
    "S": range(1, 41),
    "T": range(1, 21),
    "Z": range(1, 20),
    "C": range(1, 12),
    "K": range(1, 13),
    "R": range(1, 8),
}


LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))
ENTRY = re.compile(
    r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9._]*)( ; python_full_version (<|>=) '[0-9.]+')?( sha256:[0-9a-f]{64})+"
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=]", text)[0]).lower()


def entries(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [entry.replace("\\\n    --hash=", "").strip() for entry in re.split(r"\n(?=\S)", text)]


def pins(name: str = "requirements.lock") -> dict[str, str]:
    return dict(ENTRY.fullmatch(entry).groups()[:2] for entry in entries(name))


def wanted(*extras: str) -> set[str]:
    asked = [Requirement(one) for one in chain(PROJECT["dependencies"], *(EXTRAS[extra] for extra in extras))]
    own = [one for one in asked if one.name == "sketchbench"]
    return {_name(one.name) for one in asked if one not in own}.union(*(wanted(*one.extras) for one in own))


@pytest.mark.parametrize("name", LOCKS)
def test_the_locks_are_exact_with_hashes_and_name_no_index(name: str) -> None:
    for entry in entries(name):
        assert ENTRY.fullmatch(entry), entry


def test_every_dependency_is_pinned() -> None:
    assert wanted(*EXTRAS) <= set().union(*map(pins, LOCKS))
    assert wanted("test") <= pins().keys() | pins("requirements-torch.lock").keys()
    assert pins("requirements-build.lock")["setuptools"] == pins()["setuptools"]


def test_every_dependency_has_bounds_that_hold_its_pin() -> None:
    pinned = {name: version for lock in LOCKS for name, version in pins(lock).items()} | pins()
    for one in chain(PROJECT["dependencies"], *EXTRAS.values()):
        asked = Requirement(one)
        if asked.name != "sketchbench":
            assert {bound.operator for bound in asked.specifier} == {">=", "<"}, one
            assert asked.specifier.contains(pinned[_name(asked.name)]), one
    assert {bound.operator for bound in SpecifierSet(PROJECT["requires-python"])} == {">=", "<"}


def test_torch_and_cuda_have_locks_of_their_own() -> None:
    """The other locks have nothing that a build of torch for the CPU does without; CuPy's goes with torch's."""
    for name in {*LOCKS} - {f"requirements-{one}.lock" for one in ("torch", "cuda", "nvrtc")}:
        assert not [one for one in pins(name) if re.match("cuda|cupy|nvidia|torch|triton", one)]
    ours, theirs = pins("requirements-torch.lock"), pins("requirements-cuda.lock")
    assert all(ours.get(name, version) == version for name, version in theirs.items())


def test_the_lock_of_flower_adds_or_changes() -> None:
    """What the page says that it changes, and nothing that is in the other lock as it is."""
    ours, flower = pins(), pins("requirements-flower.lock")
    assert {name for name in flower if name in ours} == {"rich", "certifi"}
    assert all(version != ours.get(name) for name, version in flower.items())


@pytest.mark.parametrize(("name", "count"), [("torch", 4), ("flower", 3)])
def test_pages_were_run_with_the_pinned_versions(name: str, count: int) -> None:
    page = (ROOT / "docs" / "howto" / f"{name}.md").read_text(encoding="utf-8")
    said = re.search(r"^Run with .*", page, re.MULTILINE)[0].partition(" on Python")[0]
    pinned = pins() | pins("requirements-torch.lock") | pins("requirements-flower.lock")
    versions = re.findall(r"([\w-]+) (\d+(?:\.\d+)+)", said)
    assert len(versions) == count
    assert all(f"{pinned[_name(one)]}.".startswith(f"{version}.") for one, version in versions)


def test_conda_has_the_same_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    listed = dict(
        line.partition("=")[::2]
        for line in environment["dependencies"]
        if isinstance(line, str) and "=" in line and not line.startswith("python=")
    )
    pinned = pins("requirements-torch.lock") | pins()
    assert listed == {CONDA.get(name, name): pinned[name] for name in wanted("test")}


def test_every_number_has_a_claim() -> None:
    numbers = {f"{letter}{number}" for letter, span in NUMBERS.items() for number in span}
    assert {found[0] for claim in CLAIMS.values() if (found := re.match(r"[CFKRSTZ][0-9]+", claim.id))} == numbers
    studies = set(named(CONF, "study"))
    for claim in CLAIMS.values():
        for check in claim.checks:
            assert set(check.studies) <= studies, claim.id


@pytest.mark.parametrize("path", sorted((CONF / "sketch").rglob("*.yaml")), ids=lambda p: p.stem)
def test_sketch_configs_have_their_file_name(path: Path) -> None:
    config = yaml.safe_load(path.read_text())
    assert config["name"] == str(path.relative_to(CONF / "sketch").with_suffix(""))
    assert config["label"]
    if "_target_" in config["family"]:
        assert get_class(config["family"]["_target_"])


@pytest.mark.git
def test_lines_are_short() -> None:
    """At most 120 characters, in all text files but those that programs write; tables and images can't be wrapped."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    long = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if (
            name.startswith(("reports/", "sketchbench/report/site/vendor/"))
            or name == "tests/cuda/emulated/cupy/names.json"
            or not path.is_file()
        ):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            unwrappable = path.suffix == ".md" and line.startswith(("|", "!["))
            if len(line) > 120 and not unwrappable:
                long.append(f"{name}:{number}")
    assert not long, long


def test_the_page_on_architecture_has_the_layers() -> None:
    """In the order of the import contract, and every package in its table."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [set(layer.split(" | ")) for layer in contracts[0]["layers"] if layer != "__main__"]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^    command → .*?\n\n", page, re.DOTALL | re.MULTILINE)
    assert [set(layer.split(", ")) for layer in " ".join(block.split()).split(" → ")] == layers
    table = page[page.index("| package or module |") : page.index("## Folders")]
    cells = (line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == set.union(*layers)


@pytest.mark.git
def test_results_and_logs_are_ignored() -> None:
    for name in ("results/x", "logs/x", ".venv/x", "reports/claims.csv.rejected"):
        done = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False)
        assert done.returncode == 0, name
