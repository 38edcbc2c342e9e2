"""What each attack recovers from each view, in one grid."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

ATTACKS = {"lbfgs": "L-BFGS", "adam": "Adam", "gradient_descent": "gradient descent"}  # by name in conf/attack
VIEWS = {
    "control": "no defence",
    "iterative_sketching": "song2023: R∇F",
    "compressed_sensing": "tang2021: Φ∇F",
    "private_1e7": "R(∇F + noise), ε = 10⁷",
    "private_1e5": "R(∇F + noise), ε = 10⁵",
    "private_1e3": "R(∇F + noise), ε = 10³",
    "private_10": "R(∇F + noise), ε = 10",
    "server_paper": "zhang2021, server: ΓSᵀ as a gradient",
    "server": "zhang2021, server: Γ, sketches known",
    "option_1": "zhang2021, client: option I",
    "option_2": "zhang2021, client: option II",
    "client": "zhang2021, client: all that isn't sketched",
    "client_last": "zhang2021, client: output layer",
    "client_biases": "zhang2021, client: biases",
    "mean image": "(the mean image, a guess)",
}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From the study inversion_grid: the mean PSNR by view and attack, and in how many trials the image was
    recovered."""
    (table,) = tables.values()
    table = table.assign(**{Column.ATTACK: table[Column.ATTACK].replace(ATTACKS)})
    psnr = _grid(style.select(table, quantity="psnr"), Column.MEAN)
    failures = style.select(table, quantity="failure")
    failures = failures.assign(recovered=failures[Column.TRIALS] - failures[Column.COUNT])
    counts = _grid(failures, "recovered").reindex(psnr.index)  # a guess has none
    trials = int(failures[Column.TRIALS].max())
    texts = psnr.map("{:.1f} dB".format) + counts.map(lambda hits: "" if pd.isna(hits) else f", {hits:.0f}/{trials}")
    figure, axes = style.subplots(4.2)
    look = {"cmap": "viridis", "vmin": 0, "vmax": 50, "linewidths": 0.5, "cbar_kws": {"label": "mean PSNR in dB"}}
    sns.heatmap(psnr.rename(index=VIEWS), annot=texts.to_numpy(), fmt="", ax=axes, **look)
    axes.set(xlabel="", ylabel="")
    return figure


def _grid(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """The values of the first method: a row for each view, a column for each attack."""
    first = rows[rows[Column.METHOD] == rows[Column.METHOD].iloc[0]]
    wide = first.pivot_table(index=Column.CASE, columns=Column.ATTACK, values=value)
    views = [view for view in VIEWS if view in wide.index]
    return wide.loc[views, [name for name in ATTACKS.values() if name in wide.columns]]
