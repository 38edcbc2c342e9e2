"""Draw several figures in one process: `python -m sketchbench.figure.together --help`."""

import argparse
import sys
from pathlib import Path

from sketchbench.figure.__main__ import make
from sketchbench.figure.catalogue import read_catalogue
from sketchbench.schema import SchemaError
from sketchbench.seal import SealError


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.figure.together", description="Draw figures from finished tables, one by one."
    )
    parser.add_argument("names", nargs="+", metavar="FIGURE")
    parser.add_argument("--tables", required=True, type=Path, help="the folder of the tables")
    parser.add_argument("--figures", required=True, type=Path, help="the folder of the figures")
    parser.add_argument("--scale", required=True, help="the scale of these tables")
    options = parser.parse_args(arguments)
    try:
        catalogue = read_catalogue()
        for name in options.names:
            tables = [options.tables / f"{study}.csv" for study in catalogue[name].studies]
            place = options.figures / name
            svg, png = place.with_suffix(".svg"), place.with_suffix(".png")
            make(name, catalogue[name], tables, options.scale, svg=svg, png=png)
    except KeyError as error:
        sys.exit(f"sketchbench: error: figure {error} is not in conf/figure")
    except (SchemaError, SealError, OSError) as error:
        sys.exit(f"sketchbench: error: {error}")


if __name__ == "__main__":
    main()
