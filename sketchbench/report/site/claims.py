"""The list of claims, and a page for each claim: statement, measurement, answer, reason, and how to repeat it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.report.claim import history
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.claim.control import IMPOSSIBLE, KINDS, NegativeControl
from sketchbench.report.claim.erratum import Erratum, read_errata
from sketchbench.report.claim.page import MARKS, ROLES, measured
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.evidence.provenance import dated, last_commit, made_with
from sketchbench.report.evidence.statistic import WORDS, axis_names, quantities, quantity
from sketchbench.report.site.answer import numbers
from sketchbench.report.site.claim_list import list_of_claims, shorten, topic_of
from sketchbench.report.site.claim_picture import panels_of
from sketchbench.report.site.formula import mathml
from sketchbench.report.site.page import PLACES, Asset, Page, history_of, table_address
from sketchbench.report.site.verdicts import (
    anchor,
    badge,
    escape,
    number,
    prose,
    row_of,
    table_of,
    typeset,
)
from sketchbench.report.table import origin
from sketchbench.run.config import commands
from sketchbench.run.config.chapters import files
from sketchbench.run.config.study import NO_METHOD

# The search skips these sections, and finds a claim by its statement and reasons.
UNFOUND = "{ data-search-exclude }"
ANY = "METHOD"
WIDE = 10  # the columns of a table of verdicts from this one on have long texts
NO_TABLES = "<p>The tables of its studies do not exist yet.</p>"
SAYS = {"printed": "What the paper says", "corrected": "What is true instead"}
COLUMNS = (
    *("method", "scale", "verdict", "predicted", "statistic", "interval", "held against", "slack", "tightness"),
    *("trials", "deciding case", "negative control"),
)
READING = """\
Each horizontal line is a confidence interval, and its mark is the measured value: ● holds, × fails, ○ remains open. The
vertical line is the bound or the exact value; the claim allows the shaded side. ◇ is the **negative control**, which is
outside the claim and must fail. The first line of a method is of the papers' sizes if these were run; the line *quick*
below it repeats the method at the quick scale."""


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The list of all claims, then the claims in their order."""
    claims = read_claims(files(conf, "claim"))
    outcomes = pd.concat([read_outcomes(scale) for scale in scales], ignore_index=True)
    topics = {claim.id: topic_of(claim, conf) for claim in claims}
    errata = read_errata(files(conf, "erratum"), claims)
    past = history.read(history_of(scales))
    yield Page("claims.md", "Claims", list_of_claims(claims, outcomes, topics))
    for index, claim in enumerate(claims):
        beside = [claims[place].id for place in (index - 1, index + 1) if 0 <= place < len(claims)]
        own = outcomes[outcomes["claim"] == claim.id]
        about = (topics[claim.id], [one for one in errata if claim.id in one.claims], past[past["claim"] == claim.id])
        text = "\n\n".join(_claim(claim, own, scales, conf, *about))
        around = " · ".join(f'<a href="{name}.html">{name}</a>' for name in beside)
        foot = f'<p class="meta"><a href="../claims.html">All claims</a> · {around}</p>'
        yield Page(f"claims/{claim.id}.md", f"{claim.id}: {claim.place}", f"{text}\n\n{foot}")


