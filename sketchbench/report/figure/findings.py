"""One picture for each finding: few lines, each with its label beside it, and the point of the finding marked."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.figure.pictures import draw_picture
from sketchbench.report.frontier.cells import BOTH

WRONG, RIGHT = style.COLOURS[3], style.COLOURS[0]
LOST = 0.05  # of the accuracy without compression, which the findings allow
SEEN = {  # by case of inversion_double_blind
    "original": "a client's image",
    "mean image": "guess without\nan attack",
    "option_1": "attack of the paper,\nby a client",
    "client": "our attack,\nby a client",
}


def plot_trainings(tables: dict[str, pd.DataFrame], epsilon: float, delta: float) -> Figure:
    """Plot ε over the steps of a training from study privacy_lemmas, for steps of this ε and δ with a record in each of
    them: what song2023 Theorem 6.2 promises, and the exact loss. The area is where the loss exceeds the promise."""
    rows = style.select(tables["privacy_lemmas"], quantity="training", reading="bound", local_steps=1, delta=delta)
    rows = style.select(rows, epsilon=epsilon).sort_values(Column.STEPS)
    rows = rows[rows[Column.CLAIMED].notna()]
    steps, promised, exact = (
        rows[name].to_numpy(float) for name in (Column.STEPS, Column.CLAIMED, Column.EXACT_EPSILON)
    )
    figure, axes = style.subplots(2.6, width=5.0)
    axes.plot(steps, promised, **style.BOUND)
    axes.plot(steps, exact, color=WRONG, marker="o", markersize=3.5)
    axes.fill_between(steps, promised, exact, where=exact > promised, interpolate=True, color=WRONG, alpha=0.2)
    axes.set(xscale="log", yscale="log", xlabel="steps of the training", ylabel=r"privacy loss $\varepsilon$")
    axes.margins(x=0.02)
    if len(rows):
        factor = f"{exact[-1] / promised[-1]:.0f} times the promise"
        _beside(axes, steps[-1], exact[-1], f"exact loss:\n{factor}" if factor[0] != "0" else "exact loss", WRONG)
        _beside(axes, steps[-1], promised[-1], "Theorem 6.2\npromises", style.INK)
    broken = exact > promised
    if broken.any():
        first = int(broken.argmax())
        axes.annotate(
            f"fails: {exact[first]:.1f},\nnot {promised[first]:.1f}",
            (steps[first], exact[first]),
            xytext=(-58, 26),
            textcoords="offset points",
            color=WRONG,
            fontsize=7,
            arrowprops={"arrowstyle": "->", "color": WRONG, "linewidth": 0.8},
        )
    return figure


def _beside(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    """Write the label of a line to the right of its end."""
    where: style.Line = {"xytext": (5, 0), "textcoords": "offset points", "annotation_clip": False}
    axes.annotate(text, (x, y), va="center", fontsize=7, color=colour, **where)


def plot_double_blind(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot images of a client that double-blind learning hides, from study inversion_double_blind: the guess without an
    attack, what the paper's attack recovers, and what another client recovers from the output layer; below, the mean
    PSNR of all trials."""
    table = tables["inversion_double_blind"]
    table = table[table[Column.METHOD] == table[Column.METHOD].iloc[0]]
    pictures = style.select(table, quantity="picture")
    known = {case: title for case, title in SEEN.items() if (pictures[Column.CASE] == case).any()}
    rows = int(pictures.groupby(Column.CASE).size().max())
    figure, grid = style.subplots(1.16 * rows + 0.5, rows, len(known), width=5.4, squeeze=False)
    means = style.select(table, quantity="psnr").groupby(Column.CASE)[[Column.MEAN, Column.TRIALS]].first()
    for (case, title), column in zip(known.items(), grid.T, strict=True):
        ours = case == list(SEEN)[-1]
        column[0].set_title(title, fontsize=7.5, color=WRONG if ours else style.INK)
        for axes, picture in zip(column, style.select(pictures, case=case).to_dict("records"), strict=False):
            draw_picture(axes, picture, below=False)
            style.without_frame(axes)
            axes.spines[:].set(visible=ours, color=WRONG, linewidth=2)
        if case in means.index:
            mean, trials = means.loc[case]
            colour = WRONG if ours else style.INK
            column[-1].set_xlabel(f"{mean:.0f} dB on average\nof {trials:.0f} trials", fontsize=7, color=colour)
    return figure


