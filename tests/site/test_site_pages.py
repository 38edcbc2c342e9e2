"""The pages of the site as text: fronts, claims, errata, history, glossary. They need no MkDocs."""

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from all_claims import CLAIMS

from sketchbench.base.files import FileError
from sketchbench.base.project import PROJECT
from sketchbench.report import seal
from sketchbench.report.claim.claims import Claim
from sketchbench.report.claim.erratum import read_errata
from sketchbench.report.claim.formula import lines
from sketchbench.report.evidence import statistic
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site import build, claim_list, claims, errata, front, glossary, history
from sketchbench.report.site.claim_picture import panels_of
from sketchbench.report.site.page import Page
from sketchbench.report.site.verdicts import anchor, badge, escape, number, prose, typeset
from sketchbench.run.config import commands
from sketchbench.run.config.chapters import claims as claim_files
from sketchbench.run.config.chapters import files
from sketchbench.run.config.composition import compose
from sketchbench.run.config.schema import load

CONF = PROJECT / "conf"
ALL = list(CLAIMS.values())
NAN = float("nan")
HEADINGS = (
    *("What the paper says", "In words", "The numbers", "Verdicts by method", "What was measured"),
    *("Why", "Make it again"),
)


REFUTED = {"verdict": "fails", "tightness": NAN, "statistic": 3.0, "low": 2.5, "high": 3.5}


def verdict(**changes: Any) -> dict[str, Any]:
    """A row of a table of verdicts."""
    told = {"claim": "S2", "paper": "song2023", "place": "Table 1", "role": "printed", "label": "AMS", "method": "ams"}
    told |= {"verdict": "holds", "predicted": "holds", "criterion": "upper_bound", "study": "embedding", "case": "d=16"}
    numbers = {"statistic": 1.5, "low": 1.25, "high": 1.75, "bound": 2.0, "slack": 0.1, "tightness": 1.3, "trials": 9}
    control = {"negative_control": "zero", "negative_control_verdict": "fails", "negative_control_statistic": 7.0}
    return {**told, **numbers, **control, "dataset": "none", "code": "", **changes}


def write_verdicts(folder: Path, rows: list[dict[str, Any]], scale: str = "quick") -> None:
    pd.DataFrame(rows).to_csv(folder / "claims.csv", index=False)
    seal.write("claims", scale, {}, [folder / "claims.csv"])


@pytest.fixture
def scales(tmp_path: Path) -> list[ReportedScale]:
    """The quick scale with a few verdicts; of the papers' there is nothing."""
    rows = [
        verdict(),
        verdict(label="SRHT", method="srht", **REFUTED),
        verdict(claim="S3", verdict="not run", label=None, method=None, statistic=NAN),
    ]
    write_verdicts(tmp_path, rows)
    return [ReportedScale("quick", tmp_path), ReportedScale("paper", tmp_path / "paper")]


