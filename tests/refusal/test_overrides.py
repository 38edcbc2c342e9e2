"""A wrong override is one clear line, and nothing is written."""

from pathlib import Path

import pytest
from ending import ending
from overrides import OVERRIDES

from sketchbench.command.main import main

SMALL = ["kernels=numpy", "d=12", "b=4", "task.trials=3"]
CASES = [(overrides, words) for kind in OVERRIDES.values() for overrides, words in kind]


@pytest.mark.parametrize(("overrides", "words"), CASES, ids=lambda value: " ".join(value)[:60])
def test_a_wrong_override(overrides: tuple[str, ...], words: str, tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    small = SMALL[:1] if any(one.startswith("task=") for one in overrides) else SMALL
    end = ending(main, ["run", *small, *overrides, "--result", str(path)])
    assert not end.faults(words)
    assert list(tmp_path.iterdir()) == []
