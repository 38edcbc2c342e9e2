"""The studies that CI measures anew."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import pytest

from sketchbench.base.project import PROJECT
from sketchbench.plan import cost
from sketchbench.report import seal

_SPEC = importlib.util.spec_from_file_location("sample", PROJECT / ".ci" / "sample.py")
assert _SPEC is not None
assert _SPEC.loader is not None
drawing = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(drawing)


def sealed(root: Path, study: str, records: str = "") -> None:
    seal.put(root / "reports" / "tables" / f"{study}.csv", seal.Seal("table", "quick", {"records": records}, {}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Twenty studies, of 1 to 20 seconds each, one without a cost, and one of two runs of 3 seconds."""
    for folder in ("conf/study", "reports/tables"):
        (tmp_path / folder).mkdir(parents=True)
    rows = [f"quick,s{number},1,{number},{number},1" for number in range(1, 21)]
    rows += ["quick,twice,2,3,4,1"]
    rows += [f"paper,s{number},1,1000,1000,1" for number in range(1, 21)]
    text = "\n".join(["scale,study,runs,seconds,longest,mebibytes", *rows, ""])
    (tmp_path / "conf" / "costs.csv").write_text(text, encoding="utf-8")
    for name in (*(f"s{number}" for number in range(1, 21)), "new", "twice"):
        (tmp_path / "conf" / "study" / f"{name}.yaml").write_text("task: moments\nsketch: all\n", encoding="utf-8")
        sealed(tmp_path, name)
    sealed(tmp_path, "joined")  # a table of no study of its own
    return tmp_path


def seconds(studies: list[str]) -> int:
    return sum(int(name[1:]) for name in studies if name.startswith("s"))


def test_it_takes_its_share_of_the_time_and_what_has_no_cost(root: Path) -> None:
    drawn = drawing.sample(Fraction(1, 3), root)
    assert 72 <= seconds(drawn) + 6 * ("twice" in drawn) < 72 + 20  # of 216
    assert "new" in drawn
    assert len(drawing.sample(Fraction(1), root)) == 22
    assert drawing.sample(Fraction(0), root) == ["new"]


def test_tables_draw_it(root: Path) -> None:
    """Each study is drawn by some; the same tables draw the same."""
    drawn: set[str] = set()
    different = set()
    for number in range(30):
        sealed(root, "s1", str(number))
        one = drawing.sample(Fraction(1, 3), root)
        assert one == drawing.sample(Fraction(1, 3), root)
        drawn.update(one)
        different.add(tuple(one))
    assert len(drawn) == 22
    assert len(different) > 20


def test_a_share_of_one_is_the_whole_quick_scale() -> None:
    costs = {study for scale, study in cost.read(PROJECT / "conf" / "costs.csv") if scale == "quick"}
    assert set(drawing.sample(Fraction(1))) == costs
