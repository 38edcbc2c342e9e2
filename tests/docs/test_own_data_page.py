"""The page on one's own data, followed from the first command to the last, at the smallest size; and its sizes."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hydra.utils import instantiate
from prose import ROOT, blocks, commands
from published import checkout
from published import reports as published

from sketchbench.command.main import main
from sketchbench.federated.tuning import hold_out
from sketchbench.learning.dataset.partition import deal
from sketchbench.plan import own_frontier
from sketchbench.plan.inspection.check import check_folder
from sketchbench.plan.own_frontier import FEW, FULL, SIZES, Costs, OwnProblem, Size, choose_size
from sketchbench.report.evidence import transfer
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site import transfer as page
from sketchbench.report.site.page import Page

DOCUMENT = ROOT / "docs" / "howto" / "own-data.md"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trainings of two rounds, with three compressors."""
    monkeypatch.setattr(own_frontier, "SIZES", (Size(2, 2, 1, (0.2,), (16,), False),))
    monkeypatch.setattr(own_frontier, "FEW", ("none", "top_k", "control/silent"))
    monkeypatch.setattr(own_frontier, "LONG", 0.0)
    monkeypatch.setattr(OwnProblem, "compressors", lambda *_, **__: ["none", "top_k", "control/silent"])


@pytest.mark.weekly
def test_the_page_can_be_followed(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sketchbench.command.frontier.HOME", checkout())  # whose verdicts stand beside one's own
    followed = [command.words for command in commands(DOCUMENT)]
    said = {}
    for words in followed:
        if words[1] != "site":  # which needs MkDocs
            main([*words[1:]])
            said[words[1]] = capsys.readouterr().out
    assert "2 trainings of 2 rounds" in said["frontier"]
    assert "rounds: 2; the project's frontier has 50" in said["frontier"]
    assert re.search(r"F3 +Top-K, client feedback +on digits: holds +here: \w+", said["frontier"])
    assert "sketchbench frontier --folder mine --data bars --model small_net --partition shards" in said["show"]
    assert "Top-K" in said["advise"]

    main(["frontier", "--folder", "mine", "--hours", "0.2"])
    assert "6 of 6 records exist" in capsys.readouterr().out  # and the size is the one that was chosen
    (scale,) = transfer.places(tmp_path / "mine")
    (made,) = (
        item
        for item in page.pages([scale], ReportedScale("quick", published()), ROOT / "conf")
        if isinstance(item, Page)
    )
    assert made.path == "frontier-bars-small_net.md"
    assert 'href="claims/F3.html"' in made.text
    assert "clients: iid and shards" in made.text

    for block in blocks(DOCUMENT, "yaml"):  # they are read as they stand, and name what is not there
        (tmp_path / "mine" / "dataset" / "bars.yaml").write_text(block)
        with pytest.raises(ValueError, match=r"mine/photos.*: (file|folder) not found in"):
            check_folder(tmp_path / "mine")


def test_clients_are_users(tmp_path: Path) -> None:
    """Of a file that says whose each image is; each keeps as many images as all others."""
    random, users = np.random.default_rng(0), np.repeat(np.arange(12), 20 + np.arange(12))
    images = random.integers(0, 256, (len(users), 4, 4), np.uint8)
    np.savez(tmp_path / "photos.npz", images=images, labels=random.integers(0, 3, len(users)), users=users)
    (tmp_path / "dataset").mkdir()
    node = {
        "_target_": "sketchbench.learning.dataset.own.arrays",
        "_partial_": True,
        "path": str(tmp_path / "photos.npz"),
    }
    (tmp_path / "dataset" / "photos.yaml").write_text(yaml.safe_dump(node))
    problem, notes = own_frontier.problem_of("photos", "digits_mlp", "by_user", 4, "numba", 0, tmp_path)
    assert problem.clients == {"iid": 4, "by_user": 10}
    assert notes[0].startswith("by_user: clients have unequal numbers of records, at least ")
    make = instantiate(problem.partitions["by_user"], _convert_="all")
    data = hold_out(problem.data, 0)
    parts = deal(make, data.train.labels, 0, data.users)
    assert len({len(part) for part in parts}) == 1
    assert [len(set(data.users[part].tolist())) for part in parts] == [1] * 10
    with pytest.raises(ValueError, match="users=None must be a number for each sample; give the data set users"):
        own_frontier.problem_of("digits", "digits_mlp", "by_user", 4, "numba", 0, tmp_path)


def test_the_largest_size_that_fits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = OwnProblem("digits", "digits_mlp", {"iid": {}, "one class": {}}, "numba", 0, Path())
    monkeypatch.setattr(OwnProblem, "compressors", lambda _, whole: [*FEW, *([] if whole is False else ["qsgd"])])
    monkeypatch.setattr(OwnProblem, "takes", lambda *_: True)
    costs = Costs(dict.fromkeys((*FEW, "qsgd"), 1e-3), evaluation=1e-4, run=0.1)
    needed = [costs.total(problem, size, 2) for size in SIZES]
    assert needed == sorted(needed, reverse=True)
    for size, seconds in zip(SIZES, needed, strict=True):
        assert choose_size(problem, costs, 1.01 * seconds / own_frontier.SPARE / 3600, 2) == size
    with pytest.raises(ValueError, match=r"hours=1e-06 must be >= "):
        choose_size(problem, costs, 1e-6, 2)
    assert FULL in SIZES


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frontier"], "--folder names your own folder"),
        (["frontier", "--folder", "mine"], "has no data set; create one by sketchbench new dataset NAME"),
        (["frontier", "--folder", "mine", "--hours", "0"], "--hours=0 must be > 0"),
        (["frontier", "--folder", "mine", "--data", "digit"], "did you mean digits?"),
        (["advise", "--folder", "mine", "--bytes", "9", "--parameters", "9"], "has no frontier; run sketchbench"),
        (["check", "--folder", "mine"], "mine/reports/quick/claims.csv is not there"),
        (["site", "--folder", "mine"], "has nothing to show; run sketchbench results or frontier with --folder"),
    ],
)
def test_what_is_missing_is_said(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "model").mkdir(parents=True)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert words in f"{end.value} {capsys.readouterr().err}"
