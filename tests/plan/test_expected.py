"""The verdicts that files of a folder expect, compared with a run's."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sketchbench.plan.expected import Expected, read_expected, unexpected

WANTED = Expected("sketch", "mine", "S2", "holds")


def verdicts(*rows: dict[str, Any]) -> pd.DataFrame:
    general = {"claim": "S2", "method": "mine", "label": "Mine", "verdict": "holds", "study": "moments"}
    return pd.DataFrame([{**general, **row} for row in rows])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({}, ""),
        ({"verdict": "holds, not sharp"}, "S2 Mine: holds, not sharp; sketch/mine.yaml expects: holds"),
        ({"verdict": "void"}, "S2 Mine: void; sketch/mine.yaml expects: holds"),
        ({"claim": "S1"}, "S2 mine: not judged in this run; sketch/mine.yaml expects: holds"),
        ({"method": "other"}, "S2 mine: not judged in this run"),
        ({"study": "reconstruction"}, "S2 mine: not judged in this run"),  # a recovery of the same name
    ],
)
def test_what_is_unexpected(row: dict[str, Any], words: str) -> None:
    found = unexpected([WANTED], verdicts(row))
    assert [str(one)[: len(words)] for one in found] == ([words] if words else [])
    assert all(one.serious for one in found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[S2]", "must map claims to verdicts"),
        ("{S2: true}", "S2=True is unknown; choose one of holds"),
        ("{S2_: holds}", "claim=S2_ is unknown; did you mean S2"),
        ("{S2: {quick: holds}}", "is unknown; choose one of holds"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "sketch").mkdir()
    path = tmp_path / "sketch" / "mine.yaml"
    path.write_text(f"expected: {text}\n")
    with pytest.raises(ValueError, match="expected: ") as caught:
        read_expected(tmp_path)
    assert words in str(caught.value)
    path.write_text("expected: {S2: holds}\n")
    assert read_expected(tmp_path) == [WANTED]
