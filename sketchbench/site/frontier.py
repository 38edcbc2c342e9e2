"""The page of the frontier: the best compressor at N bytes a round, the decision list, and all measurements."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.evidence.outcomes import Scale, read_outcomes
from sketchbench.report.frontier import STUDIES
from sketchbench.report.frontier.advise import SIZES, WORD
from sketchbench.report.frontier.cells import MEANINGS, MEASURED
from sketchbench.report.table.reading import read_table
from sketchbench.site import figures
from sketchbench.site.lists import Column, Kind, listing
from sketchbench.site.page import Asset, Page
from sketchbench.site.verdicts import badge, claim_files, escape, link, number, prose

HERE = Path(__file__).parent
SCRIPT = "frontier.js"
INTRODUCTION = """\
Which compressor gives the best accuracy where a client may send N bytes in a round? Enter the number of bytes and the
number of parameters of your network. The answer is the most accurate compressor among those measured at a budget that
fits, together with every compressor whose interval overlaps its interval. All intervals hold at once, except with
probability 5 %."""
DECISIONS = """\
Each sentence was written before the run that judges it. A sentence that fails stays in the list, marked as failed."""
NUMBERS = {"compression", "epsilon", "d", "bytes_up", "bytes_down", "trials", "ssim_server", "property_server"}
NUMBERS |= {*MEASURED, "rounds_server", "rounds_sum"}
NUMBERS |= {"client_time", "server_time", "client_memory", "server_memory"}
FEATURED = 16  # the budget of the first answer: the share of all bytes is one over it


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """The page, its figures and its script; nothing where no frontier was measured."""
    frames = [(scale, _read(scale)) for scale in scales if (scale.reports / "frontier.csv").is_file()]
    if not frames:
        return
    frontier = pd.concat([frame for _, frame in frames], ignore_index=True)
    measured = frontier[frontier["accuracy"].notna()]
    yield Asset(SCRIPT, (HERE / SCRIPT).read_bytes())
    blocks = [INTRODUCTION, _question(measured), "## Compare budgets { #budgets }", *budgets(measured)]
    blocks += [
        "## Decide by these rules { #decisions }",
        DECISIONS,
        *_decisions(scales, conf),
        "## Figures { #figures }",
    ]
    for scale, _ in frames:
        for place in sorted((scale.reports / "figures").glob("frontier*.svg")):
            picture = figures.asset(scale, place.stem)
            yield picture
            more = f'Caption and tables: <a href="figures.html#{place.stem}">figures</a>.'
            blocks.append(figures.figure_html(picture, place.stem, scale, more))
    blocks += ["## All measurements { #measured }", listing("frontier", columns(measured), _rows(measured))]
    refused = frontier[frontier["refused"].notna()]
    lines = dict.fromkeys(
        f"{row['label']} at 1/{row['compression']:g}: {row['refused']}" for row in refused.to_dict("records")
    )
    reasons = "".join(f"<li>{escape(line)}</li>" for line in lines)
    summary = "<summary>Combinations that were not measured, with reasons</summary>"
    blocks.append(f"<details>{summary}<ul>{reasons}</ul></details>" if lines else "")
    yield Page("frontier.md", "Which compressor at N bytes?", "\n\n".join(blocks))


def _read(scale: Scale) -> pd.DataFrame:
    return read_table(scale.reports / "frontier.csv", "frontier", scale=scale.name).assign(scale=scale.name)


def _question(measured: pd.DataFrame) -> str:
    """The form, the answer to its first question, and all answers as JSON."""
    d = int(measured["d"].iloc[0])
    answers = [
        {
            "case": case,
            "epsilon": _epsilon(epsilon),
            "d": int(size),
            "compression": float(budget),
            "text": _answer(rows, float(budget)),
        }
        for (case, epsilon, size, budget), rows in _settings(measured)
    ]
    first = next((a for a in answers if a["compression"] == FEATURED and a["epsilon"] == "none"), answers[0])
    cases = "".join(f"<option>{escape(case)}</option>" for case in measured["case"].drop_duplicates())
    levels = dict.fromkeys(answer["epsilon"] for answer in answers)
    options = "".join(f'<option value="{level}">{_level(str(level))}</option>' for level in levels)
    about = json.dumps({"answers": answers, "word": WORD, "sizes": SIZES}, ensure_ascii=False).replace("<", "\\u003c")
    nbytes = int(WORD * d / FEATURED)
    return (
        '<form class="question" id="question">'
        f'<label>Bytes a round <input name="bytes" type="number" min="1" required value="{nbytes}"></label>'
        f'<label>Parameters <input name="parameters" type="number" min="1" required value="{d}"></label>'
        f'<label>Privacy <select name="epsilon">{options}</select></label>'
        f'<label>Clients <select name="case">{cases}</select></label>'
        f'</form><div class="calm" id="answer" role="status">{first["text"]}</div>'
        f'<script type="application/json" id="answers">{about}</script>'
        f'<script src="{SCRIPT}" defer></script>'
    )


def _settings(measured: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """The rows of each setting and budget, the most accurate compressor first."""
    keys = ["case", "epsilon", "d", "compression"]
    for key, rows in measured.groupby(keys, dropna=False, sort=False):
        yield tuple(key), rows.sort_values("accuracy", ascending=False)


def _answer(rows: pd.DataFrame, budget: float) -> str:
    """The most accurate compressor of a budget, and those whose intervals overlap its interval, in HTML."""
    best, *others = rows.to_dict("records")
    level = [row for row in others if row["accuracy_high"] >= best["accuracy_low"]]
    least = others[-1] if others else best
    winner = f"<strong>{escape(best['label'])}</strong>, {_accuracy(best)}, with {best['bytes_up']:,.0f} bytes a round"
    kept = f"; it {_leak(best)}" if not pd.isna(best["leak_server"]) else ""
    sums = "" if best["adds_up"] else "; its messages do not add up, so that the server sees each of them"
    apart = "; ".join(f"{escape(row['label'])}, {_accuracy(row)}" for row in level)
    also = f" Its interval overlaps with: {apart}." if level else " The intervals of all others lie below."
    worst = f" The last of {len(rows)} is {escape(least['label'])}, {_accuracy(least)}." if others else ""
    where = f"#compression={budget:g}&amp;case={escape(best['case']).replace(' ', '+')}&amp;sort=-accuracy"
    return (
        f"At 1/{budget:g} of the bytes: {winner}{kept}{sums}.{also}{worst} "
        f'<a href="frontier.html{where}">All rows of this budget</a>. Repeat: <code>{escape(best["command"])}</code>'
    )


def _accuracy(row: Mapping[Any, Any]) -> str:
    """An accuracy with its interval; of a single training, without."""
    interval = "" if pd.isna(row["accuracy_low"]) else f" ({row['accuracy_low']:.3f} to {row['accuracy_high']:.3f})"
    return f"accuracy {row['accuracy']:.3f}{interval}"


def _leak(row: Mapping[Any, Any]) -> str:
    """What attacks find in the messages of a client with one image, whose label is known, at freshly drawn weights."""
    rounds = row["rounds_server"]
    if pd.isna(rounds):
        return "the attacks tried find no image in one client's messages, in as many rounds as were tried"
    many = "message shows" if rounds == 1 else f"{rounds:.0f} messages show"
    return f"leaks: one client's first {many} the median image ({row['leak_server']:.0f} dB over a guess after one)"


def budgets(measured: pd.DataFrame) -> Iterator[str]:
    """A table for each size of network: the most accurate compressor of each budget, by setting."""
    for (scale, _), rows in measured.groupby(["scale", "d"], sort=False):
        settings = list(
            dict.fromkeys((case, _epsilon(e)) for case, e in zip(rows["case"], rows["epsilon"], strict=True))
        )
        head = "".join(f"<th>{escape(case)}, {_level(epsilon)}</th>" for case, epsilon in settings)
        best = {
            (case, _epsilon(epsilon), budget): own.iloc[0].to_dict()
            for (case, epsilon, _, budget), own in _settings(rows)
        }
        lines = []
        for budget in sorted(rows["compression"].unique()):
            cells = "".join(f"<td>{_best(best.get((*setting, budget)))}</td>" for setting in settings)
            lines.append(
                f'<tr id="budget-{budget:g}{"" if scale == "quick" else f"-{scale}"}">'
                f"<td>1/{budget:g} of the bytes</td>{cells}</tr>"
            )
        yield f"The most accurate at each budget, on a network of {rows['d'].iloc[0]:,} parameters (scale {scale})."
        yield f'<div class="box"><table><tr><th></th>{head}</tr>{"".join(lines)}</table></div>'


def _best(row: Mapping[Any, Any] | None) -> str:
    return "" if row is None else f"{escape(row['label'])}<br>{row['accuracy']:.3f}"


def _epsilon(value: float) -> str:
    return "none" if pd.isna(value) else f"{value:g}"


def _level(epsilon: str) -> str:
    return "no privacy" if epsilon == "none" else f"ε = {epsilon}"


def decisive(claims: Iterable[Claim]) -> list[Claim]:
    """The claims of the decision list: our own claims about the frontier's studies."""
    return [claim for claim in claims if claim.role == "ours" and set(claim.studies) <= set(STUDIES)]


