"""`sketchbench plan` takes options as settings of Snakemake, too."""

from pathlib import Path
from typing import Any

import click
import pytest

from sketchbench.command.plan import command


def parsed(*arguments: str) -> dict[str, Any]:
    """The options that were given."""
    params = command.make_context("plan", list(arguments)).params
    return {name: value for name, value in params.items() if value not in (None, False)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--folder", "a b/mine=1", "--only", "mine", "--seed", "3"),
        ("folder=a b/mine=1", "only=mine", "seed=3"),
        ("--config", "folder=a b/mine=1", "only=mine", "--seed", "3"),
        ("--only", "mine", "--config", "seed=3", "--config", "folder=a b/mine=1"),
    ],
)
def test_options_and_settings(arguments: tuple[str, ...]) -> None:
    assert parsed(*arguments) == {"folder": Path("a b/mine=1"), "only": "mine", "seed": 3}
    assert parsed(*arguments, "--runs") == {"folder": Path("a b/mine=1"), "only": "mine", "seed": 3, "runs": True}


def test_the_value_of_an_option_may_look_like_a_setting() -> None:
    assert parsed("--folder", "only=mine") == {"folder": Path("only=mine")}


@pytest.mark.parametrize(("argument", "mistake"), [("foldr=mine", "--foldr"), ("seed=x", "not a valid integer")])
def test_wrong_settings(argument: str, mistake: str) -> None:
    with pytest.raises(click.UsageError, match=mistake):
        parsed("--config", argument)
