"""Join the frontier, and write it as CSV and as a page: `python -m sketchbench.frontier --help`."""

from pathlib import Path

from sketchbench.claim.claims import read_claims
from sketchbench.command_line import Parser, program
from sketchbench.files import write_text
from sketchbench.frontier.cells import cells
from sketchbench.frontier.page import decisive, page
from sketchbench.table.reading import COLUMNS, read_table


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(prog="python -m sketchbench.frontier", description="Join the frontier's tables.")
    parser.add_argument("--tables", required=True, type=Path, nargs="+", help="CSV by study")
    parser.add_argument("--claims", required=True, type=Path, nargs="+", help="YAML files")
    parser.add_argument("--verdicts", required=True, type=Path, help="claims.csv")
    parser.add_argument("--figures", nargs="*", default=[], help="names of figures that the page shows")
    parser.add_argument("--csv", required=True, type=Path, help="a file to write")
    parser.add_argument("--html", required=True, type=Path, help="a file to write")
    options = parser.parse_args(arguments)
    tables = {path.stem: read_table(path, COLUMNS, kind="table") for path in options.tables}
    verdicts = read_table(options.verdicts, ("claim", "verdict"), kind="claims")
    frontier = cells(tables)
    write_text(options.csv, frontier.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    write_text(options.html, page(frontier, decisive(read_claims(options.claims)), verdicts, options.figures))


if __name__ == "__main__":
    main()
