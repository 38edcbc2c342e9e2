"""`sketchbench run`: the composed config, and every combination of values."""

import re
from pathlib import Path

import pytest
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.base.errors import ConfigError
from sketchbench.base.project import CONF
from sketchbench.command.main import main
from sketchbench.run.config.overrides import product, quote

SMALL = ["kernels=numpy", "d=12", "task.trials=3", "task.pairs=[flat]"]


def test_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    """Is printed, and nothing is run."""
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
