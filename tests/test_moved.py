"""Names of earlier releases: they import the same objects, run as programs, and count the same in a signature."""

import importlib
import subprocess
import sys
import warnings

import pytest

from sketchbench.base.moved import MOVED, today
from sketchbench.run.digest import CodeDigest


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_earlier_name_is_the_same_module(old: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert importlib.import_module(old) is importlib.import_module(MOVED[old])


def test_an_earlier_name_in_a_fresh_process() -> None:
    """Whichever name comes first; with a word on the new name, and with the module's own name kept."""
    code = (
        "from sketchbench.dataset.own import arrays; from sketchbench.learning.dataset import own;"
        "assert own.arrays is arrays and own.__spec__.name == 'sketchbench.learning.dataset.own'"
    )
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert "sketchbench.dataset.own is now sketchbench.learning.dataset.own" in done.stderr
    program = [sys.executable, "-m", "sketchbench.dataset", "--help"]
    assert "Download data sets" in subprocess.run(program, capture_output=True, text=True, check=True).stdout


def test_no_module_where_none_was() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module("sketchbench.dataset.no_such_module")
    assert today("sketchbench.datasets.own") == "sketchbench.datasets.own"


def test_an_earlier_name_counts_as_todays() -> None:
    digest = CodeDigest()
    old, new = "sketchbench.dataset.own.arrays", "sketchbench.learning.dataset.own.arrays"
    assert digest.identify(old) == digest.identify(new)
    assert digest((old,)) == digest((new,))
