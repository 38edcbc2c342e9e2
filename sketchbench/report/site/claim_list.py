"""The list of claims: a row for each claim, with its statement, a bar of its verdicts, and the methods behind them.

The rows are plain HTML, which needs no script. lists.js filters them, and keeps the filters in the address.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.base.parameters import choose
from sketchbench.report.claim.claims import Claim
from sketchbench.report.claim.page import MARKS, ROLES
from sketchbench.report.site.verdicts import badge, escape, link, number, row_of, slug, table_of, typeset
from sketchbench.run.config.commands import read_once

TOPICS = {  # with the tasks of their studies
    "contracts of methods": "contract contract_sensing recovery_contract compressor_contract",
    "how well sketches keep vectors": "moments norms inner_products tails hash_tails spectrum",
    "convergence": "convergence communication consensus descent local_lemmas one_round prescribed sampled_gradients "
    "semi_smoothness table_2",
    "differential privacy": "privacy_accounting privacy_audit privacy_lemmas private_training noise_placement",
    "attacks": "attack_convergence inversion inversion_grid sketched_inversion private_inversion property_inference "
    "leakage_order frontier_leakage leakage_limits noisy_leakage double_blind_client",
    "compressed sensing": "compressed_sensing decoders download for_all for_each isometry padding reconstruction "
    "sparsity stability transform_cost units",
    "error feedback": "feedback_bound feedback_identity feedback_memory compressed_training",
    "sketched weights": "weight_sketch sketched_layers layer_cost regulariser remark_1 peer_to_peer rounds_factors "
    "training",
    "compressors compared": "frontier frontier_cost message_error",
}
TOPIC_OF = {task: topic for topic, tasks in TOPICS.items() for task in tasks.split()}
FILTERS = {"paper": "Paper", "topic": "Topic", "role": "Role", "method": "Method", "verdict": "Verdict"}
FILTERS |= {"scale": "Scale"}
INTRODUCTION = """\
All claims, one row for each: its place, its statement, and a bar of its verdicts over methods. Open the bar to see the
methods; the name leads to the evidence. The address of the page keeps the filters, so that you can share your view."""
OPEN = "The measured interval, and its bound. Tightness is bound / measured: 1 for a sharp bound."


def topic_of(claim: Claim, conf: Path) -> str:
    """The topic of the task of a claim's first study. Raises ValueError for a task without a topic."""
    task = read_once(conf, claim.checks[0].studies[0], "quick").task
    return TOPIC_OF[choose("task", task, TOPIC_OF)]


def list_of_claims(claims: Sequence[Claim], outcomes: pd.DataFrame, topics: Mapping[str, str]) -> str:
    """The introduction, the filters, and a row for each claim, from the verdicts of all scales and the topics by id."""
    rows = {name: group.to_dict("records") for name, group in outcomes.groupby("claim", sort=False)}
    run = {name: [row for row in group if row["verdict"] != "not run"] for name, group in rows.items()}
    roles = list(ROLES)
    ordered = sorted(claims, key=lambda claim: roles.index(claim.role))
    texts = "".join(_claim(claim, run.get(claim.id, []), topics[claim.id]) for claim in ordered)
    every = [row for group in run.values() for row in group]
    options: dict[str, list[Any]] = {
        "paper": [claim.paper for claim in ordered],
        "topic": [topics[claim.id] for claim in ordered],
        "role": [claim.role for claim in ordered],
        "method": sorted({_name(row) for row in every}, key=str.lower),
        "verdict": [verdict for verdict in MARKS if any(row["verdict"] == verdict for row in every)],
        "scale": [row["scale"] for row in every],
    }
    bar = "".join(_filter(name, title, dict.fromkeys(options[name])) for name, title in FILTERS.items())
    return (
        f"{INTRODUCTION}\n\n"
        f'<div class="claims"><div class="listing-bar"><label>Find <input type="search" data-filter="find" '
        f'autocomplete="off"></label>{bar}<button type="button" class="listing-clear">Show all</button>'
        f'<span class="listing-count" role="status">{len(claims)} claims</span></div><ul>{texts}</ul></div>'
    )


def _filter(name: str, title: str, texts: Mapping[str, None]) -> str:
    options = "".join(f'<option value="{escape(text)}">{escape(text)}</option>' for text in texts)
    named = f'data-filter="{name}" aria-label="{title}"'
    return f'<label>{title} <select {named}><option value="">all</option>{options}</select></label>'


def _name(row: Mapping[Any, Any]) -> str:
    """The method of a verdict, or a dash if it is about no particular method."""
    return "–" if row["method"] == "any" else str(row["label"] or row["method"])


def _claim(claim: Claim, rows: Sequence[Mapping[Any, Any]], topic: str) -> str:
    """The row of a claim."""
    where = f'{escape(claim.paper)} · {escape(claim.place)} · <span title="{ROLES[claim.role]}">{claim.role}</span>'
    said = f"<p>{typeset(claim.words)}</p>" if claim.words else ""
    statement = f'<p class="statement">{typeset(claim.statement)}</p>'
    about = f'data-paper="{claim.paper}" data-topic="{escape(topic)}" data-role="{claim.role}"'
    head = f'<p><a href="claims/{claim.id}.html"><strong>{claim.id}</strong></a> <span class="meta">{where}</span></p>'
    return f'<li class="claim" {about}>{head}{said}{statement}{_verdicts(claim, rows)}</li>'


def _verdicts(claim: Claim, rows: Sequence[Mapping[Any, Any]]) -> str:
    """The bars of a claim, one for each scale, which open to its methods."""
    if not rows:
        return f"<p>{badge('not run')}</p>"
    scales = list(dict.fromkeys(row["scale"] for row in rows))
    bars = "".join(f"<span>{_bar([r for r in rows if r['scale'] == scale], scale)}</span>" for scale in scales)
    table = table_of(("method", "scale", "verdict", "measured", "bound", "tightness"), map(_method, rows))
    return f'<details><summary>{bars}</summary><p class="meta">{OPEN}</p>{table}</details>'


def _method(row: Mapping[Any, Any]) -> str:
    name = escape(_name(row))
    about = f' data-method="{name}" data-verdict="{row["verdict"]}" data-scale="{row["scale"]}"'
    interval = f"{number(row['statistic'], 3)} in [{number(row['low'], 3)}, {number(row['high'], 3)}]"
    cells = (f'<a href="{link(row)}">{name}</a>', row["scale"], badge(row["verdict"]), interval)
    return row_of((*cells, number(row["bound"], 3), number(row["tightness"], 3)), about)


def _bar(rows: Sequence[Mapping[Any, Any]], scale: str) -> str:
    """The verdicts of a scale as a bar, with their numbers beside it."""
    counts = pd.Series([row["verdict"] for row in rows]).value_counts()
    counts = counts.reindex([verdict for verdict in MARKS if verdict in counts])
    parts = "".join(f'<i class="{slug(str(verdict))}" style="flex:{count}"></i>' for verdict, count in counts.items())
    told = ", ".join(f"{badge(str(verdict))} {count}" for verdict, count in counts.items())
    return f'{scale} <span class="bar" aria-hidden="true">{parts}</span> {told}'


def shorten(items: Sequence[str], most: int = 4) -> Iterator[str]:
    """The first items, and the number of the others."""
    yield from items[:most]
    if len(items) > most:
        yield f"{len(items) - most} more"
