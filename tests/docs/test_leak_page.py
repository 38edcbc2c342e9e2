"""The page on what a training leaks, followed from an empty folder, with fewer trials and one sketch."""

import re
from pathlib import Path

import numpy as np
import pytest
from prose import ROOT, commands, files
from sklearn.datasets import load_digits

from sketchbench.command.main import main

PAGE = ROOT / "docs" / "howto" / "leak.md"


@pytest.mark.weekly
def test_the_page_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The attack recovers the images of the page's network, from the whole gradient and from a sixteenth."""
    monkeypatch.chdir(tmp_path)
    for name, content in files(PAGE).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    digits = load_digits()
    np.savez("mine/photos.npz", images=(15 * digits.images).astype(np.uint8), labels=digits.target)
    (command,) = commands(PAGE)
    small = [word.replace("[4,16]", "[16]").replace("trials=4", "trials=2") for word in command.words[1:]]
    assert small != list(command.words[1:])
    main([*small, "task.assessment.pictures=0"])
    said = capsys.readouterr().out
    found = dict(re.findall(r"^psnr +(control|iterative_sketching) .* 2 +([\d.]+)", said, re.MULTILINE))
    assert found.keys() == {"control", "iterative_sketching"}, said
    assert all(float(value) > 30 for value in found.values()), said
