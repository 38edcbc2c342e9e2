"""Images that attackers recover, beside the original images."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

NAMES = {
    "original": "original",
    "mean image": "mean image",
    "control": "no defence",
    "server_paper": "server: $\\Gamma S^T$",
    "server": "server: $\\Gamma$",
    "option_1": "client: I",
    "option_2": "client: II",
    "client": "client: exact",
    "client_last": "output layer",
    "client_biases": "biases",
}
BIG, SMALL = 0.78, 0.62  # inches, of an image and the space around it


def plot(tables: Mapping[str, pd.DataFrame], blocks: Mapping[str, str]) -> Figure:
    """Plot the quantity picture from studies of gradient inversion: a block for each study, with a row for each trial
    and a column for each case, compression or ε. `blocks` has the text beside each block by study, from the top."""
    columns = {text: _columns(tables[study]) for study, text in blocks.items()}
    rows = sum(len(block[0][1]) for block in columns.values())
    width = max(map(len, columns.values()))
    figure = style.new_figure(1.12 * BIG * rows + 0.2, width=max(BIG * width + 0.3, 3.0))
    grid = figure.subplots(rows, width, squeeze=False)
    first = 0
    for text, block in columns.items():
        grid[first, 0].set_ylabel(text, fontsize=6)
        for place, (title, pictures) in enumerate(block):
            grid[first, place].set_title(title, fontsize=6, pad=2)
            for line, picture in enumerate(pictures):
                draw_picture(grid[first + line, place], picture)
        first += len(block[0][1])
    for axes in grid.flat:
        style.without_frame(axes)
    return figure


def _columns(table: pd.DataFrame) -> list[tuple[str, list[dict[Any, Any]]]]:
    """The pictures of the first method: a title and a list of rows for each case, compression and ε."""
    pictures = style.select(table, quantity="picture")
    pictures = pictures[pictures[Column.METHOD] == pictures[Column.METHOD].iloc[0]]
    names = [name for name in (Column.CASE, Column.COMPRESSION, Column.EPSILON) if name in pictures]
    groups = pictures.groupby(names, sort=False, dropna=False)
    return [(_title(dict(zip(names, key, strict=True))), group.to_dict("records")) for key, group in groups]


def _title(values: dict[str, Any]) -> str:
    for name, sign in ((Column.COMPRESSION, "$d/b$"), (Column.EPSILON, r"$\varepsilon$")):
        value = values.get(name)
        if value is not None and not np.isnan(value):
            return f"{sign} = {value:g}" if value < 1e4 else f"{sign} = {value:.0e}".replace("e+0", "e")
    return NAMES.get(values[Column.CASE], values[Column.CASE])


def plot_budgets(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the first trial's image from study frontier_leakage, and the image that the best attack recovers from one
    client's message: a row for each compressor, a column for each budget."""
    rows = style.select(tables["frontier_leakage"], quantity="picture", trial=0)
    recovered = style.select(rows, case="server", round=1)
    budgets = sorted(rows[Column.COMPRESSION].unique())
    methods = style.methods(rows, looks=style.COMPRESSOR_LOOKS)
    return _by_method(rows, recovered, methods, Column.COMPRESSION, budgets, margin=1.6, break_labels=True)


def plot_rounds(tables: dict[str, pd.DataFrame], case: str, compression: float) -> Figure:
    """Plot the first trial's image from study frontier_leakage, and the image that the best attack from one place
    recovers: a row for each compressor at one budget, a column for each number of rounds. A row ends when all images
    have been visible, or when messages repeat."""
    rows = style.select(tables["frontier_leakage"], quantity="picture", trial=0, compression=compression)
    recovered = style.select(rows, case=case)
    rounds = sorted(recovered[Column.ROUND].unique())
    methods = style.methods(recovered, looks=style.COMPRESSOR_LOOKS)
    return _by_method(rows, recovered, methods, Column.ROUND, rounds, margin=2.0)


TITLES: dict[str, Callable[[float], str]] = {
    Column.COMPRESSION: lambda budget: "all bytes" if budget == 1 else f"1/{budget:g}",
    Column.ROUND: lambda number: f"{number:.0f} round{'s' if number > 1 else ''}",
}


def _by_method(
    rows: pd.DataFrame,
    recovered: pd.DataFrame,
    methods: list[style.MethodStyle],
    over: str,
    values: list[float],
    margin: float,
    break_labels: bool = False,
) -> Figure:
    """Plot the original and the recovered images: a row for each method, a column for each value in the column `over`;
    labels have `margin` inches, and may break after commas."""
    figure = style.new_figure(1.22 * SMALL * len(methods) + 0.3, width=SMALL * (len(values) + 1) + margin)
    grid = figure.subplots(max(1, len(methods)), len(values) + 1, squeeze=False)
    for method, line in zip(methods, grid, strict=False):
        own = method.rows(recovered).set_index(over)
        draw_picture(line[0], style.select(method.rows(rows), case="original").iloc[0].to_dict())
        label = method.label.replace(", ", ",\n") if break_labels else method.label
        line[0].set_ylabel(label, fontsize=6, rotation=0, ha="right", va="center")
        for value, axes in zip(values, line[1:], strict=True):
            if value in own.index:
                draw_picture(axes, {**own.loc[value].to_dict(), over: value})
    for title, axes in zip(["image", *map(TITLES[over], values)], grid[0], strict=True):
        axes.set_title(title, fontsize=6, pad=2)
    for axes in grid.flat:
        style.without_frame(axes)
    return figure


def draw_picture(axes: Axes, picture: Mapping[Any, Any], below: bool = True) -> None:
    """Show a row of the quantity `picture`; `below` it its PSNR, unless it is the original."""
    pixels = np.frombuffer(base64.b64decode(picture[Column.PICTURE]), np.uint8)
    image = pixels.reshape([int(size) for size in picture[Column.SHAPE].split("x")]).transpose(1, 2, 0)
    axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")  # the map is for a single channel
    axes.grid(visible=False)
    if below and picture[Column.CASE] != "original":
        axes.set_xlabel(f"{picture[Column.VALUE]:.0f} dB", fontsize=6, labelpad=1)
