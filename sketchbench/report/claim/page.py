"""The page of claims and verdicts, in Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.claim import gate
from sketchbench.report.claim.claims import ANY, NOTHING, Claim
from sketchbench.report.claim.control import IMPOSSIBLE
from sketchbench.report.claim.erratum import Erratum
from sketchbench.report.claim.error_rate import FILE, ErrorLevels
from sketchbench.report.claim.state import describe_states, summary

TITLE = "Claims and verdicts"
MARKS = {"holds": "✓", "holds, not sharp": "≤", "fails": "✗", "inconclusive": "~", "vacuous": "○"}
MARKS |= {"does not transfer": "↛", "void": "⊘", "not run": "–"}
ROLES = {
    "printed": "as the paper has it",
    "corrected": "what is true instead, or where it is",
    "ours": "beyond the papers",
    "control": "claimed by no paper, measured for comparison",
    "contract": "what every sketch must keep, or its other verdicts are void",
}
PREDICTED = ("as predicted", "otherwise", "nothing predicted", "not run")
ONLY = "its only comparison"  # the case of a claim that compares one number
SHAKY = 0.01  # the chance of another verdict above which a verdict is listed
PAPERS_ROLES = ("printed", "corrected")
SITE = """\
The evidence of each verdict, with pictures, reasons and commands, stands on the site that `make site` builds in
reports/site; `sketchbench show CLAIM` shows it in the terminal, and all numbers are in claims.csv. How verdicts are
made is told in docs/verdicts.md."""

# At the quick scale; simulated in tests/measure/test_dependence.py, and see the reasons of the claims.
POWER = "What is broken in fewer than one operator in a thousand, or correlated by less than 0.12, may go unnoticed."


def render(
    claims: list[Claim],
    verdicts: pd.DataFrame,
    facts: Mapping[str, Any],
    levels: ErrorLevels,
    errata: Sequence[Erratum] = (),
) -> str:
    """The page: counts of the verdicts, and the levels, of `evaluate`, predictions, errata, and the studies and methods
    that were left out. Facts of the run are scale, seed, kernels, and (study, name, reason) of everything `skipped`.
    """
    blocks = [
        f"# {TITLE}",
        SITE,
        *_papers(verdicts),
        *_own(verdicts, facts),
        *_predictions(verdicts),
        *_not_run(verdicts),
        *_older(verdicts, facts),
        *_contract(verdicts, facts),
        "## What was run",
        _facts(facts, levels),
        *_reruns(verdicts),
        *_uncontrolled(claims, verdicts),
        *_near_misses(verdicts),
        *_errata(errata, verdicts),
    ]
    if facts["skipped"]:
        skipped = [f"{study}: {name}: {reason}" for study, name, reason in facts["skipped"]]
        blocks += ["## Left out", _bullets(skipped)]
    return "\n\n".join(blocks) + "\n"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of plain texts, in which `|` is escaped."""
    texts = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in texts)


def _papers(verdicts: pd.DataFrame) -> list[str]:
    """Is the paper right? The verdicts on what it says, counted by paper and role."""
    said = verdicts[verdicts["role"].isin(PAPERS_ROLES)]
    rows = []
    for (paper, role), group in said.groupby(["paper", "role"], sort=True):
        counts = group["verdict"].value_counts()
        numbers = [str(counts.get(verdict, "")) for verdict in MARKS]
        rows.append([str(paper), str(role), str(group["claim"].nunique()), *numbers])
    rows.sort(key=lambda cells: (cells[0], PAPERS_ROLES.index(cells[1])))
    text = (
        "Verdicts on what the papers say, one for each claim and method: as printed, and corrected. Those on times "
        "differ from machine to machine, and stand in times.csv beside this file after a run."
    )
    columns = ["paper", "words", "claims", *(f"{mark} {name}" for name, mark in MARKS.items())]
    return ["## Is the paper right?", text, _table(columns, rows)]


def _own(verdicts: pd.DataFrame, facts: Mapping[str, Any]) -> list[str]:
    """The verdicts on a user's own methods, in a line for each method and verdict."""
    own, kinds = facts.get("own", {}), facts.get("kinds", {})
    pairs = zip(verdicts["study"], verdicts[Column.METHOD], strict=True)
    mine = pd.Series([method in own.get(kinds.get(study, ""), ()) for study, method in pairs], verdicts.index, bool)
    rows = verdicts[mine]
    lines = [
        f"{label}: {verdict}: {', '.join(found['claim'].unique())}"
        for (label, verdict), found in rows.groupby([Column.LABEL, "verdict"], sort=True)
    ]
    return ["## What is said of your own methods?", _bullets(lines)] if lines else []


