"""The pages of the frontier: the best compressors at N bytes a round, the decision list, and all measurements."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.colors import to_hex

from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.figure import style
from sketchbench.report.figure.catalogue import Entry, read_catalogue
from sketchbench.report.frontier import STUDIES, TRAINING
from sketchbench.report.frontier.advise import (
    CHOICES,
    DEALT,
    SAMPLED,
    SIZES,
    TOLERANCE,
    TOY,
    WORD,
    attacked,
    clients_of,
    described,
    fit,
    shares,
)
from sketchbench.report.frontier.cells import COUNTS, MEANINGS, MEASURED, SUMS, read
from sketchbench.report.site import figures
from sketchbench.report.site.lists import Kind, ListColumn, listing
from sketchbench.report.site.page import Asset, Page
from sketchbench.report.site.verdicts import badge, escape, link, number, prose, row_of, table_of
from sketchbench.run.config.chapters import files

HERE = Path(__file__).parent
SCRIPT, EXPLORER = "frontier.js", "explorer.js"
FIRST = ("none", "sign", "top_k", "eden", "srht", "fetch_sgd", "fiht")  # chosen before the reader chooses
INTRODUCTION = """\
Which compressor is most accurate if a client may send and receive N bytes a round, in sum? Enter N and the number of
parameters of your network. The answer lists the most accurate compressors that were measured on the nearest network,
each at the largest budget that fits. All intervals hold at once, except with probability 5 %. The target is the
accuracy of the same training without compression, minus 5 %."""
STILL = "finding_bytes"  # the figure in the place of the comparison where no script runs
CHOICES_OF_AXES = {
    "way": ("Bytes", {"both": "sent and received", "up": "sent", "down": "received"}),
    "view": ("Shown", {"round": "test error, by bytes of a round", "target": "rounds, by bytes to the target"}),
}
DECISIONS = """\
Each rule was written before the run that judges it. Rules that failed stay in the list, at its end."""
NUMBERS = {"compression", "epsilon", "ssim_server", "property_server", "rounds_server", "rounds_sum"}
NUMBERS |= {*COUNTS, *MEASURED, "client_memory", "server_memory"}
FEATURED = 16  # the budget of the first answer: the share of all bytes is one over it


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The pages, their figures and the script; nothing if no frontier was measured."""
    catalogue = read_catalogue(conf / "figure")
    frames = [_read(scale, catalogue) for scale in scales if (scale.reports / "frontier.csv").is_file()]
    if not frames:
        return
    frontier = pd.concat(frames, ignore_index=True)
    measured = frontier[frontier["accuracy"].notna()]
    for script in (SCRIPT, EXPLORER):
        yield Asset(script, (HERE / script).read_bytes())
    own = {(str(data), str(name)): rows for (data, name), rows in frontier.groupby(["data", "scale"], sort=False)}
    blocks = [INTRODUCTION, _question(measured), "## Compare compressors { #compare }"]
    assets, still = figures.drawn(scales[0], STILL)
    yield from assets
    blocks += [_explorer(measured, still), "## Data sets { #data }"]
    blocks += [f"- [{title(data)}]({address(data)}): {_sizes(rows)}" for (data, _), rows in own.items()]
    blocks += ["## Decide by these rules { #decisions }", DECISIONS, *_decisions(scales, conf)]
    blocks += ["## All measurements { #measured }", listing("frontier", columns(measured), _rows(measured))]
    yield Page("frontier.md", "Which compressor at N bytes?", "\n\n".join(blocks))
    for (data, name), rows in own.items():
        scale = next(scale for scale in scales if scale.name == name)
        yield from _of_data(data, scale, rows, catalogue)


