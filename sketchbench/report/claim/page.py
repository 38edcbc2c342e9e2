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
from sketchbench.report.claim.verdict import CONFIRMED

TITLE = "Claims and verdicts"
MARKS = {"holds": "✓", "holds, not sharp": "≤", "not refuted": "◇", "fails": "✗", "inconclusive": "~"}
MARKS |= {"vacuous": "○", "does not transfer": "↛", "void": "⊘", "not run": "–"}
ROLES = {
    "printed": "as printed in the paper",
    "corrected": "the true statement instead, or its true conditions",
    "ours": "beyond the papers",
    "control": "claimed by no paper, measured for comparison",
    "contract": "required of every method, or its other verdicts are void",
}
PREDICTED = ("as predicted", "otherwise", "nothing predicted", "not run")
ONLY = "its only comparison"  # the case of a claim that compares one number
SHAKY = 0.01  # the chance of another verdict above which a verdict is listed
FEW = 0.5  # the share of a control's comparisons, below which their rejection is listed
PAPERS_ROLES = ("printed", "corrected")
SITE = """\
The evidence of each verdict, with pictures, reasons and commands, is on the site that `make site` builds in
reports/site. `sketchbench show CLAIM` prints it in the terminal, and claims.csv has all numbers. docs/verdicts.md
explains how verdicts are made."""

# At the quick scale; simulated in tests/measure/test_dependence.py, and see the reasons of the claims.
POWER = "Faults in fewer than one operator in a thousand, and correlations below 0.12, may go unnoticed."


