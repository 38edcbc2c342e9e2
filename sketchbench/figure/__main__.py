"""Draw one figure: `python -m sketchbench.figure --help`."""

import argparse
import importlib
import sys
from pathlib import Path

import pandas as pd

from sketchbench.figure import CATALOGUE
from sketchbench.figure.saving import save


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.figure", description="Draw one figure from finished tables."
    )
    parser.add_argument("figure", choices=CATALOGUE, metavar="FIGURE", help=", ".join(CATALOGUE))
    parser.add_argument("--tables", required=True, type=Path, nargs="+", help="its studies' CSV")
    parser.add_argument("--svg", required=True, type=Path)
    parser.add_argument("--png", required=True, type=Path)
    options = parser.parse_args(arguments)
    tables = {path.stem: pd.read_csv(path) for path in options.tables}
    if missing := set(CATALOGUE[options.figure].studies) - tables.keys():
        sys.exit(f"sketchbench: error: figure {options.figure} needs {', '.join(sorted(missing))}")
    figure = importlib.import_module(f"sketchbench.figure.{options.figure}").draw(tables)
    save(figure, options.svg, options.png)


if __name__ == "__main__":
    main()
