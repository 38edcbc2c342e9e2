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
from sketchbench.run.config.schema import load

WORDS_FILE = Path(__file__).with_name("glossary.yaml")


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The page of the glossary."""
    words = load(WORDS_FILE)
    sections = {
        "Verdicts": {badge(name): prose(text) for name, text in words["verdicts"].items()},
        "Terms": {name: prose(text) for name, text in words["terms"].items()},
        "Roles of claims": {name: prose(_role(name)) for name in ROLES},
        "Kinds of errata": KINDS,
        "Criteria": {_code(name): f"{what}; it holds if {holds}" for name, (what, holds) in WORDS.items()},
        "Quantities": {_code(name): _with_unit(*each) for name, each in read_quantities().items()},
        "Columns of tables": {_code(name): _with_unit(one.meaning, one.unit) for name, one in COLUMNS.items()},
    }
    blocks = [f"## {title}\n\n{_definitions(entries)}" for title, entries in sections.items()]
    yield Page("glossary.md", "Glossary", "\n\n".join([*blocks, f"## Notation\n\n{_notation()}"]))


def _code(name: str) -> str:
    return f"<code>{name}</code>"


def _with_unit(meaning: str, unit: str | None) -> str:
    return typeset(meaning) + (f" [{typeset(unit)}]" if unit else "")


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
