"""The page of the frontier: what follows, in sentences that are claims, and a table that sorts and filters."""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from sketchbench.claim.claims import Claim
from sketchbench.claim.evaluate import FAMILY_WISE_ERROR
from sketchbench.frontier.cells import MEANINGS
from sketchbench.frontier.studies import STUDIES

HERE = Path(__file__).parent
TITLE = "Which compressor at N bytes?"
HIDDEN = ("method", "refused", "d")


def decisive(claims: Iterable[Claim]) -> list[Claim]:
    """The claims that are the decision list: our own, about the frontier's studies."""
    return [claim for claim in claims if claim.role == "ours" and set(claim.studies) <= set(STUDIES)]


def page(frontier: pd.DataFrame, claims: Sequence[Claim], verdicts: pd.DataFrame, figures: Sequence[str]) -> str:
    """The page, with everything in it but the figures, which are linked from the folder `figures` beside it.

    Arguments:
        frontier: of `cells.cells`.
        claims: the decision list.
        verdicts: the table of all verdicts.
        figures: names of figures.
    """
    names = [name for name in MEANINGS if name not in HIDDEN]
    sizes = ", ".join(f"{int(d):,}" for d in sorted(frontier["d"].dropna().unique()))
    measured = int(frontier["accuracy"].notna().sum())
    summary = (
        f"{frontier['method'].nunique()} compressors at {frontier['compression'].nunique()} budgets on the same work: "
        f"one network of {sizes} parameters, the same clients, batches and start weights, and the same effort of "
        f"tuning for each. {measured} cells, each with the command that makes it again."
    )
    text = Template((HERE / "page.html").read_text(encoding="utf-8"))
    return text.substitute(
        title=TITLE,
        summary=html.escape(summary),
        error=f"{FAMILY_WISE_ERROR:g}",
        style=_vendored("tabulator_simple.min.css"),
        script=_vendored("tabulator.min.js").replace("</script", "<\\/script"),
        decisions="\n".join(_decision(claim, verdicts) for claim in claims),
        figures="\n".join(f'<img src="figures/{name}.svg" alt="{html.escape(name)}">' for name in figures),
        cells=_json(frontier[frontier["accuracy"].notna()].to_dict("records")),
        refused="\n".join(_refused(frontier)),
        names=json.dumps(names),
        columns="\n".join(f"<dt>{name}</dt><dd>{html.escape(MEANINGS[name])}</dd>" for name in names),
    )


def _refused(frontier: pd.DataFrame) -> Iterable[str]:
    """A line for each compressor and budget that has no numbers, with the reason."""
    for row in frontier[frontier["refused"].notna()].to_dict("records"):
        yield f"<li>{html.escape(row['label'])} at 1/{row['compression']:g}: {html.escape(row['refused'])}</li>"


def _vendored(name: str) -> str:
    return (HERE.parent / "site" / "vendor" / name).read_text(encoding="utf-8")


def _json(rows: Sequence[dict[Any, Any]]) -> str:
    """The rows as JSON that may stand in HTML; no number is null."""
    plain = [{str(key): None if pd.isna(value) else _plain(value) for key, value in row.items()} for row in rows]
    return json.dumps(plain).replace("</", "<\\/")


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _decision(claim: Claim, verdicts: pd.DataFrame) -> str:
    """A sentence with the verdict of each method that it is about; of several, how many there are of each."""
    rows = verdicts[(verdicts["claim"] == claim.id) & (verdicts["role"] != "control")]
    found = rows.to_dict("records")
    if len(found) == 1:
        body = _verdict(found[0])
    else:
        said = ", ".join(f"{verdict} {count}" for verdict, count in rows["verdict"].value_counts().items())
        each = "<br>".join(f"{html.escape(row['label'])}: {_verdict(row)}" for row in found)
        body = f"<details><summary>{html.escape(said)}</summary>{each}</details>"
    return (
        f'<li id="{html.escape(claim.id)}"><b>{html.escape(claim.id)}</b> {html.escape(claim.statement)}: {body}</li>'
    )


def _verdict(row: Mapping[Any, Any]) -> str:
    """A verdict with its number, interval and bound, where it has them."""
    verdict = html.escape(str(row["verdict"]))
    shown = f'<span class="verdict {verdict}">{verdict}</span>'
    if row["verdict"] == "not run":
        return shown
    return f"{shown} ({row['statistic']:.3g} in [{row['low']:.3g}, {row['high']:.3g}], bound {row['bound']:.3g})"
