"""The picture of a claim: every method's interval, its bound and the negative control, in plain SVG.

Each criterion has a panel, since slopes and probabilities share no axis. Colours are classes of the site's style sheet,
so that a picture is legible in the dark scheme, too. Every mark has a title with its numbers.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sketchbench.report.site.verdicts import anchor, escape, number, slug

Row = Mapping[Any, Any]
WIDTH, LEFT, END = 440, 150, 426  # of the view box, and the ends of the axis; at least as wide as a phone
LONGEST = 24  # letters of a name
STEP, TOP, BOTTOM = 17, 20, 17
DECADES = 50.0  # the axis is logarithmic if positive numbers spread by more than this factor
ALLOWED = {"upper_bound": "below", "probability": "below", "computed": "below", "always": "below", "audit": "below"}


@dataclass(frozen=True)
class Axis:
    """A horizontal axis: its range, and whether it is logarithmic."""

    low: float
    high: float
    logarithmic: bool

    def place(self, value: float) -> float:
        """The x of a value in units of the view box; values beyond the axis lie at its ends."""
        to: Callable[[float], float] = math.log10 if self.logarithmic else float
        if self.logarithmic and value <= 0:
            return LEFT
        clipped = min(max(value, self.low), self.high)
        share = (to(clipped) - to(self.low)) / (to(self.high) - to(self.low))
        return LEFT + share * (END - LEFT)

    def beyond(self, value: float) -> bool:
        """Whether a value lies beyond the axis."""
        return not self.low <= value <= self.high

    @property
    def ticks(self) -> list[float]:
        """Three to five round values within the axis."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            every = max(1, -(-(last - first + 1) // 5))
            powers = [10.0**power for power in range(first, last + 1, every)]
            return powers if len(powers) > 1 else [self.low, self.high]
        span = self.high - self.low
        step = 10 ** math.floor(math.log10(span / 3))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (factor * step) <= 5)
        first = math.ceil(self.low / step - 1e-9)
        return [round(index * step, 12) for index in range(first, math.floor(self.high / step + 1e-9) + 1)]


def panels_of(rows: Sequence[Row], names: Mapping[str, str], title: str) -> str:
    """The panels of a claim as SVG, from the top; "" if no row has a number.

    `rows` are the verdicts, one for each method; `names` has the label of the axis by criterion; `title` is for screen
    readers.
    """
    panels = []
    for criterion in dict.fromkeys(row["criterion"] for row in rows):
        own = [row for row in rows if row["criterion"] == criterion and not math.isnan(row["statistic"])]
        if own:
            panels.append(_panel(own, criterion, names.get(criterion, ""), title))
    return "".join(panels)


def _panel(rows: Sequence[Row], criterion: str, name: str, title: str) -> str:
    bounds = [row["bound"] for row in rows if math.isfinite(row["bound"])]
    common = bool(bounds) and max(bounds) - min(bounds) <= 1e-6 * max(map(abs, bounds))
    divided = bool(bounds) and not common and min(bounds) > 0
    comparable = [_with_comparable_control(row) for row in rows]
    scaled = [_relative_to_bound(row) if divided else row for row in comparable]
    axis = _axis(scaled)
    height = TOP + STEP * len(rows) + BOTTOM
    bottom = TOP + STEP * len(rows)
    caption = escape(f"{name}{', over the bound' if divided else ''}")
    label = f"{escape(title)}: {caption}"
    parts = [f'<svg class="intervals" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="{label}">']
    exact = criterion == "equality"
    if divided or common:
        bound = 1.0 if divided else bounds[0]
        x = axis.place(bound)
        if ALLOWED.get(criterion) == "below":
            size = f'width="{x - LEFT:.1f}" height="{bottom - TOP + 4}"'
            parts.append(f'<rect class="allowed" x="{LEFT}" y="{TOP - 4}" {size}/>')
        word = f"{'exact' if exact else 'bound'}{'' if divided else f' {number(bound, 3)}'}"
        anchored = "end" if x > END - 36 else "start" if x < LEFT + 30 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{TOP - 8}" text-anchor="{anchored}">{word}</text>')
        parts.append(f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}"/>')
    for index, row in enumerate(scaled):
        repeated = index > 0 and rows[index - 1]["method"] == row["method"]  # at another scale
        y, own_bound = TOP + STEP * (index + 0.5), not (divided or common)
        parts += _row(row, rows[index], axis, y, own_bound=own_bound, repeated=repeated)
    parts += _scale(axis, bottom)
    return f'<figure class="panel">{"".join(parts)}</svg><figcaption>{caption}</figcaption></figure>'