def _claim(
    claim: Claim,
    every: pd.DataFrame,
    scales: Sequence[ReportedScale],
    conf: Path,
    topic: str,
    errata: Sequence[Erratum],
    past: pd.DataFrame,
) -> Iterator[str]:
    """The blocks of a claim's page."""
    own = every[every["verdict"] != "not run"]
    run = [scale for scale in scales if (own["scale"] == scale.name).any()]
    about = f"{claim.paper} · {claim.place} · {topic} · {claim.role}: {ROLES[claim.role]}"
    yield f'<p class="meta">{escape(about)}</p>'
    if not run:
        why = "; ".join(sorted(set(filter(None, every["case"])))) or "its studies have not been run"
        yield f'<p class="answer">{badge("not run")}: {prose(why)}.</p>'
    yield from _answers(own)
    yield f"## {SAYS.get(claim.role, 'What is claimed')}"
    yield f'<blockquote class="statement">{typeset(claim.statement) or "No statement."}</blockquote>'
    if claim.formula:
        yield mathml(claim.formula)
    if claim.words:
        yield f"## In words\n\n<p>{typeset(claim.words)}</p>"
    if run:
        yield f"## The numbers {UNFOUND}"
        yield from _evidence(claim, own)
        yield from _predictions(claim, own)
        yield from _table(own)
    nothing, _, rest = claim.dataset.partition("none")
    data = f"On {escape(claim.dataset)}" if nothing else f"Without data{escape(rest).replace(',', ':', 1)}"
    yield f"## What was measured {UNFOUND}\n\n<p>{data}{_trials(own)}.</p>\n\n{_checks(claim, scales)}"
    yield f"## Why\n\n<p>{prose(claim.reason) or 'No reason is given.'}</p>"
    yield from (f"<p>At the scale {name}: {prose(other.reason)}</p>" for name, other in claim.scales.items())
    if errata:
        yield "## Errata"
        places = (f'<a href="../errata.html#{one.id.lower()}">{one.paper}, {escape(one.place)}</a>' for one in errata)
        yield f"<p>{'; '.join(places)}.</p>"
    if len(past):
        yield f"## History {UNFOUND}\n\n{_history(past)}"
    yield f"## Make it again {UNFOUND}"
    yield from _again(claim, own, run or scales[:1], conf)
    sources = "".join(_sources(scale, claim.studies) for scale in run)
    yield f"## Which code and machine measured it {UNFOUND}\n\n{sources or NO_TABLES}"


def _trials(own: pd.DataFrame) -> str:
    """The number of trials behind the verdicts of each scale."""
    parts = []
    for scale, trials in own.groupby("scale", sort=False)["trials"]:
        counts = trials[trials > 0]
        if len(counts):
            times = " to ".join(dict.fromkeys(f"{int(end):,}" for end in (counts.min(), counts.max())))
            parts.append(f"{times} trials at the scale {scale}")
    return f"; {', '.join(parts)}" if parts else "; computed, without trials" if len(own) else ""


def _answers(own: pd.DataFrame) -> Iterator[str]:
    """The verdicts in a sentence for each scale, or one sentence for scales that agree."""
    sentences: dict[str, list[str]] = {}
    for scale, rows in own.groupby("scale", sort=False):
        sentences.setdefault(_answer(rows), []).append(str(scale))
    for sentence, scales in sentences.items():
        yield f'<p class="answer">{sentence} <span class="meta">Scale {" and ".join(scales)}.</span></p>'


def _answer(rows: pd.DataFrame) -> str:
    """The verdicts of a scale in a sentence, with the numbers of a single verdict."""
    if len(rows) == 1:
        row = rows.iloc[0]
        whom = "" if row["method"] == "any" else f" for {escape(row['label'] or row['method'])}"
        return f"{badge(row['verdict'])}{whom}: {escape(numbers(row.to_dict()))}."
    parts = []
    for verdict, group in rows.groupby("verdict", sort=False):
        names = [escape(label or method) for label, method in zip(group["label"], group["method"], strict=True)]
        whom = f"all {len(rows)} methods" if len(group) == len(rows) else ", ".join(shorten(names))
        parts.append(f"{badge(str(verdict))} for {whom}")
    return f"{'; '.join(parts)}."


def _history(past: pd.DataFrame) -> str:
    """The changes of a claim's verdicts over the commits."""
    items = []
    for (method, scale), rows in past.groupby(["method", "scale"], sort=False):
        course = [row for row, before in zip(rows["verdict"], ["", *rows["verdict"]], strict=False) if row != before]
        if len(course) > 1:
            items.append(f"<li>{escape(method)}, {scale}: {' → '.join(map(badge, course))}</li>")
    first = f"<p>Recorded since {past['date'].iloc[0]}; "
    return first + (f"these verdicts changed:</p><ul>{''.join(items)}</ul>" if items else "no verdict changed.</p>")


