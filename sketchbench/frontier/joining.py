"""The frontier of compressors, joined from its studies' tables, as CSV and as a page."""

from collections.abc import Sequence
from pathlib import Path

from sketchbench.claim.claims import read_claims
from sketchbench.files import write_text
from sketchbench.frontier.cells import cells
from sketchbench.frontier.page import decisive, page
from sketchbench.table.reading import COLUMNS, read_table


def join(
    tables: Sequence[Path], claims: Sequence[Path], verdicts: Path, figures: Sequence[str], *, csv: Path, html: Path
) -> None:
    """Join the frontier's tables, and write it.

    Arguments:
        tables: CSV by study, sealed.
        claims: YAML files.
        verdicts: claims.csv, made of these tables.
        figures: names of figures that the page shows.
        csv, html: the files to write.

    Raises:
        ValueError: in one line, for a file that is not what it must be.
        FileError: (an OSError) where one can't be written.
    """
    frames = {path.stem: read_table(path, COLUMNS, kind="table") for path in tables}
    judged = read_table(verdicts, ("claim", "verdict"), kind="claims")
    frontier = cells(frames)
    write_text(csv, frontier.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    write_text(html, page(frontier, decisive(read_claims(claims)), judged, figures))
