"""Whether the reports that are there are of this code, and of the libraries that are installed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sketchbench.report import seal
from sketchbench.report.codes import DIGEST, MAKERS, code_of
from sketchbench.report.figure.catalogue import Entry, read_catalogue
from sketchbench.report.inputs import CODE
from sketchbench.report.seal import Seal
from sketchbench.report.table.versions import installed, others

MANY = 6  # reports; more of them are counted
AGAIN = "run sketchbench results again"
AFRESH = "remove their folders in results and run them again, or install these releases"


def not_current(reports: Path, releases: Mapping[str, str] | None = None) -> list[str]:
    """A line for each kind of report in a folder that was made by other code than this, and for each release of a
    library that tables were made with and that is not installed (`releases`: by library, those that are).

    Whether the runs behind a table are of this code, its verdicts say (see `standing.RunTable.states`). Reads seals alone.
    Raises SealError for one that is damaged.
    """
    releases = installed() if releases is None else releases
    catalogue = read_catalogue()
    found: dict[str, list[str]] = {}
    for folder in seal.FOLDERS:
        for place in sorted((reports / folder).glob("*.seal")):
            own = seal.read(place)
            for reason in (*_of_code(own, place.stem, catalogue), *_of_releases(own, releases)):
                found.setdefault(reason, []).append(place.stem)
    return [
        f"{reports}: {', '.join(names) if len(names) <= MANY else f'{len(names)} of them'}: {reason}"
        for reason, names in found.items()
    ]


def _of_code(own: Seal, name: str, catalogue: Mapping[str, Entry]) -> Iterator[str]:
    """What is wrong with the code of a report; the benchmarks and the history have none that was planned."""
    if own.kind in MAKERS:
        code = code_of(own.kind)
    elif own.kind == "figure" and name in catalogue:
        code = catalogue[name].digest(DIGEST)
    else:
        return
    if own.made_of.get(CODE) != code:
        yield f"{own.kind} made by other code; {AGAIN}"


def _of_releases(own: Seal, releases: Mapping[str, str]) -> Iterator[str]:
    for text in others(own.versions, releases):
        yield f"{own.kind} made with {text}; {AFRESH}"