def _predictions(verdicts: pd.DataFrame) -> list[str]:
    """What was predicted? Counts of verdicts by role, and then those that were predicted otherwise."""
    rows = []
    for role in ROLES:
        group = verdicts[verdicts["role"] == role]
        counts = predicted(group).value_counts()
        rows.append([role, *(str(counts.get(name, 0)) for name in PREDICTED)])
    text = (
        "A prediction is the verdict that the file of a claim named before the first run, and for a method that came "
        "later before that one's first run. Nobody edits it after a run. What was to hold, and holds without being "
        "sharp, is counted as otherwise. Whether verdicts are as published is another question, which `sketchbench "
        "check` answers."
    )
    blocks = ["## Was it predicted?", text, _table(["role", *PREDICTED], rows)]
    other = verdicts[predicted(verdicts) == "otherwise"]
    rows = [
        [*(f"{MARKS[str(name)]} {name}" for name in both), str(len(own)), ", ".join(own["claim"].unique())]
        for both, own in other.groupby(["predicted", "verdict"])
    ]
    return [*blocks, _table(["predicted", "found", "verdicts", "claims"], rows)] if rows else blocks


def predicted(verdicts: pd.DataFrame) -> "pd.Series[str]":
    """For each verdict whether it is as it was predicted: an entry of `PREDICTED`."""
    told = verdicts["predicted"]
    names = (told == verdicts["verdict"]).map({True: "as predicted", False: "otherwise"})
    return names.mask(told.isin([NOTHING, ANY]), "nothing predicted").mask(verdicts["verdict"] == "not run", "not run")


def counted_predictions(verdicts: pd.DataFrame) -> list[str]:
    """How many verdicts are as they were predicted, otherwise, ..., in words."""
    counts = predicted(verdicts).value_counts()
    return [f"{counts[name]} {name}" for name in PREDICTED if name in counts]


def number(value: float, digits: int = 4) -> str:
    """A number with this many significant digits, infinity as its sign, and `none` for a missing one."""
    return "none" if pd.isna(value) else f"{value:.{digits}g}".replace("inf", "∞")


def numbers(row: Mapping[Any, Any]) -> str:
    """The statistic of a verdict in its interval, against the bound."""
    statistic, low, high, bound = (number(row[name]) for name in ("statistic", "low", "high", Column.BOUND))
    return f"{statistic} in [{low}, {high}], bound {bound}"


def measured(row: Mapping[Any, Any], kind: str) -> str:
    """What a control of a verdict measured, and the value that it was held against; "" where there are no numbers."""
    ends = (row[f"{kind}_statistic"], row[f"{kind}_bound"])
    return " of ".join(number(value) for value in ends if not pd.isna(value))


def _not_run(verdicts: pd.DataFrame) -> list[str]:
    """The claims that were not run, in a line for each reason."""
    rows = verdicts[verdicts["verdict"] == "not run"]
    reasons = rows[Column.CASE].fillna("").replace("", "its studies have no tables yet")
    lines = [f"{reason}: {', '.join(found['claim'].unique())}" for reason, found in rows.groupby(reasons, sort=False)]
    return ["## Not run", _bullets(lines)] if lines else []


def _older(verdicts: pd.DataFrame, facts: Mapping[str, Any]) -> list[str]:
    """The verdicts that are not of the code of this run; no blocks where all are."""
    older = facts.get("older", {})
    if not older:
        return []
    counted = ", ".join(summary(verdicts)) or "none"
    text = f"Of {len(verdicts)} verdicts: {counted}. They stay until their studies are run again:"
    return ["## Is everything of this code?", text, _bullets(describe_states(older))]


def _contract(verdicts: pd.DataFrame, facts: Mapping[str, Any]) -> list[str]:
    """The methods that break the contract, and the methods whose contract was not measured."""
    if not (verdicts["role"] == gate.ROLE).any():
        return []
    heading, kinds = "## Is the contract kept?", facts.get("kinds", {})
    measured = gate.measured_methods(verdicts.to_dict("records"), kinds)
    if not measured:
        text = "It was not measured in this run. What the verdicts rest on, such as independent operators, is assumed."
        return [heading, text]
    lines, without = gate.breaches(verdicts), gate.unmeasured_methods(verdicts, kinds)
    text = f"It was measured of {len(measured)} methods (claims C1 and following). {POWER}"
    if without:
        text += f" It was not measured of {', '.join(without)}."
    if not lines:
        return [heading, f"{text} None breaks it."]
    text += " These break it, and have no other verdicts:"
    return [heading, text, _bullets(lines)]


def _uncontrolled(claims: list[Claim], verdicts: pd.DataFrame) -> list[str]:
    """The claims without a negative control yet, for all methods or for some; no blocks where all have one."""
    names = [claim.id for claim in claims if claim.role != "control" and not claim.controls]
    judged = verdicts[verdicts["verdict"].isin(["holds", "holds, not sharp", "inconclusive"])]
    own = dict(iter(judged[[Column.METHOD, Column.LABEL, "role"]].groupby(judged["claim"])))
    for claim in claims:
        without = [
            label
            for method, label, role in (own[claim.id].to_numpy() if claim.id in own else ())
            if claim.controls and claim.controls_of(method)["negative_control"] is None and role != "control"
        ]
        if without:
            names.append(f"{claim.id} ({', '.join(without)})")
    if not names:
        return []
    text = f"{len(names)} claims. Where one of these holds, it may be vacuous: {'; '.join(names)}."
    return ["## Without a negative control yet", text]


