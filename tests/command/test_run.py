"""`sketchbench run`: the composed config, and every combination of values."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.base.errors import ConfigError
from sketchbench.base.project import CONF
from sketchbench.command import results
from sketchbench.command.main import COMMANDS, main, sketchbench
from sketchbench.command.plan import command
from sketchbench.run.config.overrides import product, quote

SMALL = ["kernels=numpy", "d=12", "task.trials=3", "task.pairs=[flat]"]


def test_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--cfg", "job", *SMALL, "sketch=ams", "b=4"])
    out, err = capsys.readouterr()
    config = yaml.safe_load(out)
    assert (config["sketch"]["name"], config["b"], config["task"]["trials"]) == ("ams", 4, 3)
    assert "hydra" not in config
    assert err == ""


def test_every_combination(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--multirun", *SMALL, "sketch=ams,srht", "b=2,4"])
    heads = [line for line in capsys.readouterr().out.splitlines() if line.endswith("numpy kernels")]
    assert heads == [f"{name}, d=12, b={b}, numpy kernels" for name in ("ams", "srht") for b in (2, 4)]


def test_one_record_is_of_one_run(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", "-m", *SMALL, "b=2,4", "--result", str(tmp_path / "one.parquet")])
    assert stop.value.code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("overrides", "products"),
    [
        ([], [[]]),
        (["b=16"], [["b=16"]]),
        (["b=range(1,3)", "d=8"], [["b=1", "d=8"], ["b=2", "d=8"]]),
        (["task.pairs=[flat,random]"], [["task.pairs=[flat,random]"]]),
        (["a=[1,2],[3]", "~b"], [["a=[1,2]", "~b"], ["a=[3]", "~b"]]),
        (["b=choice(4,2)", "d=sort(2,1)"], [[f"b={b}", f"d={d}"] for b in (4, 2) for d in (1, 2)]),
        (["sketch=glob(srht*)"], [["sketch=srht"], ["sketch=srht_replacement"]]),
        (["sketch=glob([srht*,ams],exclude=*_*)"], [["sketch=ams"], ["sketch=srht"]]),
        (["model@task.model=glob(small_m*)"], [["model@task.model=small_mlp"]]),
        (["x='it\\'s',b"], [["x='it\\'s'"], ["x=b"]]),
    ],
)
def test_products(overrides: list[str], products: list[list[str]]) -> None:
    assert product(overrides, [CONF]) == products


@pytest.mark.parametrize("override", ["sketch=glob(no*)", "b=glob(*)", "b=interval(1,2)", "b=range(3,1)"])
def test_what_lists_no_values(override: str) -> None:
    key = override.partition("=")[0]
    with pytest.raises(ConfigError, match=re.escape(f"{override} lists no values; write {key}=choice(VALUE,VALUE)")):
        product([override], [CONF])


@given(st.text())
@examples(50)
def test_any_text_has_quotes(text: str) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    assert OverridesParser.create().parse_override(f"x={quote(text)}").value() == text


def test_what_is_no_override() -> None:
    with pytest.raises(ConfigError) as caught:
        product(["b=[1"])
    assert "\n" not in str(caught.value)


# `results` hands its options to Snakemake as settings, and everything else as it is


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(results, "_call", lambda command, *_: calls.append(command) or 0)
    return calls


def test_the_workflow_has_the_python_that_asks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[dict[str, str]] = []
    monkeypatch.setattr(results, "_call", lambda _, place, environment: calls.append(environment) or 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        main(["results"])
    found = shutil.which("python", path=calls[0]["PATH"])
    assert found
    assert Path(found).samefile(sys.executable)


@pytest.mark.parametrize(
    ("given", "handed"),
    [
        ([], []),
        (["--scale", "smoke", "--cores", "1", "-n"], ["--cores", "1", "-n", "--config", "scale=smoke"]),
        (["--studies=tails", "--config", "minutes=9", "-n"], ["--config", "studies=tails", "minutes=9", "-n"]),
        (["--only", "mine", "--", "--quiet"], ["--quiet", "--config", "only=mine"]),
    ],
)
def test_options_become_settings(called: list[list[str]], given: list[str], handed: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["results", *given])
    assert end.value.code == 0
    assert called == [["sh", "workflow/run", *handed]]


def test_a_folder_is_the_reader_s(called: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the workflow runs in the project's folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["results", "--folder", "mine"])
    assert called[0][-1] == f"folder={tmp_path / 'mine'}"


# `sketchbench plan` takes options as settings of Snakemake, too


def parsed(*arguments: str) -> dict[str, Any]:
    params = command.make_context("plan", list(arguments)).params
    return {name: value for name, value in params.items() if value not in (None, False)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--folder", "a b/mine=1", "--only", "mine", "--seed", "3"),
        ("--only=mine", "--seed=3", "--folder=a b/mine=1"),
    ],
)
def test_options_and_settings(arguments: tuple[str, ...]) -> None:
    assert parsed(*arguments) == {"folder": Path("a b/mine=1"), "only": "mine", "seed": 3}
    assert parsed(*arguments, "--runs") == {"folder": Path("a b/mine=1"), "only": "mine", "seed": 3, "runs": True}


def test_the_value_of_an_option_may_look_like_a_setting() -> None:
    assert parsed("--folder", "only=mine") == {"folder": Path("only=mine")}


@pytest.mark.parametrize(("argument", "mistake"), [("--foldr=mine", "--foldr"), ("--seed=x", "not a valid integer")])
def test_wrong_settings(argument: str, mistake: str) -> None:
    with pytest.raises(click.UsageError, match=mistake):
        parsed(argument)


# `sketchbench`: its help, its commands, and what it says of a mistyped one


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
        (
            ["new", "sketc", "x"],
            "'sketc' is not one of sketch, recovery, compressor, dataset, model, partition, attack",
        ),
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
    assert capsys.readouterr().out.startswith("sketchbench 1.")


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


# A run of a contract ends with its verdict; a run that is refused leaves nothing behind

SIZES = ["kernels=numba", "d=12", "b=4", "task.sizes=[[12,4]]", "task.fewer=20"]
SMALL_CONTRACT = ["kernels=numpy", "task.layouts=[[[8,12],[8],[4,8],[4]]]", "task.budget.draws=400"]
SMALL_CONTRACT += ["task.compressions=[1,16]", "task.budget.entries=1e7"]


@pytest.mark.parametrize(
    ("options", "broken"),
    [
        (["task=contract", "sketch=srht", *SIZES], ""),
        (["task=contract", "sketch=control/broken/sloppy", *SIZES], "C8"),
        (["task=contract", "sketch=control/equal_signs", *SIZES], "S1-sizes"),
        (["task=compressor_contract", "compressor=top_k", *SMALL_CONTRACT], ""),
        (["task=compressor_contract", "compressor=control/broken/doubled", *SMALL_CONTRACT], "K3"),
    ],
)
def test_a_contract_ends_with_its_verdict(capsys: pytest.CaptureFixture[str], options: list[str], broken: str) -> None:
    if broken:
        with pytest.raises(SystemExit) as end:
            main(["run", *options])
        assert end.value.code == 1
    else:
        main(["run", *options])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("contract of ")
    assert (f": BROKEN: breaks {broken} (" in last) == bool(broken)
    assert (": not broken: keeps " in last) != bool(broken)


def test_too_few_trials_leave_the_contract_open(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "task=contract", "sketch=srht", *SIZES, "task.operators=20"])
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.search(r"open, with too few trials or without rows: C1, .*C4", last)
    assert not re.search(r"keeps .*C1\b", last.partition("open")[0])


def test_a_refused_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder for checkpoints nor one for the record; folders that were there stay."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    for place in ("task.checkpoints=new/points", "task.checkpoints=kept/points", "task.minutes=9"):
        with pytest.raises(SystemExit, match="trials=-1 must be >= 2"):
            main(["run", "task=training", "task.trials=-1", place, "--result", "a/b/c.parquet"])
    assert [path.name for path in tmp_path.rglob("*")] == ["kept"]
