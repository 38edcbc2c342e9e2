"""Results of other code or other libraries than are there: they are refused, made again, or named."""

import os
import shutil
import time

import pytest
from conftest import Project
from test_partial import prepare

from sketchbench.report.codes import CHANGED
from sketchbench.report.current import not_current
from sketchbench.report.inputs import CODE

pytestmark = pytest.mark.workflow
PAGE, RUN = "sketchbench/report/claim/page.py", "def run(self) -> list[Row]:\n"
PRINTED = """\
paper: song2023
place: Table 9
about: a table
cells:
  - {cell: one, printed: "1.5", criterion: claim, study: tiny, claim: S1}
"""


def test_code_that_changes_while_jobs_run(finished: Project) -> None:
    """A run edits the page's code before the page is made. So it is not made, until the edit is undone: then it is that
    of the code that was planned, though Snakemake saw no input of it change."""
    before, page = finished.reports(), (finished.path / PAGE).read_text()
    edit = f"        open({PAGE!r}, 'a').write('EDITED = 1\\n')\n"
    finished.edit("sketchbench/task/sketches/moments.py", lambda text: text.replace(RUN, RUN + edit, 1))
    code, output = finished.run()
    assert code != 0
    assert (finished.path / PAGE).read_text() != page
    assert CHANGED in (finished.path / "logs" / "smoke" / "claims.log").read_text(), output
    assert finished.reports().get("claims.md", before["claims.md"]) == before["claims.md"]

    (finished.path / PAGE).write_text(page)
    finished.succeed()
    assert finished.reports()["claims.md"] == before["claims.md"]
    assert "Nothing to be done" in finished.succeed()


def test_code_that_snakemake_has_forgotten(finished: Project) -> None:
    """Seals name the code of each report; so no other report is made again."""
    table = finished.sealed("tables/tiny")
    finished.edit(PAGE, lambda text: text.replace("an error rate", "a rate of errors"))
    shutil.rmtree(finished.path / ".snakemake")
    before = finished.sealed("claims")
    finished.succeed()
    assert "rate of errors" in finished.reports()["claims.md"].decode()
    after = finished.sealed("claims")
    assert {name for name in after.made_of if after.made_of[name] != before.made_of.get(name)} == {CODE}
    assert finished.sealed("tables/tiny") == table


@pytest.mark.weekly
def test_figures_of_tables_that_stay(finished: Project) -> None:
    """Drawn by other code, one is drawn again by a run of another study; no other is."""
    prepare(finished)
    finished.succeed()
    before = finished.sealed("figures/squared_norm")
    finished.edit("sketchbench/report/figure/moments.py", lambda text: text + "\nEDITED = 1\n")
    finished.succeed("studies=tiny")
    after = finished.sealed("figures/squared_norm")
    assert {name for name in after.made_of if after.made_of[name] != before.made_of.get(name)} == {CODE}
    assert after.files == before.files
    svg = finished.path / "reports" / "smoke" / "figures" / "squared_norm.svg"
    drawn = svg.stat().st_mtime_ns
    finished.succeed("studies=tiny")
    assert svg.stat().st_mtime_ns == drawn


@pytest.mark.weekly
def test_printed_numbers_that_look_old(finished: Project) -> None:
    """As where a checkout wrote them before what is made of them."""
    path = finished.path / "conf" / "printed" / "table9.yaml"
    path.write_text(PRINTED)
    finished.succeed()
    assert ",1.5," in finished.reports()["printed.csv"].decode()
    path.write_text(PRINTED.replace("1.5", "2.5"))
    long_ago = time.time() - 1e6
    os.utime(path, (long_ago, long_ago))
    finished.succeed()
    assert ",2.5," in finished.reports()["printed.csv"].decode()
    assert "Nothing to be done" in finished.succeed()


def test_libraries_of_other_releases(finished: Project) -> None:
    """A table states the releases behind its records, and is named where others are installed."""
    reports = finished.path / "reports" / "smoke"
    assert not_current(reports) == []
    numpy = finished.sealed("tables/tiny").versions["numpy"]
    (line,) = not_current(reports, {"numpy": "0.1", "torch": finished.sealed("tables/tiny").versions["torch"]})
    assert line.startswith(f"{reports}: tiny: table made with numpy {numpy}, 0.1 is installed; ")