def _decisions(scales: Sequence[Scale], conf: Path) -> Iterator[str]:
    """The decision list: each sentence with its verdict, or with one verdict for each method."""
    outcomes = pd.concat([read_outcomes(scale) for scale in scales], ignore_index=True)
    items = []
    for claim in decisive(read_claims(claim_files(conf))):
        own = outcomes[(outcomes["claim"] == claim.id) & (outcomes["role"] != "control")]
        own = own[(own["verdict"] != "not run")]
        rows = own.to_dict("records")
        each = "<br>".join(f'<a href="{link(row)}">{escape(row["label"])}</a>: {_verdict(row)}' for row in rows)
        said = " ".join(f"{badge(str(name))} {count}" for name, count in own["verdict"].value_counts().items())
        if len(rows) > 1:
            each = f"<details><summary>{said}</summary>{each}</details>"
        name = f'<a href="claims/{claim.id}.html">{claim.id}</a>'
        items.append(f"<li>{name} <em>{escape(claim.place)}</em>: {prose(claim.statement)}. {each or 'Not run.'}</li>")
    yield f'<ol class="decisions">{"".join(items)}</ol>'


def _verdict(row: Mapping[Any, Any]) -> str:
    interval = f"in [{number(row['low'])}, {number(row['high'])}], bound {number(row['bound'])}"
    return f"{badge(row['verdict'])} ({number(row['statistic'])} {interval}; {row['scale']})"


def columns(measured: pd.DataFrame) -> list[Column]:
    names = [name for name in MEANINGS if name not in ("method", "refused") and measured[name].notna().any()]
    return [*(_column(name) for name in names), Column("scale", "scale", "size of the run: quick or paper")]


def _column(name: str) -> Column:
    kind: Kind = "number" if name in NUMBERS else "text"
    more = "; intervals hold at once" if name in MEASURED else ""
    return Column(name, name.replace("_", " "), f"{MEANINGS[name]}{more}", kind)


def _rows(measured: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in measured.to_dict("records")]