def plot_messages(tables: dict[str, pd.DataFrame], compression: float) -> Figure:
    """Plot the share of victims whose image the best attack has found, from study frontier_leakage at one budget: a
    line for each compressor, after one message of a client and after the most that were tried."""
    rows = style.select(tables["frontier_leakage"], quantity="visible", case="server", compression=compression)
    rows = rows.assign(found=100 * rows[Column.COUNT] / rows[Column.TRIALS]).sort_values(Column.ROUND)
    ends = rows.groupby([Column.METHOD, Column.LABEL])["found"].agg(["first", "last"]).reset_index()
    ends = ends.sort_values(["last", "first", Column.LABEL], ascending=[True, True, False], ignore_index=True)
    figure, axes = style.subplots(0.17 * len(ends) + 0.75, width=5.4)
    for place, row in ends.iterrows():
        axes.plot([row["first"], row["last"]], [place, place], color=WRONG, linewidth=1.2, zorder=2)
    axes.plot(ends["last"], ends.index, "o", color=WRONG, markersize=5, clip_on=False, zorder=3)
    ring: style.Line = {"markerfacecolor": "white", "markeredgecolor": style.INK, "clip_on": False}
    axes.plot(ends["first"], ends.index, "o", markersize=3, zorder=4, **ring)
    axes.set_yticks(ends.index, ends[Column.LABEL])
    axes.axvline(50, zorder=1, **style.BOUND)
    axes.set(xlim=(0, 100), ylim=(-0.6, len(ends) - 0.4), xlabel="images that the server recovers, %")
    axes.text(49, len(ends) / 2, "half of the images", ha="right", fontsize=7)
    words = f"● after {rows[Column.ROUND].max():.0f} messages   ○ after one"
    axes.text(1, 1, words, ha="right", va="bottom", fontsize=7, color=WRONG, transform=axes.transAxes)
    return figure


def plot_bytes(tables: dict[str, pd.DataFrame], methods: list[str]) -> Figure:
    """Plot the accuracy with clients that are alike over the share of the bytes of training without compression, from
    study frontier, for a few compressors: of the bytes that a client sends, and of those of both directions. In the
    band, a training loses less than LOST."""
    rows = tables["frontier"]
    rows = rows[rows[Column.MEAN].notna() & (rows.get(Column.EPSILON, pd.Series(np.nan, rows.index)).isna())]
    rows = style.with_intervals(style.select(rows, quantity="accuracy", case="iid"))
    rows = rows.assign(**{BOTH: rows[Column.BYTES_UP] + rows[Column.BYTES_DOWN]})
    free = style.select(rows, method="none")
    shown = [look for look in style.methods(rows, looks=style.COMPRESSOR_LOOKS) if look.method in methods]
    figure, panels = style.subplots(2.9, 1, 2, sharey=True)
    for axes, (way, words) in zip(panels, {Column.BYTES_UP: "sent", BOTH: "sent and received"}.items(), strict=True):
        whole = 4 * rows[Column.D] * (1 if way == Column.BYTES_UP else 2)
        shared = rows.assign(saving=whole / rows[way])
        for base in free[Column.MEAN]:
            axes.axhline(base, color="black", linewidth=0.8, zorder=1)
            axes.axhspan(base - LOST, 1, color=RIGHT, alpha=0.12, linewidth=0, zorder=0)
            axes.text(1, base - LOST - 0.01, f"loses {100 * LOST:.0f} %", va="top", fontsize=6.5, color=RIGHT)
        ends = []
        for method, own, x in style.series(shared, shown, "saving"):
            if len(own):
                style.trace(axes, x, own, method, size=3.5, linewidth=0.9)
                ends.append(style.End(method, float(x[-1]), float(own[Column.MEAN].iloc[-1])))
        axes.set(ylim=(0, 1), xlabel=f"share of the bytes {words}")
        ticks = [4.0**power for power in range(int(np.ceil(np.log(shared["saving"].max()) / np.log(4))) + 1)]
        style.size_ticks(axes, ticks)
        axes.set_xticks(ticks, [f"1/{tick:g}" if tick > 1 else "all" for tick in ticks])
        axes.set_xlim(0.8, 1.15 * shared["saving"].max())
        style.label_ends(axes, ends, 2.4, size=6.5)
    panels[0].set_ylabel("test accuracy")
    return figure