def _of_data(
    data: str, scale: ReportedScale, rows: pd.DataFrame, catalogue: Mapping[str, Entry]
) -> Iterator[Page | Asset]:
    """The page of a data set, with its figures."""
    toy = f" {TOY.capitalize()} are a toy, which every change of the code trains again." if data == TOY else ""
    where = f"frontier.html#data={escape(data)}&amp;sort=-accuracy"
    every = f'All of it is in the <a href="{where}">list of all measurements</a>.'
    blocks = [f"{_sizes(rows)}{toy} {every}", "## Compare budgets { #budgets }"]
    blocks += [*budgets(rows[rows["accuracy"].notna()]), "## Figures { #figures }"]
    for name, entry in catalogue.items():
        mine = set(entry.studies) <= set(STUDIES) and entry.at(scale.name).data == data
        if mine and figures.place(scale, name).is_file():
            picture = figures.asset(scale, name)
            yield picture
            more = f'{entry.caption} Tables: <a href="figures.html#{name}">figures</a>.'
            blocks.append(figures.figure_html(picture, name, scale, more))
    blocks += ["## Not offered { #refused }", *_refused(rows)]
    yield Page(address(data), f"Compressors on {title(data)}", "\n\n".join(blocks))


def _read(scale: ReportedScale, catalogue: Mapping[str, Entry]) -> pd.DataFrame:
    frontier = read(scale.reports / "frontier.csv", scale.name).assign(scale=scale.name)
    known = catalogue[TRAINING].at(scale.name).data  # of reports by older code
    return frontier.assign(data=frontier["data"].astype(object).fillna(known))


def title(data: str) -> str:
    """The name of a data set, marked if it is a toy."""
    return f"{data}, a toy" if data == TOY else data


def address(data: str) -> str:
    """The page of a data set."""
    return f"frontier-{data.lower().replace(' ', '-')}.md"


def _sizes(rows: pd.DataFrame) -> str:
    """The trainings on a data set, in a sentence."""
    own = rows[rows["accuracy"].notna()]
    kinds = "; ".join(dict.fromkeys(clients_of(row) for row in own.to_dict("records")))
    levels = ", ".join(f"{one:g}" for one in sorted(own["epsilon"].dropna().unique(), reverse=True))
    private = f"with ε = {levels} and without" if levels else "without privacy"
    shown = f"{own['method'].nunique()} methods on a network of {own['d'].iloc[0]:,.0f} parameters"
    return f"{shown}, each in {own['trials'].max():.0f} trainings, {private}; {kinds}."


def _question(measured: pd.DataFrame) -> str:
    """The form, the answer to its first question, and all answers as JSON."""
    settings = [
        {
            "case": case,
            "epsilon": _epsilon(epsilon),
            "d": int(d),
            "words": described(rows.iloc[0].to_dict()),
            "answers": [{"share": share, "text": text} for share, text in _answers(rows)],
        }
        for (case, epsilon, _, d), rows in _settings(measured)
    ]
    first = next((one for one in settings if not one["words"].startswith(TOY)), settings[0])
    fitting = [one for one in first["answers"] if one["share"] <= 1 / FEATURED] or first["answers"][:1]
    cases = "".join(
        f'<option value="{escape(case)}">{escape(_case(case))}</option>' for case in measured["case"].drop_duplicates()
    )
    levels = dict.fromkeys(one["epsilon"] for one in settings)
    options = "".join(f'<option value="{level}">{_level(str(level))}</option>' for level in levels)
    about = json.dumps({"settings": settings, "word": WORD, "sizes": SIZES}, ensure_ascii=False)
    about = about.replace("<", "\\u003c")
    nbytes = 2 * WORD * first["d"] // FEATURED
    said = f"{nbytes} bytes are 1/{FEATURED} of those up and down. Measured on {first['words']}: {fitting[-1]['text']}"
    return (
        '<form class="question" id="question">'
        f'<label>Bytes a round <input name="bytes" type="number" min="1" required value="{nbytes}"></label>'
        f'<label>Parameters <input name="parameters" type="number" min="1" required value="{first["d"]}"></label>'
        f'<label>Privacy <select name="epsilon">{options}</select></label>'
        f'<label>Clients <select name="case">{cases}</select></label>'
        f'</form><div class="calm" id="answer" role="status">{said}</div>'
        f'<script type="application/json" id="answers">{about}</script>'
        f'<script src="{SCRIPT}" defer></script>'
    )