def _near_misses(verdicts: pd.DataFrame) -> list[str]:
    """How many bounds that hold would not for a near miss; and what the near misses measured, claim by claim."""
    holding = verdicts[verdicts["verdict"].str.startswith("holds") & verdicts["near_miss"].fillna("").ne("")]
    found = holding[holding["near_miss"] != IMPOSSIBLE]
    if found.empty:
        return []
    sharp = int((found["verdict"] == "holds").sum())
    text = (
        f"Of {len(holding)} verdicts that hold, the near miss is rejected for {sharp}, and not for "
        f"{len(found) - sharp}, which are not sharp; for {len(holding) - len(found)} the file of the claim says why "
        "there is none. Equalities need none: what is off by a factor fails them on either side."
    )
    rows = []
    for (claim, miss, verdict), group in found.groupby(["claim", "near_miss", "near_miss_verdict"], sort=False):
        spans = [("near_miss_statistic",) * 2, ("near_miss_bound",) * 2, ("tightness", "loosest")]
        cells = [" to ".join(dict.fromkeys([number(group[a].min(), 3), number(group[b].max(), 3)])) for a, b in spans]
        rows.append([str(claim), str(miss), str(len(group)), f"{MARKS[str(verdict)]} {verdict}", *cells])
    columns = ["claim", "near miss", "verdicts", "its checks", "it measured", "held against", "tightness of the claim"]
    return ["## Near misses", text, _table(columns, rows)]


def _facts(facts: Mapping[str, Any], levels: ErrorLevels) -> str:
    """What the run was, and the error rate of each comparison."""
    few, others = levels.few_trials, levels.others
    shared = f"{others.comparisons:,} comparisons get {others.level:.2g} each"
    if few.comparisons:
        shared = f"{few.comparisons:,} comparisons of trainings and attacks get {few.level:.2g} each, {shared}"
    return (
        f"Scale `{facts['scale']}`, seed {facts['seed']}, {facts['kernels']} kernels. The verdicts share an error rate "
        f"of {levels.total:g}, by weights that conf/{FILE} stated before the run: {shared}. What is said of negative "
        "controls and of near misses has twice the same rate for itself. So the probability that anything said of a "
        f"claim, a control or a near miss is wrong is at most {3 * levels.total:g}."
    )


def _reruns(verdicts: pd.DataFrame) -> list[str]:
    """The claims with verdicts that new trials may change, as counts of few trials decide them."""
    counted = verdicts[verdicts["flips"].notna()]
    shaky = counted[counted["flips"] > SHAKY]
    if shaky.empty:
        return []
    lines = [
        f"{claim}: {len(rows)} of {(counted['claim'] == claim).sum()}, at most {rows['flips'].max():.0%}"
        for claim, rows in shaky.groupby("claim", sort=False)
    ]
    text = (
        f"Counts decide {len(counted)} verdicts. If the shares that were measured are the true ones, a rerun with "
        f"another seed decides {len(shaky)} of them otherwise, mostly not at all, with a chance of more than "
        f"{SHAKY:.0%} each (column `flips`). By claim:"
    )
    return ["## What another seed may change", text, _bullets(lines)]


def _counted(verdicts: pd.DataFrame) -> str:
    """Verdicts counted."""
    counts = verdicts["verdict"].value_counts()
    return ", ".join(f"{MARKS[verdict]} {verdict} {counts[verdict]}" for verdict in MARKS if verdict in counts)


def _errata(errata: Sequence[Erratum], verdicts: pd.DataFrame) -> list[str]:
    """A line for each erratum: the printed number and the true one, with the verdicts of the claims that measure it."""
    if not errata:
        return []
    touching = sum(erratum.touches.result for erratum in errata)
    text = (
        f"{len(errata)} statements that are not so as printed; a result of the paper rests on {touching}. What matters "
        "most comes first. Their reasons and counterexamples are on the site."
    )
    rows = []
    for erratum in errata:
        judged = {claim: verdicts[verdicts["claim"] == claim] for claim in erratum.claims}
        counted = "; ".join(f"{name}: {_counted(own) or 'not run'}" for name, own in judged.items())
        numbers = ""  # of the print, and the one that is so
        if case := erratum.counterexample:
            printed, measured = (number(value, 6) for value in (case.printed, case.measured))
            numbers = f"{case.relation} {printed}, but {measured}"
        rows.append([f"{erratum.paper}, {erratum.place}", erratum.kind, numbers, counted or "no claim measures it"])
    return ["## Errata", text, _table(["place", "kind", "printed, and what is so", "claims"], rows)]
