"""`sketchbench`: its help, its commands, and what it says of a mistyped one."""

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from sketchbench.command.main import COMMANDS, main, sketchbench

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "sketchbench", *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments)
    said = capsys.readouterr().out
    for name, line in COMMANDS.items():
        assert (f"  {name} " in said) is bool(line)
    assert "sketchbench run task=moments sketch=srht b=32" in said


def test_help_loads_no_library() -> None:
    """Which would take longer than reading it; a command is loaded when it is called."""
    code = "import sys; from sketchbench.command.main import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"pandas", "matplotlib", "hydra", "torch", "numba", "scipy", "pyarrow"}
    start = time.process_time(), os.times().children_user + os.times().children_system
    assert run("--help").returncode == 0
    assert os.times().children_user + os.times().children_system - start[1] < 0.5


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str) -> None:
    """Under its name, with help that has an example or says who calls it."""
    command = importlib.import_module(f"sketchbench.command.{name}").command
    assert command.name == name
    assert command.hidden is (not COMMANDS[name])
    with click.Context(sketchbench) as context:
        said = command.get_short_help_str(200)
        assert said
        assert command.get_help(context)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], "no command rnu; did you mean run?; sketchbench --help"),
        (["task=moments", "b=3"], "did you mean sketchbench run task=moments?"),
        (["--verison"], "no option --verison; did you mean --version?"),
        (["data", "fecth"], "no command fecth; did you mean fetch?; sketchbench data --help"),
        (["data"], "Missing command; sketchbench data --help"),
        (["data", "fetch", "mnits"], "NAME: 'mnits' is not one of cifar10, lfw, mnist; did you mean mnist?"),
        (["new", "sketc", "x"], "'sketc' is not one of sketch, recovery, compressor, dataset, model, partition, task"),
        (["advise", "--bytes", "x"], "--bytes: 'x' is not a valid float"),
        (["advise", "--bytes", "3"], "Missing option '--parameters'"),
        (["check", "--agianst", "x"], "did you mean --against?"),
        (["show"], "Missing argument 'CLAIM'"),
        (["run", "--cfg", "jbo"], "did you mean job?"),
        (["costs", "qick"], "did you mean quick?"),
        (["step", "jbo"], "did you mean job?"),
    ],
)
def test_a_wrong_call_is_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert err.startswith("sketchbench: error: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize("abbreviated", [["plan", "--stud", "x"], ["check", "--curr"]])
def test_no_option_is_abbreviated(abbreviated: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(abbreviated)
    assert stop.value.code == 2


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out.startswith("sketchbench 0.")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    """The script that a shell reads, and the answers that it gets when it asks."""
    assert "sketchbench" in run(_SKETCHBENCH_COMPLETE=f"{shell}_source").stdout
    question = {"_SKETCHBENCH_COMPLETE": f"{shell}_complete", "COMP_CWORD": "2" if shell != "fish" else "S2"}
    assert "S22" in run(**question, COMP_WORDS="sketchbench show S2").stdout


def test_an_interruption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from sketchbench.command import data

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(data.fetch_data, "callback", interrupted)
    with pytest.raises(SystemExit) as stop:
        main(["data", "fetch", "mnist"])
    assert stop.value.code == 130
    assert capsys.readouterr().err == "sketchbench: interrupted\n"