def _predictions(claim: Claim, own: pd.DataFrame) -> Iterator[str]:
    """The predicted verdicts with their dates, and the number of other verdicts, in a sentence."""
    days: dict[str, set[str]] = {}
    for row in own[own["predicted"].isin(list(MARKS))].to_dict("records"):
        days.setdefault(row["predicted"], set()).add(claim.at(row["scale"]).day(row["method"]))
    if not days:
        yield '<p class="meta">Nothing was predicted.</p>'
        return
    dates = {verdict: ", ".join(sorted(when - {""})) or "undated" for verdict, when in days.items()}
    told = ", ".join(f"{badge(verdict)} ({when})" for verdict, when in dates.items())
    count = int((own["as_predicted"] == "otherwise").sum())
    yield f'<p class="meta">Predicted before the first run: {told}. Not as predicted: {count} of {len(own)}.</p>'


def _evidence(claim: Claim, own: pd.DataFrame) -> list[str]:
    """One picture of the intervals of all methods and scales; rows that are equal at both scales appear once."""
    same = ["method", "criterion", "statistic", "low", "high", "bound"]
    rows: Sequence[Mapping[Any, Any]] = by_method(own).drop_duplicates(same).to_dict("records")
    picture = panels_of(rows, axis_names(claim.checks), claim.id)
    return [READING, picture] if picture else []


def by_method(own: pd.DataFrame) -> pd.DataFrame:
    """The verdicts ordered by method, and then by scale."""
    order = own.assign(place=own["scale"].map({name: place for place, name in enumerate(PLACES)}))
    return order.sort_values(["method", "place"], kind="stable")


def _table(own: pd.DataFrame) -> list[str]:
    """A table with a row for each method and scale, without empty columns."""
    if own.empty:
        return []
    records = by_method(own).to_dict("records")
    cells = [_cells(row) for row in records]
    shown = [index for index in range(len(COLUMNS)) if any(row[index] for row in cells)]
    rows, seen = [], set()
    for record, row in zip(records, cells, strict=True):
        place = anchor(record)
        texts = "".join(f"<td{' class=wide' * (index >= WIDE)}>{row[index]}</td>" for index in shown)
        rows.append(f"<tr>{texts}</tr>" if place in seen else f'<tr id="{place}">{texts}</tr>')
        seen.add(place)
    return [f"## Verdicts by method {UNFOUND}", table_of([COLUMNS[index] for index in shown], rows)]


def _cells(row: Mapping[Any, Any]) -> list[str]:
    """The cells of a row of the table; a computed number has no interval."""
    controls = []
    for kind in KINDS:
        if row[kind] == IMPOSSIBLE:
            continue
        verdict = f": {badge(row[f'{kind}_verdict'])} {measured(row, kind)}" if row[f"{kind}_verdict"] else ""
        controls += [f"{'near miss, ' if kind == 'near_miss' else ''}{escape(row[kind])}{verdict}"] if row[kind] else []
    both = "<br>".join(controls)
    tightness = " to ".join(dict.fromkeys(number(row[name], 3) for name in ("tightness", "loosest")))
    interval = f"[{number(row['low'])}, {number(row['high'])}]" if row["low"] != row["high"] else ""
    name = "" if row["method"] == NO_METHOD else escape(row["label"] or row["method"])
    return [
        *(name, row["scale"], badge(row["verdict"]), row["predicted"]),
        *(number(row["statistic"]), interval, number(row["bound"]), number(row["slack"], 2)),
        *(tightness.removesuffix(" to "), f"{row['trials']:,.0f}" if row["trials"] > 0 else ""),
        *(typeset(row["case"]), both),
    ]


