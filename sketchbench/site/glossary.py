"""The glossary: the words of verdicts, the criteria, the quantities, the scales, and the notation."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sketchbench.measure.column import COLUMNS
from sketchbench.project import PROJECT
from sketchbench.report.claim.page import PAPERS_ROLES, ROLES
from sketchbench.report.evidence.statistic import WORDS, listed_quantities
from sketchbench.site.errata import KINDS
from sketchbench.site.page import Asset, Page, Scale
from sketchbench.site.verdicts import badge, prose, typeset

VERDICTS = {
    "holds": "every number in the interval agrees with the claim, and the negative control fails the same checks",
    "fails": "every number in the interval contradicts the claim",
    "inconclusive": "the interval straddles the bound: more trials would decide",
    "vacuous": "it holds, but so it does for a negative control which the claim does not speak of",
    "void": "the method breaks the contract that every method must keep, so what was measured of it says nothing",
    "not run": "the tables of its studies are not there",
}
TERMS = {
    "claim": "a statement that can be measured, with its place in a paper, its checks and its expected verdict",
    "expected": "the verdict that this project foresees, with its reason; `any` where times are compared",
    "surprise": "a verdict that is not the expected one: a change in the code, or a discovery",
    "as expected": "no surprise. A claim that fails as expected is an error of the paper, and not of this project",
    "statistic": "the one number that was measured or computed for a verdict",
    "interval": "a confidence interval of the statistic; all of a run hold at once, except with probability 0.001",
    "bound": "the value that a statistic is held against: what the paper allows, or for an equality the exact value",
    "slack": "the distance from the interval to the bound, relative to the bound; negative where the claim is violated",
    "tightness": "the bound over what was measured: 1 is sharp, and 100 says little",
    "drift": "a verdict that changed between commits, or a tightness that moved by more than 10 %",
    "negative control": "what a claim does not speak of; it must fail the same checks, or the claim's passing is empty",
    "positive control": "the same attack without the defence, which must succeed, or its failure says nothing",
    "family": "a distribution over sketching matrices, such as CountSketch",
    "recovery": "what makes a sparse vector of its sketch, such as FIHT",
    "compressor": "what turns an update into a message of few bytes, and back",
    "method": "a family, recovery or compressor that is compared",
    "study": "a task run for several methods and sizes; it has one table",
    "seal": "a file beside a report with the checksums of what it is and what it was made of",
    "scale": "how large a run is: `smoke` (does it run?), `quick` (minutes), `paper` (the papers' own sizes)",
}


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """One page."""
    measured = {
        f"<code>{name}</code>": typeset(each.meaning) + (f" [{each.unit}]" if each.unit else "")
        for name, each in listed_quantities().items()
    }
    columns = {
        f"<code>{name}</code>": typeset(column.meaning) + (f" [{typeset(column.unit)}]" if column.unit else "")
        for name, column in COLUMNS.items()
    }
    blocks = [
        "## Verdicts",
        _listed({badge(name): prose(text) for name, text in VERDICTS.items()}),
        "## Terms",
        _listed({name: prose(text) for name, text in TERMS.items()}),
        "## Roles of claims",
        _listed({name: prose(_role(name)) for name in ROLES}),
        "## Kinds of errata",
        _listed(dict(KINDS)),
        "## Criteria",
        _listed({f"<code>{name}</code>": f"{what}; it holds where {holds}" for name, (what, holds) in WORDS.items()}),
        "## Quantities",
        _listed(measured),
        "## Columns of tables",
        _listed(columns),
        "## Notation",
        _notation(),
    ]
    yield Page("glossary.md", "Glossary", "\n\n".join(blocks))


def _role(name: str) -> str:
    return ROLES[name] + (" (the paper's own words count in *is the paper right?*)" if name in PAPERS_ROLES[:1] else "")


def _listed(entries: Mapping[str, str]) -> str:
    """Terms and what they mean, each a place that a link may lead to."""
    told = "".join(f"<dt>{term}</dt><dd>{meaning}</dd>" for term, meaning in entries.items())
    return f'<dl class="terms">{told}</dl>'


def _notation() -> str:
    """The table of docs/notation.md, without its heading."""
    for place in ("docs/notation.md", "NOTATION.md"):
        path = PROJECT / place
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            table = [line for line in lines if line.startswith("|")]
            return f'<div class="box" markdown="1">\n\n{chr(10).join(table)}\n\n</div>'
    return "There is none."
