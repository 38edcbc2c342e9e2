"""Images that gradient inversion recovered, beside the original ones."""

import base64
from collections.abc import Mapping
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
SIZE = 0.78  # inches, of an image and what is around it


def plot(tables: Mapping[str, pd.DataFrame], blocks: Mapping[str, str]) -> Figure:
    """From studies of gradient inversion: the quantity picture, a block for each study, with a row for each trial and a
    column for each case, compression or ε. `blocks` has the studies from top to bottom, with the texts beside their
    blocks."""
    columns = {text: _columns(tables[study]) for study, text in blocks.items()}
    rows = sum(len(block[0][1]) for block in columns.values())
    width = max(map(len, columns.values()))
    figure = style.new_figure(1.12 * SIZE * rows + 0.2, width=max(SIZE * width + 0.3, 3.0))
    grid = figure.subplots(rows, width, squeeze=False)
    first = 0
    for text, block in columns.items():
        grid[first, 0].set_ylabel(text, fontsize=6)
        for place, (title, pictures) in enumerate(block):
            grid[first, place].set_title(title, fontsize=6, pad=2)
            for line, picture in enumerate(pictures):
                plot_picture(grid[first + line, place], picture)
        first += len(block[0][1])
    for axes in grid.flat:
        style.without_frame(axes)
    return figure


def _columns(table: pd.DataFrame) -> list[tuple[str, list[dict[Any, Any]]]]:
    """The pictures of the first method, a list for each case, compression and ε, with its title."""
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


def plot_picture(axes: Axes, picture: Mapping[Any, Any]) -> None:
    """Draw a row of the quantity `picture`; below it its PSNR, unless it is the original."""
    pixels = np.frombuffer(base64.b64decode(picture[Column.PICTURE]), np.uint8)
    image = pixels.reshape([int(size) for size in picture[Column.SHAPE].split("x")]).transpose(1, 2, 0)
    axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")  # the map is for a single channel
    axes.grid(visible=False)
    if picture[Column.CASE] != "original":
        axes.set_xlabel(f"{picture[Column.VALUE]:.0f} dB", fontsize=6, labelpad=1)