def _checks(claim: Claim, scales: Sequence[ReportedScale]) -> str:
    """The checks in words, each with its statistic, unit, rows and studies, and the negative controls."""
    items = []
    for check in claim.checks:
        what, holds = WORDS[check.criterion]
        selected = [(name, quantity(name)) for name in quantities(check)]
        defined = "; ".join(
            f"<strong>{typeset(each.meaning)}</strong>{each.unit and f' [{escape(each.unit)}]'}, <code>{name}</code>"
            for name, each in selected
        )
        others = {name: value for name, value in check.where.items() if name != "quantity"}
        rows = f", for {escape(', '.join(f'{name} = {_alternatives(v)}' for name, v in others.items()))}"
        studies = ", ".join(_study(name, scales) for name in check.studies)
        over = f" over {check.settings.over}" if check.criterion == "growth" else ""
        items.append(
            f"<li>{defined or 'The loss'}{rows if others else ''}: {what}{over}. "
            f"It holds if {holds} (<code>{check.criterion}</code>). Studies: {studies}.</li>"
        )
    text = _controls("Negative control", claim.controls) or "<p>There is no negative control yet.</p>"
    text += _controls("Near miss, which violates the hypothesis by a small factor", claim.near_misses)
    text += f"<p>{escape(claim.tried)}</p>" if claim.tried else ""
    return f"<ul>{''.join(items)}</ul>{text}"


def _controls(name: str, controls: Mapping[str, NegativeControl]) -> str:
    """A list of controls, by method; "" for none."""
    items = [
        f"<li>{'' if method == 'default' else f'of {escape(method)}: '}{prose(control.reason or control.name)}</li>"
        for method, control in controls.items()
    ]
    return f"<p>{name}:</p><ul>{''.join(items)}</ul>" if items else ""


def _alternatives(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def _study(name: str, scales: Sequence[ReportedScale]) -> str:
    """The name of a study, with links to its tables."""
    available = [scale.name for scale in scales if (scale.reports / "tables" / f"{name}.csv").is_file()]
    links = ", ".join(f'<a href="../{table_address(name, scale)}">{scale}</a>' for scale in available)
    return f"{name} ({links})" if links else name


def _again(claim: Claim, own: pd.DataFrame, run: Sequence[ReportedScale], conf: Path) -> list[str]:
    """The commands that repeat the verdicts, print the evidence in a terminal, and repeat single runs."""
    lines = [commands.workflow(scale.name, claim.studies) for scale in run]
    blocks = [f"```bash\n{chr(10).join([*lines, f'sketchbench show {claim.id}'])}\n```"]
    grouped: dict[str, list[str]] = {}
    for row in own[own["scale"] == "quick"].to_dict("records"):
        if command := commands.single_run(conf, row["scale"], row, ANY):
            grouped.setdefault(command, []).append(row["method"])
    if grouped:
        lines = []
        for command, methods in grouped.items():
            lines += [f"# {', '.join(methods)}"] if len(methods) > 1 else []
            lines.append(command if len(methods) > 1 else command.replace(ANY, methods[0]))
        text = f"The single run behind each verdict; replace {ANY} by the name of a method:"
        blocks.append(f"{text}\n\n```text\n{chr(10).join(lines)}\n```")
    return blocks


def _sources(scale: ReportedScale, studies: Sequence[str]) -> str:
    """A table in HTML of the commits and settings behind the tables of these studies; "" if there are no tables.

    Raises SealError for a damaged seal.
    """
    rows = []
    for study in studies:
        table = scale.reports / "tables" / f"{study}.csv"
        if table.is_file():
            link = f'<a href="../{table_address(study, scale.name)}">{study}</a>'
            commits = dated(origin.commits_of(table) or last_commit(table))
            rows.append(row_of((scale.name, link, escape(commits), escape(made_with(table)))))
    return table_of(("scale", "table", "commit of the code", "made with"), rows) if rows else ""
