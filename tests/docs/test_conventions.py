"""What others expect of a project: a citation, a container with the pinned versions, a place in the catalogue."""

import json
import re
import tomllib
from typing import Any

import yaml
from prose import ROOT
from whole_plan import whole_plan

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PERSON = {"family-names", "given-names", "orcid"}  # or an entity, which has a name
WORK = {"type", "title", "authors", "year"}


def loaded(name: str) -> Any:
    return yaml.safe_load(text(name))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_citation_is_of_the_format_and_of_this_version() -> None:
    """Citation File Format 1.2.0, with the papers of the README."""
    citation = loaded("CITATION.cff")
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["title"] == PROJECT["name"]
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert len(citation["references"]) == 3
    for work in citation["references"]:
        assert WORK <= work.keys()
        assert work["type"] == "article"
        assert isinstance(work["year"], int)
        assert work["title"] in text("README.md")
    for work in [citation, *citation["references"]]:
        assert work["authors"], work
        assert all("name" in author or PERSON & author.keys() for author in work["authors"]), work


def test_the_container_has_the_pinned_versions() -> None:
    """It leaves installing to the Makefile, which takes the locks with their hashes, and names no index."""
    container = text("Containerfile")
    (image,) = re.findall(
        r"^FROM python:(\d+\.\d+)[\d.]*-slim-\w+@sha256:[0-9a-f]{64} AS base$", container, re.MULTILINE
    )
    assert image == re.search(r"\d+\.\d+", PROJECT["requires-python"])[0]
    assert container.index("\nUSER sketchbench\n") < container.index("\nCOPY --chown=sketchbench ")
    assert "RUN make .venv/ready\n" in container
    assert "RUN make .venv/storage && " in container
    assert container.endswith("\nFROM whole\n")  # the target of a build that names none
    assert "ARG PIP_EXTRA_INDEX_URL" in container
    assert not re.search(r"://|--(extra-)?index|pip install", container)
    editor = json.loads(text(".devcontainer/devcontainer.json"))
    assert (ROOT / ".devcontainer" / editor["build"]["dockerfile"]).resolve() == ROOT / "Containerfile"
    assert f"WORKDIR {editor['workspaceFolder']}\n" in container


def test_what_ci_and_the_build_take_is_fixed() -> None:
    """Actions by commit, in the project's workflow and in the one that a page shows; the least permissions; a build
    backend that has a next release to wait for."""
    shown = text("docs/howto/gate.md")
    workflows = [text(str(path.relative_to(ROOT))) for path in sorted((ROOT / ".github/workflows").iterdir())]
    used = re.findall(r"uses: (\S+)(.*)", "".join([*workflows, shown]))
    assert len(used) >= 10
    for action, comment in used:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r"  # v\d+\.\d+\.\d+", comment), action
    for path in (ROOT / ".github/workflows").iterdir():
        assert loaded(str(path.relative_to(ROOT)))["permissions"] == {"contents": "read"}
    (backend,) = tomllib.loads(text("pyproject.toml"))["build-system"]["requires"]
    (locked,) = re.findall(r"^setuptools==(\d+)", text("requirements-build.lock"), re.MULTILINE)
    assert re.fullmatch(rf"setuptools>=\d+,<{int(locked) + 1}", backend)


def test_hooks_are_the_linters_of_make() -> None:
    """By the project's environment, and with nothing that pre-commit would download."""
    (repo,) = loaded(".pre-commit-config.yaml")["repos"]
    linters = re.findall(r"^\tpython -m (ruff check|ruff format --check|mypy|snakefmt --check)", text("Makefile"), re.M)
    assert [hook["name"] for hook in repo["hooks"]] == linters
    assert repo["repo"] == "local"
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].removesuffix(" --force-exclude") == f".venv/bin/python -m {hook['name']}"


def test_every_install_takes_a_lock_with_its_hashes() -> None:
    """But for a build of torch that pip's own settings offer, and for the package itself."""
    makefile = text("Makefile").replace("\\\n", " ")
    assert re.search(r"^LOCKED := \$\(INSTALL\) --require-hashes", makefile, re.MULTILINE)
    assert re.search(r"^INSTALL := .* install --no-deps --no-build-isolation", makefile, re.MULTILINE)
    recipes = [line for line in makefile.splitlines() if line.startswith("\t")]
    assert [line.split() for line in recipes if "pip install" in line and "--require-hashes" not in line] == []
    assert len([line for line in recipes if "$(LOCKED)" in line]) >= 8
    unlocked = [one for line in recipes for one in re.findall(r"\$\(INSTALL\) (.*?)(?:;|$)", line)]
    assert unlocked == ['"torch==$$build"', "--editable ."]
    ready = re.search(r"^\$\(VENV\)/ready: (.*)$", makefile, re.MULTILINE)
    assert {"requirements.lock", "requirements-build.lock", "requirements-torch.lock"} <= set(ready[1].split())


def test_the_container_takes_nothing_that_is_made() -> None:
    """The folders that git ignores, and an environment of another machine above all."""
    assert {".venv", ".snakemake", "results", "logs"} <= set(text(".dockerignore").split())


def test_conda_can_make_the_environment_by_itself() -> None:
    """Snakemake makes it of a copy elsewhere, from which no path leads back to the package."""
    environment = loaded("environment.yml")
    assert set(environment["channels"]) == {"conda-forge", "bioconda"}
    assert all(isinstance(entry, str) for entry in environment["dependencies"])
    (python,) = (entry for entry in environment["dependencies"] if entry.startswith("python="))
    assert python.partition("=")[2] in PROJECT["requires-python"]


def test_the_catalogue_finds_what_it_asks_for() -> None:
    usage = loaded(".snakemake-workflow-catalog.yml")["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert {"desc", "flags"} == usage["mandatory-flags"].keys()
    assert usage["report"] is True
    assert "Snakemake workflow" in text("README.md")
    assert (ROOT / "workflow" / "Snakefile").is_file()
    assert 'include: "workflow/Snakefile"' in text("Snakefile")
    assert any((ROOT / "workflow" / "rules").glob("*.smk"))


def test_every_setting_is_explained() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text("config/README.md"), re.MULTILINE))
    settings = loaded("conf/workflow.yaml")
    assert rows.keys() == settings.keys()
    for key, told in rows.items():
        assert told in {"none", "see the file", f"`{settings[key]}`"}, key
        assert (told == "none") == (settings[key] in (None, "")), key


def test_the_trial_run_is_tiny() -> None:
    """Its study is there, and takes seconds of the smoke scale. Its folder has all that the workflow reads."""
    chosen = loaded(".test/config/config.yaml")
    assert chosen.keys() <= loaded("conf/workflow.yaml").keys()
    assert chosen["scale"] == "smoke"
    assert (ROOT / ".test" / "conf").resolve() == ROOT / "conf"
    assert len(whole_plan("smoke").runs[chosen["studies"]]) < 50
