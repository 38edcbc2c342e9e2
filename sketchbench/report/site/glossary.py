"""The glossary: the meanings of verdicts, terms, roles, criteria, quantities, columns and symbols."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sketchbench.base.project import PROJECT
from sketchbench.measure.column import COLUMNS
from sketchbench.report.claim.page import PAPERS_ROLES, ROLES
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.evidence.statistic import WORDS, read_quantities
from sketchbench.report.site.errata import KINDS
from sketchbench.report.site.page import Asset, Page
from sketchbench.report.site.verdicts import badge, prose, typeset

VERDICTS = {
    "holds": "every number in the interval agrees with the claim, and the negative control fails the same checks",
    "holds, not sharp": "it holds, but so does a near miss, which violates its hypothesis by a factor of 2 to 4",
    "fails": "every number in the interval contradicts the claim",
    "inconclusive": "the bound lies inside the interval: more trials would decide",
    "vacuous": "the claim holds, but the same checks also pass for a negative control, so that they prove nothing",
    "does not transfer": "it fails where data or network are a small stand-in for the paper's, which refutes nothing",
    "void": "the method breaks the contract of all methods, so that its measurements say nothing",
    "not run": "the tables of the claim's studies have not been made",
}
TERMS = {
    "claim": "a statement that can be measured, with its place in a paper, its checks and what was predicted",
    "predicted": "the verdict that was written down before the first run; `any` for times, `nothing` for none",
    "published": "the verdict that is committed to the repository, with which every run is compared",
    "reproduced": "the same verdict as published, from intervals that overlap",
    "weaker": "inconclusive, where the published verdict is decided; or it holds without being sharp",
    "stronger": "decided, where the published verdict is inconclusive; or it holds and is sharp",
    "differs": "another verdict than published, another bound, or intervals that have nothing in common",
    "statistic": "the number, measured or computed, that a verdict is about",
    "interval": "a confidence interval of the statistic; all of a run hold at once, except with probability 0.001",
    "bound": "the value that the statistic is compared with: the paper's limit, or for an equality the exact value",
    "slack": "the distance from the interval to the bound, divided by the bound; negative where the claim is violated",
    "tightness": "the bound divided by what is measured: at 1 the bound is sharp, at 100 it says little",
    "drift": "a verdict that changed between commits, or a tightness that moved by more than 10 %",
    "negative control": "a method or setting outside the claim; it must fail the same checks, or the claim is vacuous",
    "near miss": "a control that violates the hypothesis by a factor of 2 to 4 only, such as twice the step",
    "positive control": "the same attack without the defence; where it fails, too, nothing is said about the defence",
    "family": "a distribution over sketching matrices, such as CountSketch",
    "recovery": "an algorithm that computes a sparse vector from its sketch, such as FIHT",
    "compressor": "an algorithm that turns an update into a message of few bytes, and the message back into an update",
    "method": "a family, recovery or compressor that a study compares",
    "study": "a task that is run for several methods and sizes; its results are one table",
    "seal": "a file beside a report, with the checksums of the report and of the files that it was made from",
    "scale": "how large a run is: `smoke` (does it run?), `quick` (minutes), `paper` (the papers' own sizes)",
}


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The page of the glossary."""
    measured = {
        f"<code>{name}</code>": typeset(each.meaning) + (f" [{each.unit}]" if each.unit else "")
        for name, each in read_quantities().items()
    }
    columns = {
        f"<code>{name}</code>": typeset(column.meaning) + (f" [{typeset(column.unit)}]" if column.unit else "")
        for name, column in COLUMNS.items()
    }
    blocks = [
        "## Verdicts",
        _definitions({badge(name): prose(text) for name, text in VERDICTS.items()}),
        "## Terms",
        _definitions({name: prose(text) for name, text in TERMS.items()}),
        "## Roles of claims",
        _definitions({name: prose(_role(name)) for name in ROLES}),
        "## Kinds of errata",
        _definitions(dict(KINDS)),
        "## Criteria",
        _definitions(
            {f"<code>{name}</code>": f"{what}; it holds where {holds}" for name, (what, holds) in WORDS.items()}
        ),
        "## Quantities",
        _definitions(measured),
        "## Columns of tables",
        _definitions(columns),
        "## Notation",
        _notation(),
    ]
    yield Page("glossary.md", "Glossary", "\n\n".join(blocks))


def _role(name: str) -> str:
    return ROLES[name] + (" (only these count in *Is the paper right?*)" if name in PAPERS_ROLES[:1] else "")


def _definitions(entries: Mapping[str, str]) -> str:
    """Terms and their meanings, in HTML."""
    text = "".join(f"<dt>{term}</dt><dd>{meaning}</dd>" for term, meaning in entries.items())
    return f'<dl class="terms">{text}</dl>'


def _notation() -> str:
    """The table of docs/notation.md, without its heading."""
    for place in ("docs/notation.md", "NOTATION.md"):
        path = PROJECT / place
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            table = [line for line in lines if line.startswith("|")]
            return f'<div class="box" markdown="1">\n\n{chr(10).join(table)}\n\n</div>'
    return "The notation is missing."