def _with_comparable_control(row: Row) -> dict[Any, Any]:
    """The row, without the negative control's statistic if its criterion or bound differs from the claim's.

    Older tables lack the criterion of the control; for them growth, with its several bounds, loses the control.
    """
    bound, criterion = row.get("negative_control_bound", math.nan), row.get("negative_control_criterion", "")
    recorded = bool(criterion)
    same = criterion == row["criterion"] and math.isclose(bound, row["bound"], rel_tol=1e-6, abs_tol=1e-12)
    ratio = criterion == row["criterion"] != "growth" and bound > 0 and row["bound"] > 0
    if (recorded and (same or ratio)) or (not recorded and row["criterion"] != "growth"):
        scale = row["bound"] / bound if ratio and not same else 1.0
        return {**row, "negative_control_statistic": row["negative_control_statistic"] * scale}
    return {**row, "negative_control_statistic": math.nan}


def _relative_to_bound(row: Row) -> dict[Any, Any]:
    """The row with its numbers divided by the bound."""
    names = ("statistic", "low", "high", "bound")
    control = row["negative_control_statistic"] / row["bound"]
    return {**row, **{name: row[name] / row["bound"] for name in names}, "negative_control_statistic": control}


def _axis(rows: Sequence[Row]) -> Axis:
    """An axis that holds all statistics and bounds, and all intervals and controls that are not extremely far away."""
    core = [v for row in rows for v in (row["statistic"], row["bound"]) if math.isfinite(v)] or [0.0, 1.0]
    ends = [v for row in rows for v in (row["low"], row["high"]) if math.isfinite(v)]
    controls = [v for row in rows if math.isfinite(v := row["negative_control_statistic"])]
    positive = [v for v in [*core, *controls] if v > 0]
    if min(core) > 0 and max(positive) / min(positive) > DECADES:
        everything = [*positive, *(v for v in ends if v > min(core) / 100)]
        return Axis(min(everything) / 1.6, min(max(everything), 1e6 * max(core)) * 1.6, True)
    low, high = min(core), max(core)
    span = high - low or abs(high) or 1.0
    near = [v for v in [*ends, *controls] if low - 3 * span <= v <= high + 3 * span]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.06 * (high - low or abs(high) or 1.0)
    return Axis(low - margin, high + margin, False)


def _row(row: Row, original: Row, axis: Axis, y: float, *, own_bound: bool, repeated: bool) -> list[str]:
    """The marks of a method: name, interval, statistic, negative control, and its own bound if bounds differ."""
    verdict = row["verdict"]
    kind = slug(verdict)
    name = "measured" if original["method"] == "any" else str(original["label"] or original["method"])
    scale = str(original.get("scale", ""))
    short = scale if repeated else name
    name = f"{name}, {scale}" if scale else name
    short = short if len(short) <= LONGEST else f"{short[: LONGEST - 1]}…"
    interval = f"[{number(original['low'])}, {number(original['high'])}]"
    tip = f"{name}: {verdict}; {number(original['statistic'])} in {interval}, bound {number(original['bound'])}"
    parts = [
        f'<a href="#{anchor(original)}"><g class="{kind}"><title>{escape(tip)}</title>',
        f'<text x="{LEFT - 8}" y="{y + 3.5:.1f}" text-anchor="end">{escape(short)}</text>',
    ]
    low, high = axis.place(_or(row["low"], -math.inf)), axis.place(_or(row["high"], math.inf))
    parts.append(f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>')
    if row["statistic"] > axis.high or row["high"] > axis.high:
        parts.append(_arrow(END, y, 1))
    if row["low"] < axis.low:
        parts.append(_arrow(LEFT, y, -1))
    if not axis.beyond(row["statistic"]):
        parts.append(_mark(axis.place(row["statistic"]), y, verdict))
    parts.append("</g></a>")
    if own_bound and math.isfinite(row["bound"]):
        x = axis.place(row["bound"])
        parts.append(f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 6}" y2="{y + 6}"/>')
    control = row["negative_control_statistic"]
    if not math.isnan(control):
        tip = f"negative control, {original['negative_control']}: {number(original['negative_control_statistic'])}"
        x = axis.place(control)
        parts.append(f'<g class="control"><title>{escape(tip)}</title><path d="M{x - 4:.1f} {y}l4 -4 4 4 -4 4z"/></g>')
    return parts


def _or(value: float, other: float) -> float:
    return other if math.isnan(value) else value


def _mark(x: float, y: float, verdict: str) -> str:
    """A disc for `holds`, a cross for `fails` and `void`, a ring for all else, distinct without colour."""
    if verdict in ("fails", "void"):
        return f'<path class="cross" d="M{x - 4:.1f} {y - 4}l8 8m0 -8l-8 8"/>'
    return f'<circle class="{"disc" if verdict.startswith("holds") else "ring"}" cx="{x:.1f}" cy="{y}" r="3.6"/>'


def _arrow(x: float, y: float, way: int) -> str:
    return f'<path class="disc" d="M{x + 6 * way} {y}l{-7 * way} -4v8z"/>'


def _scale(axis: Axis, y: float) -> list[str]:
    parts = [f'<line class="frame" x1="{LEFT}" x2="{END}" y1="{y}" y2="{y}"/>']
    for tick in axis.ticks:
        x = axis.place(tick)
        parts.append(f'<line class="frame" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 3}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 13}" text-anchor="middle">{number(tick, 3)}</text>')
    return parts
