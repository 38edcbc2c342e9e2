"""What the papers print beside what was measured, as CSV."""

from collections.abc import Sequence
from pathlib import Path

from sketchbench.files import write_text
from sketchbench.report.printed.cells import join
from sketchbench.report.printed.typed import read_printed
from sketchbench.report.table.reading import COLUMNS, read_table

VERDICTS = ("claim", "role", "method", "verdict", "statistic", "low", "high", "bound", "trials")


def compare(
    tables: Sequence[Path],
    printed: Sequence[Path],
    verdicts: Path,
    scale: str,
    older: Sequence[str] = (),
    *,
    csv: Path,
) -> None:
    """Write the papers' tables and figures, cell by cell, beside what was measured.

    Arguments:
        tables: CSV by study, sealed; cells of other studies are open.
        printed: YAML files.
        verdicts: claims.csv, made of these tables.
        scale: that they are of.
        older: studies whose tables are of older code.
        csv: the file to write.

    Raises:
        ValueError: in one line, for a file that is not what it must be.
        FileError: (an OSError) where it can't be written.
    """
    cells = read_printed(printed)
    frames = {path.stem: read_table(path, COLUMNS, kind="table", scale=scale) for path in tables}
    judged = read_table(verdicts, VERDICTS, kind="claims", scale=scale)
    joined = join(cells, frames, judged, scale, older)
    write_text(csv, joined.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
