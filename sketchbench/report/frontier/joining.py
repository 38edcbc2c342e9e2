"""The frontier of compressors, joined from its studies' tables, as CSV."""

from collections.abc import Sequence
from pathlib import Path

from sketchbench.files import write_text
from sketchbench.report.frontier.cells import cells
from sketchbench.report.table.reading import COLUMNS, read_table


def join(tables: Sequence[Path], csv: Path) -> None:
    """Join the frontier's tables, and write it.

    Arguments:
        tables: CSV by study, sealed.
        csv: the file to write.

    Raises:
        ValueError: in one line, for a file that is not what it must be.
        FileError: (an OSError) where it can't be written.
    """
    frames = {path.stem: read_table(path, COLUMNS, kind="table") for path in tables}
    frontier = cells(frames)
    write_text(csv, frontier.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
