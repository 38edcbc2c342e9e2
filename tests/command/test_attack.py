"""`sketchbench attack`: an attack of one's own beside ours."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sketchbench.base.errors import ConfigError
from sketchbench.command.attack import command, load
from sketchbench.command.new import write

FEW = ["--seed", "3", "--methods", "srht", "--trials", "4", "--condition", "label read", "--condition", "batch of 8"]
SHORT = "import torch\ndef find(target):\n    "


def attacked(path: Path, text: str) -> Result:
    path.write_text(SHORT + text, encoding="utf-8")
    return CliRunner().invoke(command, [str(path), *FEW])


def test_what_new_writes_is_scored_beside_ours(tmp_path: Path) -> None:
    (path,) = write("attack", "steps", tmp_path)
    result = CliRunner().invoke(command, [str(path), *FEW])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "srht, 1/16 of the bytes, seed 3"
    rows = [re.split(r"\s{2,}", line) for line in lines[2:]]
    conditions = {row[0] for row in rows}
    assert conditions == {"label read", "batch of 8"}
    for condition in conditions:
        own = [row for row in rows if row[0] == condition]
        assert "yours" in {row[1] for row in own}
        assert [int(row[-2]) for row in own] == sorted((int(row[-2]) for row in own), reverse=True)
        assert all(row[-1] == "4" for row in own)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("return torch.zeros(1, 2, 3)", r"the attack's images of shape \(1, 2, 3\) must be \(4, 1, 64\)"),
        ("return [1.0]", "the attack's images must be a tensor"),
        ("raise KeyError('lost')", r"wrong.py: find: .*lost"),
    ],
)
def test_an_attack_that_is_none(tmp_path: Path, text: str, error: str) -> None:
    result = attacked(tmp_path / "wrong.py", text)
    assert result.exit_code == 1
    assert re.search(error, str(result.exception)), result.exception


def test_a_file_that_is_no_attack(tmp_path: Path) -> None:
    path = tmp_path / "other.py"
    path.write_text("def fined(target):\n    return target\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"function=find is unknown; .*did you mean fined"):
        load(path)
    path.write_text("import nothing_of_this_name\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"other.py: .*nothing_of_this_name"):
        load(path)
