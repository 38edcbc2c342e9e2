"""Join what the papers print with what was measured, as CSV and as a page: `python -m sketchbench.printed --help`."""

from pathlib import Path

from sketchbench.claim.markup import to_html
from sketchbench.command_line import Parser, program
from sketchbench.files import write_text
from sketchbench.printed.cells import join
from sketchbench.printed.page import TITLE, content
from sketchbench.printed.typed import FOLDER, read_printed
from sketchbench.schema import SCALES
from sketchbench.table.reading import COLUMNS, read_table

VERDICTS = ("claim", "role", "method", "verdict", "statistic", "low", "high", "bound", "trials")


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(
        prog="python -m sketchbench.printed",
        description="The papers' tables and figures, cell by cell, beside what was measured.",
    )
    parser.add_argument("--tables", default=[], type=Path, nargs="*", help="CSV by study; cells of others are open")
    parser.add_argument("--verdicts", required=True, type=Path, help="claims.csv, made of these tables")
    parser.add_argument("--scale", required=True, choices=SCALES, help="that they are of")
    parser.add_argument("--printed", type=Path, nargs="+", help=f"YAML files (default: all of {FOLDER.name})")
    parser.add_argument("--older", default=[], nargs="*", help="studies whose tables are of older code")
    parser.add_argument("--csv", required=True, type=Path, help="a file to write")
    parser.add_argument("--html", required=True, type=Path, help="a file to write")
    options = parser.parse_args(arguments)
    cells = read_printed(options.printed or FOLDER.glob("*.yaml"))
    tables = {path.stem: read_table(path, COLUMNS, kind="table", scale=options.scale) for path in options.tables}
    verdicts = read_table(options.verdicts, VERDICTS, kind="claims", scale=options.scale)
    joined = join(cells, tables, verdicts, options.scale, options.older)
    write_text(options.csv, joined.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    write_text(options.html, to_html(TITLE, content(cells, joined, options.scale)))


if __name__ == "__main__":
    main()