def render(
    claims: list[Claim],
    verdicts: pd.DataFrame,
    facts: Mapping[str, Any],
    levels: ErrorLevels,
    errata: Sequence[Erratum] = (),
) -> str:
    """The page: counts of the verdicts, error rates (`levels` of `evaluate`), predictions, errata, and the studies and
    methods left out. `facts` of the run are scale, seed, kernels, and (study, name, reason) of everything `skipped`.
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
        *_missing(verdicts),
        *_uncontrolled(claims, verdicts),
        *_hardly_rejected(verdicts),
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
    """A table of plain strings, with `|` escaped."""
    texts = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in texts)


def _papers(verdicts: pd.DataFrame) -> list[str]:
    """Is the paper right? The verdicts on the papers' statements, counted by paper and role."""
    said = verdicts[verdicts["role"].isin(PAPERS_ROLES)]
    rows = []
    for (paper, role), group in said.groupby(["paper", "role"], sort=True):
        counts = group["verdict"].value_counts()
        numbers = [str(counts.get(verdict, "")) for verdict in MARKS]
        rows.append([str(paper), str(role), str(group["claim"].nunique()), *numbers])
    rows.sort(key=lambda cells: (cells[0], PAPERS_ROLES.index(cells[1])))
    text = (
        "Verdicts on the papers' statements, one for each claim and method: as printed, and corrected. Verdicts on "
        "times depend on the machine; a run writes them to times.csv beside this file."
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
    return ["## Verdicts on your own methods", _bullets(lines)] if lines else []


def _predictions(verdicts: pd.DataFrame) -> list[str]:
    """Was it predicted? Counts of verdicts by role, and then the verdicts that were predicted otherwise."""
    rows = []
    for role in ROLES:
        group = verdicts[verdicts["role"] == role]
        counts = predicted(group).value_counts()
        rows.append([role, *(str(counts.get(name, 0)) for name in PREDICTED)])
    text = (
        "A claim's file names the predicted verdict before the first run, or before the first run of a method that "
        "came later. Nobody edits a prediction after a run. A verdict that was predicted to hold, and holds without "
        "being sharp, counts as otherwise. `sketchbench check` compares the verdicts with the published verdicts."
    )
    blocks = ["## Was it predicted?", text, _table(["role", *PREDICTED], rows)]
    other = verdicts[predicted(verdicts) == "otherwise"]
    rows = [
        [*(f"{MARKS[str(name)]} {name}" for name in both), str(len(own)), ", ".join(own["claim"].unique())]
        for both, own in other.groupby(["predicted", "verdict"])
    ]
    return [*blocks, _table(["predicted", "found", "verdicts", "claims"], rows)] if rows else blocks


def predicted(verdicts: pd.DataFrame) -> "pd.Series[str]":
    """The entry of `PREDICTED` for each verdict: whether it is as predicted."""
    told = verdicts["predicted"]
    names = (told == verdicts["verdict"]).map({True: "as predicted", False: "otherwise"})
    return names.mask(told.isin([NOTHING, ANY]), "nothing predicted").mask(verdicts["verdict"] == "not run", "not run")


def counted_predictions(verdicts: pd.DataFrame) -> list[str]:
    """The counts of verdicts as predicted, otherwise, and so on, in words."""
    counts = predicted(verdicts).value_counts()
    return [f"{counts[name]} {name}" for name in PREDICTED if name in counts]


def number(value: float, digits: int = 4) -> str:
    """The number with this many significant digits; infinity as its sign, `none` if it is missing."""
    return "none" if pd.isna(value) else f"{value:.{digits}g}".replace("inf", "∞")


def numbers(row: Mapping[Any, Any]) -> str:
    """The statistic of a verdict in its interval, against the bound."""
    statistic, low, high, bound = (number(row[name]) for name in ("statistic", "low", "high", Column.BOUND))
    return f"{statistic} in [{low}, {high}], bound {bound}"


def measured(row: Mapping[Any, Any], kind: str) -> str:
    """The measured number of a control and its bound; "" without numbers."""
    ends = (row[f"{kind}_statistic"], row[f"{kind}_bound"])
    return " of ".join(number(value) for value in ends if not pd.isna(value))


def _not_run(verdicts: pd.DataFrame) -> list[str]:
    """The claims that were not run, by reason."""
    rows = verdicts[verdicts["verdict"] == "not run"]
    reasons = rows[Column.CASE].fillna("").replace("", "its studies have no tables yet")
    lines = [f"{reason}: {', '.join(found['claim'].unique())}" for reason, found in rows.groupby(reasons, sort=False)]
    return ["## Not run", _bullets(lines)] if lines else []


def _older(verdicts: pd.DataFrame, facts: Mapping[str, Any]) -> list[str]:
    """The verdicts of other code than this run's; no blocks if there are none."""
    older = facts.get("older", {})
    if not older:
        return []
    counted = ", ".join(summary(verdicts)) or "none"
    text = f"Of {len(verdicts)} verdicts: {counted}. They stay until their studies run again:"
    return ["## Is everything of this code?", text, _bullets(describe_states(older))]


def _contract(verdicts: pd.DataFrame, facts: Mapping[str, Any]) -> list[str]:
    """The methods that break the contract, and the methods whose contract was not measured."""
    if not (verdicts["role"] == gate.ROLE).any():
        return []
    heading, kinds = "## Is the contract kept?", facts.get("kinds", {})
    measured = gate.measured_methods(verdicts.to_dict("records"), kinds)
    if not measured:
        text = "This run did not measure it. The verdicts assume the contract, such as independent operators."
        return [heading, text]
    broken, without = gate.broken_contracts(verdicts), gate.unmeasured_methods(verdicts, kinds)
    text = f"It was measured for {len(measured)} methods (claims C1 and following). {POWER}"
    if without:
        text += f" It was not measured for {', '.join(without)}."
    if not broken:
        return [heading, f"{text} No method breaks it."]
    text += " These methods break it, and have no other verdicts:"
    lines = [f"{one[Column.LABEL]} ({one[Column.METHOD]}): {one['claim']}, {one[Column.CASE]}" for one in broken]
    return [heading, text, _bullets(lines)]


def _uncontrolled(claims: list[Claim], verdicts: pd.DataFrame) -> list[str]:
    """The claims without a negative control, for some or all methods; no blocks if all have one."""
    names = [claim.id for claim in claims if claim.role != "control" and not claim.controls]
    judged = verdicts[verdicts["verdict"].isin([*CONFIRMED, "inconclusive"])]
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
    text = f"{len(names)} claims. If such a claim holds, it may be vacuous: {'; '.join(names)}."
    return ["## Without a negative control yet", text]


def _missing(verdicts: pd.DataFrame) -> list[str]:
    """The verdicts that lack conditions of their claim, by claim and conditions."""
    rows = verdicts[verdicts["missing"].fillna("").ne("")]
    if rows.empty:
        return []
    text = "These claims name conditions that this scale did not measure. A claim without one of its conditions is at "
    text += "most inconclusive."
    lines = [
        f"{claim}: {lack} ({', '.join(own[Column.LABEL])})" for (claim, lack), own in rows.groupby(["claim", "missing"])
    ]
    return ["## Conditions without a measurement", text, _bullets(lines)]


def _hardly_rejected(verdicts: pd.DataFrame) -> list[str]:
    """The claims that hold, of whose negative control fewer than half of the comparisons are rejected."""
    rejected = verdicts["negative_control_rejected"].fillna("")
    holding = rejected[verdicts["verdict"].isin(CONFIRMED) & rejected.ne("")]
    few = holding[holding.map(_share) < FEW]
    if few.empty:
        return []
    text = (
        f"A claim rejects its negative control if one comparison of the control fails. For {len(few)} of "
        f"{len(holding)} verdicts that hold, fewer than half of the comparisons fail: the others would not have seen "
        "the control. The smallest number by claim:"
    )
    lines = [f"{claim}: {min(own, key=_share)}" for claim, own in few.groupby(verdicts["claim"], sort=False)]
    return ["## Controls that few comparisons reject", text, _bullets(lines)]


def _share(rejected: str) -> float:
    """The share in a text such as `2 of 30`."""
    some, all_of_them = map(int, rejected.split(" of "))
    return some / all_of_them


def _near_misses(verdicts: pd.DataFrame) -> list[str]:
    """Count the holding bounds whose near miss is rejected, and list near-miss results by claim."""
    holding = verdicts[verdicts["verdict"].str.startswith("holds") & verdicts["near_miss"].fillna("").ne("")]
    found = holding[holding["near_miss"] != IMPOSSIBLE]
    if found.empty:
        return []
    sharp = int((found["verdict"] == "holds").sum())
    text = (
        f"Of {len(holding)} verdicts that hold, {sharp} reject their near miss, and {len(found) - sharp} do not: these "
        f"verdicts are not sharp. For {len(holding) - len(found)} the claim's file says why there is no near miss. "
        "Equalities need no near miss, because a constant factor in either direction breaks an equality."
    )
    rows = []
    for (claim, miss, verdict), group in found.groupby(["claim", "near_miss", "near_miss_verdict"], sort=False):
        spans = [("near_miss_statistic",) * 2, ("near_miss_bound",) * 2, ("tightness", "loosest")]
        cells = [" to ".join(dict.fromkeys([number(group[a].min(), 3), number(group[b].max(), 3)])) for a, b in spans]
        rows.append([str(claim), str(miss), str(len(group)), f"{MARKS[str(verdict)]} {verdict}", *cells])
    columns = ["claim", "near miss", "verdicts", "its checks", "measured", "bound", "tightness of the claim"]
    return ["## Near misses", text, _table(columns, rows)]


def _facts(facts: Mapping[str, Any], levels: ErrorLevels) -> str:
    """The run's settings, and the error rate of each comparison."""
    few, others = levels.few_trials, levels.others
    shared = f"{others.comparisons:,} comparisons get {others.level:.2g} each"
    if few.comparisons:
        shared = f"{few.comparisons:,} comparisons of trainings and attacks get {few.level:.2g} each, {shared}"
    return (
        f"Scale `{facts['scale']}`, seed {facts['seed']}, {facts['kernels']} kernels. The verdicts share an error rate "
        f"of {levels.total:g}, by weights that conf/{FILE} stated before the run: {shared}. Verdicts on negative "
        "controls and on near misses each have the same rate for themselves. So the probability that any verdict on a "
        f"claim, a control or a near miss is wrong is at most {3 * levels.total:g}."
    )


def _reruns(verdicts: pd.DataFrame) -> list[str]:
    """The claims with verdicts that new trials may change, since counts of few trials decide them."""
    counted = verdicts[verdicts["flips"].notna()]
    shaky = counted[counted["flips"] > SHAKY]
    if shaky.empty:
        return []
    lines = [
        f"{claim}: {len(rows)} of {(counted['claim'] == claim).sum()}, at most {rows['flips'].max():.0%}"
        for claim, rows in shaky.groupby("claim", sort=False)
    ]
    text = (
        f"Counts decide {len(counted)} verdicts. If the measured shares are the true shares, a rerun with another seed "
        f"changes each of {len(shaky)} verdicts, mostly to an undecided one, with a chance of more than {SHAKY:.0%} "
        "(column `flips`). By claim:"
    )
    return ["## What another seed may change", text, _bullets(lines)]


def _counted(verdicts: pd.DataFrame) -> str:
    """The counts of verdicts, in words."""
    counts = verdicts["verdict"].value_counts()
    return ", ".join(f"{MARKS[verdict]} {verdict} {counts[verdict]}" for verdict in MARKS if verdict in counts)


def _errata(errata: Sequence[Erratum], verdicts: pd.DataFrame) -> list[str]:
    """A line for each erratum: the printed and the true number, and the verdicts of the claims that measure it."""
    if not errata:
        return []
    touching = sum(erratum.touches.result for erratum in errata)
    text = (
        f"{len(errata)} statements are not true as printed; a result of the paper depends on {touching} of them. The "
        "most important come first. The site has their reasons and counterexamples."
    )
    rows = []
    for erratum in errata:
        judged = {claim: verdicts[verdicts["claim"] == claim] for claim in erratum.claims}
        counted = "; ".join(f"{name}: {_counted(own) or 'not run'}" for name, own in judged.items())
        numbers = ""  # the printed and the true number
        if case := erratum.counterexample:
            printed, measured = (number(value, 6) for value in (case.printed, case.measured))
            numbers = f"{case.relation} {printed}, but {measured}"
        rows.append([f"{erratum.paper}, {erratum.place}", erratum.kind, numbers, counted or "no claim measures it"])
    return ["## Errata", text, _table(["place", "kind", "printed, and true value", "claims"], rows)]
