"""Draw one figure: `python -m sketchbench.figure --help`."""

import argparse
import importlib
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from sketchbench.figure import CATALOGUE
from sketchbench.files import atomically

# The same bytes in every run: no date, and identifiers that depend on the content only.
mpl.use("agg")
mpl.rcParams["svg.hashsalt"] = "sketchbench"


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
    with atomically(options.svg) as path:
        figure.savefig(path, metadata={"Date": None})
    with atomically(options.png) as path:
        figure.savefig(path, dpi=200, metadata={"Software": None})


if __name__ == "__main__":
    main()