@pytest.fixture
def only_s2(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claims of the site are S2 alone, since all pages take seconds."""
    monkeypatch.setattr(claims, "read_claims", lambda paths: [claim for claim in ALL if claim.id == "S2"])
    monkeypatch.setattr(claims, "read_errata", lambda paths, known: [])


def made(module: Any, scales: list[ReportedScale]) -> dict[str, Page]:
    return {item.path: item for item in module.pages(scales, CONF) if isinstance(item, Page)}


def test_every_claim_has_a_page_and_every_verdict_a_place(scales: list[ReportedScale]) -> None:
    pages = made(claims, scales)
    assert set(pages) == {"claims.md", *(f"claims/{name}.md" for name in claim_files(CONF))}
    text = pages["claims/S2.md"].text
    places = [text.index(f"## {heading}") for heading in HEADINGS]
    assert places == sorted(places)  # from the paper to the command
    assert text.index('class="answer"') < places[0]  # the answer, below the title
    assert text.count('<tr id="') == 2
    assert '<tr id="ams"' in text
    assert "sketchbench results --scale quick --studies embedding,embedding_controls,moments" in text
    assert "<svg" in text
    assert (
        'Predicted before the first run: <span class="holds">✓ holds</span> (2026-11-21). Not as predicted: 1 of 2.'
        in text
    )
    assert (
        '<p class="answer"><span class="holds">✓ holds</span> for AMS; <span class="fails">✗ fails</span> for SRHT.'
        in text
    )
    assert "9 trials at the scale quick" in text
    assert '<p class="answer"><span class="not-run">– not run</span>: ' in pages["claims/S3.md"].text
    listed = pages["claims.md"].text
    assert listed.count('<li class="claim"') == len(ALL)
    row = listed.partition('href="claims/S2.html"')[2].partition("</li>")[0]
    assert '<i class="holds" style="flex:1"></i><i class="fails" style="flex:1"></i>' in row
    assert 'data-method="SRHT" data-verdict="fails" data-scale="quick"' in row
    assert "<p>The error of an inner product" in row


@pytest.mark.usefixtures("only_s2")
def test_a_verdict_that_both_scales_share_is_drawn_once(tmp_path: Path) -> None:
    rows = [verdict(), verdict(label="SRHT", method="srht")]
    folder = tmp_path / "paper"
    folder.mkdir()
    write_verdicts(tmp_path, rows)
    write_verdicts(folder, [rows[0], {**rows[1], "statistic": 1.6, "verdict": "fails"}], "paper")
    text = made(claims, [ReportedScale("paper", folder), ReportedScale("quick", tmp_path)])["claims/S2.md"].text
    assert text.count("<svg") == 1
    assert text.count('class="interval"') == 3
    assert ">quick</text>" in text


@pytest.mark.usefixtures("only_s2")
def test_a_claim_has_its_formula_below_its_statement(
    scales: list[ReportedScale], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In LaTeX where the converter is missing; as MathML it is tested in tests/site/browser."""
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    text = made(claims, scales)["claims/S2.md"].text
    (latex,) = lines(next(claim for claim in ALL if claim.id == "S2").formula)
    assert f"<p><code>{escape(latex)}</code></p>" in text
    assert text.index("</blockquote>") < text.index('class="formula box"') < text.index("## In words")


@pytest.mark.parametrize("missing", ["mkdocs", "latex2mathml"])
def test_a_library_that_is_missing_is_named(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None if name == missing else name)
    with pytest.raises(build.SiteError, match=rf"(?i){missing} builds the site and is not installed; `make site`"):
        build.build(tmp_path / "site")


def test_no_task_has_two_topics() -> None:
    """That each task of a claim has one, building the pages shows."""
    tasks = " ".join(claim_list.TOPICS.values()).split()
    assert len(tasks) == len(set(tasks))


@pytest.mark.usefixtures("only_s2")
def test_a_verdict_shows_its_near_miss_and_its_tightness_over_all_rounds(tmp_path: Path) -> None:
    near = {"near_miss": "twice", "near_miss_verdict": "holds", "near_miss_statistic": 0.25, "near_miss_bound": 0.5}
    write_verdicts(tmp_path, [verdict(verdict="holds, not sharp", loosest=640.0, **near)])
    text = made(claims, [ReportedScale("quick", tmp_path)])["claims/S2.md"].text
    assert '<span class="holds-not-sharp">≤ holds, not sharp</span>' in text
    assert '<br>near miss, twice: <span class="holds">✓ holds</span> 0.25 of 0.5' in text
    assert "<td>1.3 to 640</td>" in text


def publish(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Commit these verdicts, and leave what was there."""
    now = {path: path.read_bytes() for path in (*folder.glob("claims.*"), folder / seal.MANIFEST)}
    write_verdicts(folder, rows)
    (folder / "claims.md").touch()
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "reports"]):
        subprocess.run(["git", "-C", str(folder), *who, *command], check=True)
    for path, content in now.items():
        path.write_bytes(content)


@pytest.mark.git
def test_the_front_page_keeps_the_questions_apart(scales: list[ReportedScale]) -> None:
    """Whether the paper is right, what was predicted, and what is as published."""
    text = made(front, scales)["index.md"].text
    assert text.index("One verdict for each claim") < text.index("As predicted, as published")
    assert "Of 3 verdicts on 2 claims at the scale quick: 1 as predicted, 1 otherwise, 1 not run." in text
    assert "At the scale quick nothing is published to compare with." in text
    assert "alarm" not in text
    publish(scales[0].reports, [verdict(verdict="inconclusive"), verdict(label="SRHT", method="srht")])
    text = made(front, scales)["index.md"].text
    assert "1 verdicts differ from the published ones" in text
    assert "1 stronger, 1 differs, 1 not run." in text
    assert "<li>S2 AMS: stronger: holds, published inconclusive: 1.5 in [1.25, 1.75], bound 2 (published: " in text
    assert "<li>S2 SRHT: differs: fails, published holds: 3 in [2.5, 3.5], bound 2 (published: " in text
    assert "claims.html#paper=song2023&amp;role=printed&amp;verdict=fails&amp;scale=quick" in text
    assert "frontier.html" not in text  # there is none in these reports
    assert "No claim of the findings has been run at the scale quick." in text
    publish(scales[0].reports, [verdict(), verdict(label="SRHT", method="srht", **REFUTED)])
    text = made(front, scales)["index.md"].text
    assert "Beside the published ones, at the scale quick: 2 reproduced, 1 not run." in text
    assert "alarm" not in text


def test_the_front_page_has_the_findings_with_their_verdicts(scales: list[ReportedScale]) -> None:
    write_verdicts(scales[0].reports, [verdict(claim="S19-printed", verdict="fails"), verdict(claim="F3")])
    text = made(front, scales)["index.md"].text
    assert text.index("docs/findings.html#1-long-trainings") < text.index("docs/findings.html#4-accuracy-per-byte")
    assert "2-double-blind-learning" not in text  # none of its claims was run
    assert "at most <strong>2</strong> is claimed, <strong>1.5</strong> measured with AMS" in text
    assert "do not support it" not in text
    write_verdicts(scales[0].reports, [verdict(claim="S19-printed", verdict="holds")])
    assert "do not support it: S19-printed: holds, not fails" in made(front, scales)["index.md"].text


def test_the_papers_scale_alone_has_a_front_page(scales: list[ReportedScale]) -> None:
    write_verdicts(scales[0].reports, [verdict(verdict="fails")], "paper")
    text = made(front, [ReportedScale("paper", scales[0].reports)])["index.md"].text
    assert "verdict=fails&amp;scale=paper" in text


ERRATA = {one.id for one in read_errata(files(CONF, "erratum"), ALL)}


def test_every_erratum_has_a_section(scales: list[ReportedScale]) -> None:
    text = made(errata, scales)["errata.md"].text
    for name in ERRATA:
        assert f"{{#{name.lower()}}}" in text
    assert "30.16" in text
    first, _, second = text.partition("## No result depends on it")
    assert first.index("Theorem 6.2") < first.index("Lemma 6, Corollary 3") < first.index("Appendix B, both cases")
    assert "Lemma B.1" not in first
    assert "Lemma B.1" in second
    assert text.count("```python") == len(ERRATA) - 3  # two change no number


def test_the_history_marks_drifts_and_may_be_missing(scales: list[ReportedScale]) -> None:
    assert "No history has been kept yet" in made(history, scales)["history.md"].text
    rows = ["commit,date,scale,claim,method,verdict,tightness"]
    rows += [
        "a,2026-01-01,quick,S2,ams,holds,2",
        "b,2026-01-02,quick,S2,ams,fails,1",
        "b,2026-01-02,quick,S3,ams,holds,",
    ]
    path = scales[0].reports / "history.csv"
    path.write_text("\n".join(rows))
    seal.write("history", "", {}, [path])
    text = made(history, scales)["history.md"].text
    assert "2 commits with reports, the latest b" in text
    assert "Of 2 courses 1 have a drift" in text
    assert text.count("<svg") == 1


def test_every_quantity_that_a_claim_names_is_explained(scales: list[ReportedScale]) -> None:
    listed = set(statistic.read_quantities())
    used = {name for claim in ALL for check in claim.checks for name in statistic.quantities(check)}
    assert used == listed
    assert set(statistic.WORDS) == {check.criterion for claim in ALL for check in claim.checks}
    text = made(glossary, scales)["glossary.md"].text
    assert "embedding_constant" in text
    assert load(Path(statistic.__file__).with_name("quantities.yaml"))


def test_a_claim_without_statement_or_reason_has_a_page(
    scales: list[ReportedScale], monkeypatch: pytest.MonkeyPatch
) -> None:
    bare: list[Claim] = [replace(claim, statement="", reason="") for claim in ALL if claim.id == "S2"]
    monkeypatch.setattr(claims, "read_claims", lambda paths: bare)
    monkeypatch.setattr(claims, "read_errata", lambda paths, known: [])
    text = made(claims, scales)["claims/S2.md"].text
    assert "No statement." in text
    assert "No reason is given." in text


@pytest.mark.parametrize(
    "changes",
    [
        {"low": -float("inf"), "high": float("inf")},
        {"statistic": float("inf"), "low": float("inf"), "high": float("inf")},
        {"bound": 0.0, "statistic": 0.0, "low": 0.0, "high": 0.0},
        {"bound": -1.0, "statistic": -0.5},
        {"bound": 1e-9, "statistic": 1e9, "low": 1.0, "high": 1e10},
        {"negative_control_statistic": float("inf")},
        {"bound": NAN},
    ],
)
def test_whatever_is_measured_is_drawn_within_the_frame(changes: dict[str, float]) -> None:
    rows = [{**verdict(**changes), "negative_control_bound": NAN}, {**verdict(), "negative_control_bound": 4.0}]
    for chosen in (rows, rows[:1]):
        picture = panels_of(chosen, {"upper_bound": "mean"}, "S2")
        assert "nan" not in picture
        for x in re.findall(r' (?:cx|x|x1|x2)="([^"]*)"', picture):
            assert 0 <= float(x) <= 440
    assert panels_of([verdict(statistic=NAN)], {}, "S2") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("δ = 1e-7", "δ = 10<sup>−7</sup>"),
        ("2e5 rounds", "2 · 10<sup>5</sup> rounds"),
        ("w^t and x^[K]", "w<sup>t</sup> and x^[K]"),
        ("b < d & C_n", "b &lt; d &amp; C<sub>n</sub>"),
        ("count_sketch", "count_sketch"),
        ("steps=1e+07, delta=1e-09", "steps=10<sup>7</sup>, delta=10<sup>−9</sup>"),
        ("a sketch by sk_{t-1}", "a sketch by sk<sub>t-1</sub>"),
    ],
)
def test_statements_are_typeset(text: str, expected: str) -> None:
    assert typeset(text) == expected


def test_small_words() -> None:
    assert prose("`a_b` **x**") == "<code>a_b</code> <strong>x</strong>"
    assert number(-float("inf")) == "−∞"
    assert number(NAN) == ""
    assert 'class="not-run"' in badge("not run")
    assert anchor({"method": "control/sign", "label": ""}) == "control-sign"


def test_pages_are_written_with_their_headings(tmp_path: Path) -> None:
    pages = build.write(
        iter([Page("claims/S2.md", "S2", "## A\n\n## B\n\n## C"), Page("index.md", "Start", "text")]), tmp_path
    )
    text = (tmp_path / "claims" / "S2.md").read_text()
    assert text.endswith("# S2\n\n## A\n\n## B\n\n## C\n")
    config = build.mkdocs_config(pages, tmp_path, tmp_path / "site")
    assert config["nav"] == [{"Start": "index.md"}]


@pytest.mark.parametrize(
    ("study", "method", "case", "start"),
    [
        ("embedding", "srht", "flat, d=16, b=4", "sketchbench run task=moments sketch=srht scale=quick d=16 b=4"),
        (
            "sparse_gradients",
            "fiht",
            "",
            "sketchbench run task=compressed_sensing recovery=fiht scale=quick objective@",
        ),
        ("compressed_noniid", "any", "", "sketchbench run task=compressed_training scale=quick dataset@task.dataset="),
    ],
)
def test_a_row_names_the_run_that_makes_it_again(study: str, method: str, case: str, start: str) -> None:
    row = verdict(study=study, method=method, case=case)
    command = commands.single_run(CONF, "quick", row)
    assert set(start.split()[:-1]) <= set(command.split())
    assert start.rsplit(maxsplit=1)[-1] in command
    assert compose(shlex.split(command)[2:]).task


def test_what_takes_several_runs_has_no_command() -> None:
    for changes in ({"study": ""}, {"study": "one two"}, {"study": "embedding", "case": ""}, {"study": "no_such"}):
        assert commands.single_run(CONF, "quick", verdict(**changes)) == ""
    assert commands.single_run(CONF, "quick", verdict(method="control/zero")) == ""


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    """MkDocs empties the folder of its site."""
    with pytest.raises(build.SiteError, match=r"no claims.csv to show; run sketchbench results"):
        build.build(tmp_path / "site", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(build.SiteError, match=r"has files of another origin, .*; name an empty directory"):
        build.build(tmp_path)
    with pytest.raises(FileError, match=r"notes.txt is a file"):
        build.build(tmp_path / "notes.txt")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"notes.txt": "mine"}


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, True),  # an older table, that does not say
        ({"criterion": "growth"}, False),
        ({"negative_control_criterion": "upper_bound", "negative_control_bound": 2.0}, True),
        ({"negative_control_criterion": "upper_bound", "negative_control_bound": 4.0}, True),
        ({"negative_control_criterion": "upper_bound", "negative_control_bound": -4.0}, False),
        ({"negative_control_criterion": "always", "negative_control_bound": 2.0}, False),
    ],
)
def test_a_control_is_drawn_where_it_can_be_compared(changes: dict[str, Any], shown: bool) -> None:
    row = {"negative_control_bound": NAN, "negative_control_criterion": "", **verdict(), **changes}
    assert ('class="control"' in panels_of([row], {}, "S2")) == shown


def test_the_axis_says_what_checks_share_once() -> None:
    (claim,) = (one for one in ALL if one.id == "T3")
    assert statistic.axis_names(claim.checks)["growth"].count("slope") == 1
    (claim,) = (one for one in ALL if one.id == "S10")
    assert statistic.axis_names(claim.checks) == {"upper_bound": "mean over the trials"}
