"""Draw one figure: `python -m sketchbench.figure --help`."""

import argparse
import importlib
import inspect
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sketchbench import seal
from sketchbench.figure import foot
from sketchbench.figure.catalogue import Entry, read_catalogue
from sketchbench.figure.saving import save
from sketchbench.schema import SchemaError


def draw(entry: Entry, tables: Mapping[str, pd.DataFrame], scale: str = "quick") -> Figure:
    """Draw the figure of an entry, with the small print at its foot.

    Arguments:
        entry: an entry of the catalogue.
        tables: the tables of its studies, by their names.
        scale: the scale that the tables were made at.

    Raises:
        SchemaError: in one line, where its module's `draw` does not take the entry's arguments.
    """
    entry = entry.at(scale)
    function = importlib.import_module(f"sketchbench.figure.{entry.module}").draw
    try:
        inspect.signature(function).bind(tables, **entry.arguments)
    except TypeError as error:
        raise SchemaError(f"arguments of figure.{entry.module}.draw: {error}") from None
    figure = function(tables, **entry.arguments)
    foot.write(figure, foot.text(scale, tables.values(), entry.data, entry.bars))
    return figure


def make(name: str, entry: Entry, tables: Sequence[Path], scale: str, *, svg: Path, png: Path) -> None:
    """Draw a figure from sealed tables, write it in both formats, and seal it.

    Raises:
        SchemaError: as `draw` does.
        SealError: for a table that does not fit its seal.
        FileError: (an OSError) where it can't be written.
    """
    contents = {path.stem: seal.content(path, "table", scale) for path in tables}
    figure = draw(entry, {study: pd.read_csv(io.BytesIO(content)) for study, content in contents.items()}, scale)
    title = name.replace("_", " ").capitalize()
    save(figure, svg, png, title=title, description=entry.caption.replace("*", ""))
    seal.write("figure", scale, {study: seal.digest(content) for study, content in contents.items()}, [svg, png])


def main(arguments: list[str] | None = None) -> None:
    try:
        catalogue = read_catalogue()
    except SchemaError as error:
        sys.exit(f"sketchbench: error: {error}")
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.figure", description="Draw one figure from finished tables."
    )
    parser.add_argument("figure", choices=catalogue, metavar="FIGURE", help=", ".join(catalogue))
    parser.add_argument("--tables", required=True, type=Path, nargs="+", help="its studies' CSV")
    parser.add_argument("--svg", required=True, type=Path)
    parser.add_argument("--png", required=True, type=Path)
    parser.add_argument("--scale", default="quick", help="the scale of these tables (quick)")
    options = parser.parse_args(arguments)
    entry = catalogue[options.figure]
    if missing := set(entry.studies) - {path.stem for path in options.tables}:
        sys.exit(f"sketchbench: error: figure {options.figure} needs {', '.join(sorted(missing))}")
    try:
        make(options.figure, entry, options.tables, options.scale, svg=options.svg, png=options.png)
    except SchemaError as error:
        sys.exit(f"sketchbench: error: conf/figure/{options.figure}.yaml: {error}")
    except (seal.SealError, OSError) as error:
        sys.exit(f"sketchbench: error: {error}")


if __name__ == "__main__":
    main()
