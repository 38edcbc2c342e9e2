"""Every command of README and documentation is run here, or says how long it takes; then it is checked, not run."""

import itertools
import re
import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
import yaml
from prose import PAGES, ROOT, Command, commands, files, title
from published import reports
from weekly import weekly

from sketchbench.command.main import main, sketchbench
from sketchbench.run.config.chapters import named

COMMANDS = [command for page in PAGES for command in commands(page)]
SHELL = {  # what changes the reader's shell alone
    (".", ".venv/bin/activate"),
    ("conda", "activate", "sketchbench"),
    ("export", "SKETCHBENCH_DATA=~/data"),
    ("eval", "$(_SKETCHBENCH_COMPLETE=bash_source sketchbench)"),
}
SETTINGS = yaml.safe_load((ROOT / "conf" / "workflow.yaml").read_text(encoding="utf-8"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def short(command: Command) -> bool:
    return not command.takes_time and command.words not in SHELL


WITH_SHORT = [page for page in PAGES if any(map(short, commands(page)))]


@pytest.mark.parametrize("page", weekly(WITH_SHORT, lambda page: page.name != "README.md"), ids=title)
def test_short_ones_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder with the published reports, and the reader's files as the page shows them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # on which the reader's folder comes
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "reports").symlink_to(reports())
    for name, content in files(page).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    for command in filter(short, commands(page)):
        assert command.words[0] == "sketchbench", f"{command} takes how long?"
        assert not ending(command.words[1:]), command
        assert capsys.readouterr().out, command


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.takes_time], ids=str)
def test_long_ones_could_run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = command.words
    match program:
        case "sketchbench":
            parsed(arguments)
            if arguments[0] == "results":
                assert_settings(arguments)
            if arguments[0] == "run" and "--folder" not in arguments:
                assert not ending(["run", "--cfg", "job", *arguments[1:]])
        case "make":
            goals = [word for word in arguments if "=" not in word and not word.startswith("-")]
            assert {word.replace(".venv/ready", "results") for word in goals} <= TARGETS
        case "snakemake":
            assert_settings(arguments)
        case "sh" | "python" | ".ci/run" | "pytest" | "tests/install/clean_root.sh":
            shown = files(ROOT / command.page)
            assert all((ROOT / word).exists() or word in shown for word in command.words if "/" in word)
            assert_settings(arguments)
        case "pip":
            extras = {one for group in re.findall(r"\[(.*)\]", shlex.join(arguments)) for one in group.split(",")}
            assert extras <= EXTRAS.keys()
            assert ("--requirement" in arguments) == ("--require-hashes" in arguments)
            assert all((ROOT / lock).exists() for lock in arguments if lock.endswith(".lock"))
        case "torchrun" | "flwr":  # which runs a folder, by its settings, or sets something
            shown = files(ROOT / command.page)
            assert arguments[0] == "federation" or {arguments[-1], f"{arguments[1]}/pyproject.toml"} & shown.keys()
        case "cp" | "qemu-x86_64":
            assert (ROOT / arguments[3 if program.startswith("qemu") else 0]).exists()
        case "conda":
            assert (ROOT / arguments[arguments.index("--file") + 1]).exists()
        case "docker":
            assert arguments[0] in {"build", "run"}
            assert "--file" not in arguments or (ROOT / arguments[arguments.index("--file") + 1]).exists()
        case _:
            pytest.fail(f"{command}: a program that is not checked")


def ending(arguments: Sequence[str]) -> object:
    """What the program ends with: nothing, a code, or what is wrong."""
    try:
        main(list(arguments))
    except SystemExit as end:
        return end.code
    return None


def parsed(arguments: Sequence[str]) -> None:
    """UsageError for commands and options that there are not."""
    command: click.Command = sketchbench
    context = click.Context(command)
    name, given = "", list(arguments)
    while isinstance(command, click.Group):
        name, command, given = command.resolve_command(context, given)  # type: ignore[assignment]
    command.make_context(name, given)


def assert_settings(arguments: Sequence[str]) -> None:
    """That what Snakemake is told is there: settings, studies, profiles and files of settings."""
    options = [f"{one[2:]}={two}" for one, two in itertools.pairwise(arguments) if one[2:] in SETTINGS]
    words = [word for word in arguments if re.fullmatch(r"\w+=.*", word)] + options
    for key, value in (word.split("=", 1) for word in words):
        assert key in SETTINGS, key
        if key == "studies":
            assert set(value.split(",")) <= named(ROOT / "conf", "study").keys()
    for option in ("--workflow-profile", "--configfile"):
        if option in arguments:
            assert (ROOT / arguments[arguments.index(option) + 1]).exists(), option


def test_times_stand_in_one_place() -> None:
    """A command has one time on all pages: that of times.yaml, if more than one page has the command."""
    times = yaml.safe_load(Path(__file__).with_name("times.yaml").read_text(encoding="utf-8"))
    said: dict[str, set[tuple[str, str]]] = {}
    for command in COMMANDS:
        if command.takes_time:
            said.setdefault(" ".join(command.words), set()).add((command.page, command.time))
    for words, found in said.items():
        shown = {time for _, time in found}
        kept = times["commands"].get(words, shown if len(shown) == 1 else [])
        assert shown <= set(kept), f"{words}: {found}, times.yaml: {kept}"
    assert times["commands"].keys() <= said.keys()
    for name, words in times["mentions"].items():
        assert words in (ROOT / name).read_text(encoding="utf-8"), name


def test_times_are_found() -> None:
    """What is run here would be skipped if any comment passed for a time."""
    timed = {command.takes_time for command in COMMANDS}
    assert timed == {True, False}
    assert sum(map(short, COMMANDS)) >= 15
