"""README and documentation: links lead somewhere, Python runs and prints, YAML is what it says it is."""

import re
from pathlib import Path

import pytest
import yaml
from prose import PAGES, ROOT, anchors, blocks, links, title

from sketchbench.report.claim.claims import read_claims

MODULES = (
    "class HalfSigns",
    "class Lengths",
    "init_process_group",
    "ServerApp",
    "def make(shape",
)  # of blocks that are files and no programs; other tests have them


def test_the_readme_begins_with_commands_and_answer_and_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first = "\n".join(lines[:40])
    assert first.index("make results") < first.index("## Is the paper right?") < first.index("#4-accuracy-per-byte")
    assert "```python" in lines[:60]
    assert len(lines) <= 150


def test_each_finding_has_its_picture_on_the_first_screen() -> None:
    """The first picture of its section in docs/findings.md, which leads there."""
    sections = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8").split("\n## ")[1:]
    first = [re.search(r"!\[[^]]*\]\(([^)]+)\)", section)[1] for section in sections]  # type: ignore[index]
    expected = [((ROOT / "docs" / name).resolve(), number) for number, name in enumerate(first, 1)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r'<a href="docs/findings\.md#(\d)-[\w-]+"><img src="([^"]+)"', readme)
    assert [((ROOT / name).resolve(), int(number)) for number, name in shown] == expected


def test_all_pages_are_reached_from_the_readme() -> None:
    linked = {(ROOT / link.split("#")[0]).resolve() for link in links(ROOT / "README.md")}
    reference = {page for page in PAGES if page.parent.name == "reference"}  # in the navigation of the site
    assert set(PAGES) - reference - {ROOT / "README.md"} <= linked


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_what_the_site_includes_links_within_itself() -> None:
    """The site has the pages of docs/, the figures of the findings, and nothing else of the repository."""
    for page in (ROOT / "docs").rglob("*.md"):
        for link in links(page):
            target = (page.parent / link.split("#")[0]).resolve()
            inside = target.is_relative_to(ROOT / "docs") or (page.name, target.suffix) == ("findings.md", ".png")
            assert inside, f"{title(page)}: {link}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=title)
def test_python_runs_and_prints(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Later blocks of a page go on from the earlier ones."""
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        if any(module in block for module in MODULES):
            continue
        exec(block, names)
        assert capsys.readouterr().out or "class LargestEntries" in block, block


def test_five_lines_are_five() -> None:
    """And what their comment says of a mean is so, nearly, for this vector."""
    (code,) = blocks(ROOT / "README.md", "python")
    lines = [line for line in code.splitlines() if line]
    assert lines.pop().startswith("print(")
    assert len(lines) == 5
    names: dict[str, object] = {}
    exec(code, names)
    assert names["x_hat"].shape == (1_000_000,)  # type: ignore[attr-defined]
    assert abs(names["x_hat"].mean() - 1) < 0.1  # type: ignore[attr-defined]


def test_recovery_by_hand_loses_little() -> None:
    code = next(block for block in blocks(ROOT / "docs/howto/recovery.md", "python") if "recovered" in block)
    names: dict[str, object] = {}
    exec(code, names)
    x, recovered = names["x"], names["recovered"]
    assert ((x - recovered) ** 2).sum() < 0.05 * (x**2).sum()  # type: ignore[operator, attr-defined]


def test_claims_that_are_shown_are_whole(tmp_path: Path) -> None:
    """The one on the page about claims is read as those of the project are."""
    shown = [block for block in blocks(ROOT / "docs/howto/claim.md", "yaml") if block.startswith("id:")]
    for number, block in enumerate(shown):
        path = tmp_path / f"{yaml.safe_load(block)['id']}.yaml"
        path.write_text(block, encoding="utf-8")
        (claim,) = read_claims([path])
        assert claim.checks, number
    assert shown
