"""Draw several figures in one process: `python -m sketchbench.figure.together --help`."""

from pathlib import Path

from sketchbench.command_line import Parser, program
from sketchbench.figure.__main__ import make
from sketchbench.figure.catalogue import read_catalogue
from sketchbench.parameters import choose


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(
        prog="python -m sketchbench.figure.together", description="Draw figures from finished tables, one by one."
    )
    parser.add_argument("names", nargs="+", metavar="FIGURE")
    parser.add_argument("--tables", required=True, type=Path, help="the folder of the tables")
    parser.add_argument("--figures", required=True, type=Path, help="the folder of the figures")
    parser.add_argument("--scale", required=True, help="the scale of these tables")
    options = parser.parse_args(arguments)
    catalogue = read_catalogue()
    for name in options.names:
        entry = catalogue[choose("figure", name, catalogue)]
        tables = [options.tables / f"{study}.csv" for study in entry.studies]
        place = options.figures / name
        make(name, entry, tables, options.scale, svg=place.with_suffix(".svg"), png=place.with_suffix(".png"))


if __name__ == "__main__":
    main()
