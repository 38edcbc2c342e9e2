"""Compare the code and libraries behind the reports with this code and the installed libraries."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sketchbench.report import seal
from sketchbench.report.codes import DIGEST, MAKERS, code_of
from sketchbench.report.figure.catalogue import Entry, read_catalogue
from sketchbench.report.inputs import CODE
from sketchbench.report.seal import Seal
from sketchbench.report.table.versions import installed, others

MANY = 6  # reports; a line counts more of them
AGAIN = "run sketchbench results again"
AFRESH = "remove their folders in results and run them again, or install these releases"


def not_current(reports: Path, releases: Mapping[str, str] | None = None) -> list[str]:
    """A line for each kind of report that other code made, and for each other release of a library behind tables.

    `releases` are the installed releases by library. Reads seals only; `standing.RunTable.states` compares the code of
    runs. Raises SealError if a manifest is damaged.
    """
    releases = installed() if releases is None else releases
    catalogue = read_catalogue()
    found: dict[str, list[str]] = {}
    for folder in seal.FOLDERS:
        for name, own in seal.seals(reports / folder).items():
            for reason in _reasons(own, name, catalogue, releases):
                found.setdefault(reason, []).append(name)
    return [
        f"{reports}: {', '.join(names) if len(names) <= MANY else f'{len(names)} of them'}: {reason}"
        for reason, names in found.items()
    ]


def _reasons(own: Seal, name: str, catalogue: Mapping[str, Entry], releases: Mapping[str, str]) -> Iterator[str]:
    """The reasons why a report is not current; nobody plans the code of benchmarks and history."""
    drawn = own.kind == "figure" and name in catalogue
    if own.kind in MAKERS or drawn:
        code = catalogue[name].digest(DIGEST) if drawn else code_of(own.kind)
        if own.made_of.get(CODE) != code:
            yield f"{own.kind} made by other code; {AGAIN}"
    for text in others(own.versions, releases):
        yield f"{own.kind} made with {text}; {AFRESH}"