def _explorer(measured: pd.DataFrame, still: str) -> str:
    """The form of the comparison, which a script fills and shows, and the picture that the script replaces."""
    styles = style.methods(measured, looks=style.COMPRESSOR_LOOKS)
    looks = {
        one.label: {"colour": to_hex(one.colour), "filled": one.filled, "first": one.method in FIRST} for one in styles
    }
    axes = "".join(
        f'<label>{title} <select name="{name}">'
        + "".join(f'<option value="{value}">{text}</option>' for value, text in values.items())
        + "</select></label>"
        for name, (title, values) in CHOICES_OF_AXES.items()
    )
    return (
        f'<form class="question" id="explorer" data-looks="{escape(json.dumps(looks))}" hidden>'
        f'<label>Setting <select name="setting"></select></label>{axes}'
        '<label>Budget: all bytes over <select name="budget"><option value="all">all</option></select></label>'
        f'<fieldset><legend>Compressors</legend></fieldset></form><div id="explored">{still}</div>'
        f'<script src="{EXPLORER}" defer></script>'
    )


def _settings(measured: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """The rows of each setting and network."""
    keys = ["case", "epsilon", "data", "d"]
    for key, rows in measured.groupby(keys, dropna=False, sort=False):
        yield tuple(key), rows


def _answers(rows: pd.DataFrame) -> Iterator[tuple[float, str]]:
    """The answers in a setting, in HTML, each with the smallest share of the bytes of both ways that it needs, less
    the tolerance of `advise`."""
    before: list[Any] = []
    for share in sorted(shares(rows).unique()):
        least = float(share) / TOLERANCE * (1 + 1e-9)  # against rounding
        choices = fit(rows, least).head(CHOICES)
        if (now := list(choices.index)) != before:
            yield least, f"<ol>{''.join(f'<li>{_choice(row)}</li>' for row in choices.to_dict('records'))}</ol>"
        before = now


def _choice(row: Mapping[Any, Any]) -> str:
    """A compressor's accuracy, bytes and leakage, in HTML."""
    parts = [f"<strong>{escape(row['label'])}</strong> at 1/{row['compression']:g} of the bytes sent: {_accuracy(row)}"]
    parts.append(f"{row['bytes_up']:,.0f} bytes up and {row['bytes_down']:,.0f} down a round")
    if not pd.isna(row["rounds_to_target"]):
        parts.append(f"{row['rounds_to_target']:.0f} rounds and {row['target_both']:,.0f} bytes to the target")
    elif not pd.isna(row["reached"]):
        parts.append("the median training does not reach the target")
    if attacked(row, "leak_server"):
        parts.append(f"it {_leak(row)}")
    if not row["adds_up"]:
        parts.append("its messages do not add up, so that the server sees each message")
    return "; ".join(parts)


def _accuracy(row: Mapping[Any, Any]) -> str:
    """An accuracy with its interval, which a single training lacks."""
    interval = "" if pd.isna(row["accuracy_low"]) else f" ({row['accuracy_low']:.3f} to {row['accuracy_high']:.3f})"
    return f"accuracy {row['accuracy']:.3f}{interval}"


def _leak(row: Mapping[Any, Any]) -> str:
    """The leakage of a client's messages: one image with a known label, at freshly drawn weights."""
    rounds = row["rounds_server"]
    if pd.isna(rounds):
        return "no attack of ours finds an image in one client's messages"
    many = "first message reveals" if rounds == 1 else f"first {rounds:.0f} messages reveal"
    return f"leaks: one client's {many} the median image"


def budgets(measured: pd.DataFrame) -> Iterator[str]:
    """The most accurate compressor of each setting at each share of the bytes of both ways, in lines that halve the
    share while anything fits. Equal lines appear once."""
    settings = [(key, rows, shares(rows)) for key, rows in _settings(measured)]
    titles = [escape(f"{_case(case)}, {_level(_epsilon(epsilon))}") for (case, epsilon, *_), *_ in settings]
    lines, part = [], 1
    before: list[str] = []
    while any((own <= 1 / part).any() for *_, own in settings):
        cells = [_best(fit(rows, 1 / part)) for _, rows, _ in settings]
        if cells != before:
            words = "all bytes" if part == 1 else f"1/{part} of the bytes"
            lines.append(row_of((f"{words} up and down", *cells), f' id="budget-{part}"'))
        before, part = cells, 2 * part
    yield "The most accurate compressor, its accuracy, and the bytes that a client sends and receives in a round."
    yield table_of(["", *titles], lines)


def _best(rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    row = rows.iloc[0]
    return f"{escape(row['label'])}<br>{row['accuracy']:.3f}<br>{row['bytes_both']:,.0f}"


def _refused(rows: pd.DataFrame) -> Iterator[str]:
    """The compressors that were not measured, for each budget of bytes sent, by the reason."""
    lines = []
    for budget, own in rows.groupby("compression"):
        reasons: dict[str, list[str]] = {}
        for row in own[own["refused"].notna()].to_dict("records"):
            reason = str(row["refused"]).partition("; ")[0].partition(" ")[2]  # without class and remedy
            where = "" if pd.isna(row["case"]) else f" ({_case(row['case'])})"
            reasons.setdefault(f"{reason}{where}", []).append(row["label"])
        items = "".join(
            f"<li><strong>{escape('; '.join(dict.fromkeys(labels)))}</strong>: {escape(reason)}</li>"
            for reason, labels in reasons.items()
        )
        offered = own.loc[own["accuracy"].notna(), "method"].nunique()
        lines.append(row_of((f"1/{budget:g} of the bytes sent", offered, f"<ul>{items}</ul>")))
    yield table_of(("", "measured", "not offered, and why"), lines)


def _case(case: str) -> str:
    """A case in words."""
    own = case.removesuffix(SUMS)
    drawn = "few in a round, without state, " if own == SAMPLED else ""
    return f"{drawn}{DEALT.get(own, own)}{SUMS if case != own else ''}"


def _epsilon(value: float) -> str:
    return "none" if pd.isna(value) else f"{value:g}"


def _level(epsilon: str) -> str:
    return "no privacy" if epsilon == "none" else f"ε = {epsilon}"


def decisive(claims: Iterable[Claim]) -> list[Claim]:
    """The claims of the decision list: our own claims about the frontier's studies."""
    return [claim for claim in claims if claim.role == "ours" and set(claim.studies) <= set(STUDIES)]


def _decisions(scales: Sequence[ReportedScale], conf: Path) -> Iterator[str]:
    """The decision list: each rule with its verdict, or with a verdict for each method. Rules come last of which more
    verdicts fail than hold."""
    outcomes = pd.concat([read_outcomes(scale) for scale in scales], ignore_index=True)
    items: list[str] = []
    failed: list[str] = []
    for claim in decisive(read_claims(files(conf, "claim"))):
        own = outcomes[(outcomes["claim"] == claim.id) & (outcomes["role"] != "control")]
        own = own[own["verdict"] != "not run"]
        rows = own.to_dict("records")
        each = "<br>".join(f'<a href="{link(row)}">{escape(row["label"])}</a>: {_verdict(row)}' for row in rows)
        said = " ".join(f"{badge(str(name))} {count}" for name, count in own["verdict"].value_counts().items())
        if len(rows) > 1:
            each = f"<details><summary>{said}</summary>{each}</details>"
        name = f'<a href="claims/{claim.id}.html">{claim.id}</a>'
        place = failed if (own["verdict"] == "fails").sum() > own["verdict"].str.startswith("holds").sum() else items
        place.append(f"<li>{name} <em>{escape(claim.place)}</em>: {prose(claim.statement)}. {each or 'Not run.'}</li>")
    yield f'<ol class="decisions">{"".join([*items, *failed])}</ol>'


def _verdict(row: Mapping[Any, Any]) -> str:
    interval = f"in [{number(row['low'])}, {number(row['high'])}], bound {number(row['bound'])}"
    return f"{badge(row['verdict'])} ({number(row['statistic'])} {interval}; {row['scale']})"


def columns(measured: pd.DataFrame) -> list[ListColumn]:
    names = [name for name in MEANINGS if name not in ("method", "refused") and measured[name].notna().any()]
    return [*(_column(name) for name in names), ListColumn("scale", "scale", "size of the run: quick or paper")]


def _column(name: str) -> ListColumn:
    kind: Kind = "number" if name in NUMBERS else "text"
    more = "; intervals hold at once" if name in MEASURED else ""
    return ListColumn(name, name.replace("_", " "), f"{MEANINGS[name]}{more}", kind)


def _rows(measured: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in measured.to_dict("records")]
