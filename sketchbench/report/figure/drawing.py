"""Plot one figure of the catalogue from finished tables."""

import importlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.base.project import HOME
from sketchbench.measure.column import CONTROLS, Column
from sketchbench.report import seal
from sketchbench.report.codes import DIGEST
from sketchbench.report.figure import foot
from sketchbench.report.figure.catalogue import Entry
from sketchbench.report.figure.saving import save
from sketchbench.report.inputs import figure_inputs
from sketchbench.report.table.reading import TableError, read_table
from sketchbench.run.config.schema import SchemaError

KEY = (Column.METHOD, Column.QUANTITY)  # columns of every table
KINDS = ("sketch", "recovery", "compressor")
# The methods of the project, and the only method of a study that compares nothing.
METHODS = {"any", *(path.stem for kind in KINDS for path in (HOME / "conf" / kind).glob("*.yaml"))}


def plot(entry: Entry, tables: Mapping[str, pd.DataFrame], scale: str = "quick") -> Figure:
    """Plot the figure of an entry from the tables of its studies, by name, with its title and its small print.

    No figure shows controls, which are broken on purpose. The title speaks of the project's methods: it is left out
    beside other methods, and at the scale smoke, which measures nothing.

    Raises SchemaError, in one line, if the entry's function does not take its arguments.
    """
    entry = entry.at(scale)
    function = getattr(importlib.import_module(entry.module), entry.function.partition(".")[2])
    try:
        inspect.signature(function).bind(tables, **entry.arguments)
    except TypeError as error:
        raise SchemaError(f"arguments of figure.{entry.function}: {error}") from None
    sound = {name: table[~table[Column.METHOD].str.startswith(CONTROLS)] for name, table in tables.items()}
    figure = function(sound, **entry.arguments)
    ours = all(table[Column.METHOD].isin(METHODS).all() for table in sound.values())
    title = entry.title if ours and scale != "smoke" else ""
    foot.write(figure, foot.text(scale, tables.values(), entry.data, entry.bars), title)
    return figure


def code_of(entry: Entry) -> str:
    """The digest of an entry and of the code that plots it, which is imported first: no later edit counts."""
    importlib.import_module(entry.module)
    return entry.digest(DIGEST)


def make(name: str, entry: Entry, tables: Sequence[Path], scale: str, *, svg: Path, png: Path) -> None:
    """Plot a figure from sealed tables, write it in both formats, and seal it.

    Raises SchemaError as `plot` does, SealError or TableError for a table that does not fit its seal or the figure, and
    FileError (an OSError) if the figure can't be written.
    """
    try:
        frames = {path.stem: read_table(path, "table", KEY, scale=scale) for path in tables}
        if missing := set(entry.studies) - frames.keys():
            raise TableError(f"figure {name} needs the tables of {', '.join(sorted(missing))}; see --tables")
        figure = plot(entry, frames, scale)
    except SchemaError as error:
        raise SchemaError(f"{name}.yaml: {error}") from None
    except LookupError as error:
        named = ", ".join(map(str, tables))
        raise TableError(f"{named}: not the tables of figure {name}, which finds no {error}") from None
    title = name.replace("_", " ").capitalize()
    save(figure, svg, png, title=title, description=entry.caption.replace("*", ""))
    seal.write("figure", scale, figure_inputs(seal.sums(tables), code_of(entry)), [svg, png])
