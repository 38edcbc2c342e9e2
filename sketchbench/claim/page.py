"""The page of claims and verdicts: what stands on it, to be rendered by `markup`."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sketchbench.claim import gate
from sketchbench.claim.claims import Claim
from sketchbench.claim.erratum import Counterexample, Erratum
from sketchbench.claim.evaluate import FAMILY_WISE_ERROR
from sketchbench.claim.markup import Block, Bullets, Heading, Paragraph, Table
from sketchbench.claim.origin import CODE, MADE, in_words, summary
from sketchbench.measure.row import Column

TITLE = "Claims and verdicts"
MARKS = {"holds": "✓", "fails": "✗", "inconclusive": "~", "vacuous": "○", "void": "⊘", "not run": "–"}
ROLES = {
    "printed": "as the paper has it",
    "corrected": "what is true instead, or where it is",
    "ours": "beyond the papers",
    "control": "claimed by no paper, measured for comparison",
    "contract": "what every sketch must keep, or its other verdicts are void",
}
PAPERS_ROLES = ("printed", "corrected")
DETAILS = (
    *("method", "verdict", "expected", "statistic", "interval", "bound", "slack", "tightness", "case", "trials"),
    *("negative control", "made by"),
)
EXPLANATION = """\
A verdict is **holds**, **fails** or **inconclusive** (the interval straddles the bound), from the
comparison that decides it: of all pairs, sizes and lemmas of a method, the one with the least slack.
It is **vacuous** where the claim holds, but its negative control, which it does not speak of, passes the same checks
at the same error rate; where that remains open, it is inconclusive. It is **void** where the method breaks the
contract: whatever was measured of it then says nothing, and its case names what it breaks.
Bound is the value that the statistic is held against: what the paper allows, or for an equality the exact
value. Slack is the distance from the interval to the bound, relative to the bound (for an equality: how far
inside its interval the exact value lies, 1 in the middle, 0 at the edge); negative is outside. What is
computed and not measured has no trials, and its interval is the number. An audit's statistic is what was
proven, a lower bound. Tightness is the bound over what was measured (the mean, the largest trial, the number, or the ε
that was proven), the least of all comparisons of a method: 1 is sharp, and 100 says little. There is none
for equalities, probabilities and growth, nor where the bound or what was measured is not positive. Where the expected
verdict is *any*, times are compared, which differ from machine to machine: the verdict is that of this run.
Made by is the commit of the code that measured it. A run of some studies leaves the tables of others as they are: what
they have of methods whose code or config has changed since is of *older code*; it may also be of another seed, of other
kernels, or of a method that the study no longer has (an older plan)."""

# At the quick scale; simulated in tests/measure/test_dependence.py, and see the reasons of the claims.
POWER = "What is broken in fewer than one operator in a thousand, or correlated by less than 0.12, may go unnoticed."


def content(
    claims: list[Claim],
    verdicts: pd.DataFrame,
    facts: Mapping[str, Any],
    comparisons: int,
    errata: Sequence[Erratum] = (),
) -> list[Block]:
    """The blocks of the page: two summaries, all claims, the errata, a section for each claim, and what was left out.

    Arguments:
        claims: the claims, in the order of the page.
        verdicts: the table that `evaluate` returns.
        facts: of the run: scale, seed, kernels, and (study, name, reason) of everything `skipped`.
        comparisons: how many comparisons share the family-wise error rate.
        errata: the errata, in the order of the page.
    """
    blocks: list[Block] = [
        Heading(TITLE, level=1),
        *_papers(verdicts),
        *_expectations(verdicts),
        *_older(verdicts, facts),
        *_contract(verdicts, facts),
        Heading("How to read it"),
        Paragraph(_facts(facts, comparisons)),
        Paragraph(EXPLANATION),
        Bullets([f"**{role}**: {meaning}" for role, meaning in ROLES.items()]),
        *_uncontrolled(claims, verdicts),
        Heading("All claims"),
        _summary(claims, verdicts),
        *_errata(errata, verdicts),
    ]
    for claim in claims:
        blocks += _section(claim, verdicts[verdicts["claim"] == claim.id])
    if facts["skipped"]:
        skipped = [f"{study}: {name}: {reason}" for study, name, reason in facts["skipped"]]
        blocks += [Heading("Left out"), Bullets(skipped)]
    return blocks


def _papers(verdicts: pd.DataFrame) -> list[Block]:
    """Is the paper right? The verdicts on what it says, counted by paper and role."""
    said = verdicts[verdicts["role"].isin(PAPERS_ROLES)]
    rows = []
    for (paper, role), group in said.groupby(["paper", "role"], sort=True):
        counts = group["verdict"].value_counts()
        numbers = [str(counts.get(verdict, "")) for verdict in MARKS]
        rows.append([str(paper), str(role), str(group["claim"].nunique()), *numbers])
    rows.sort(key=lambda cells: (cells[0], PAPERS_ROLES.index(cells[1])))
    text = "Verdicts on what the papers say, one for each claim and method: as printed, and corrected."
    return [Heading("Is the paper right?"), Paragraph(text), Table(["paper", "words", "claims", *MARKS], rows)]


def _expectations(verdicts: pd.DataFrame) -> list[Block]:
    """Is everything as expected? Verdicts by role, with the number of surprises, and these one by one."""
    rows = []
    for role in ROLES:
        group = verdicts[verdicts["role"] == role]
        surprises, not_run = len(surprising(group)), int((group["verdict"] == "not run").sum())
        expected = len(group) - surprises - not_run
        rows.append([role, str(expected), str(surprises), str(not_run)])
    blocks: list[Block] = [
        Heading("Is everything as expected?"),
        Table(["role", "as expected", "surprises", "not run"], rows),
    ]
    lines = [
        f"{row['claim']}, {row[Column.LABEL]}: {row['verdict']}, expected {row['expected']}"
        for row in surprising(verdicts).to_dict("records")
    ]
    return [*blocks, Bullets(lines)] if lines else blocks


def surprising(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts that are not the expected ones; one that is not run, or where any is expected, is no surprise."""
    differs = verdicts["verdict"] != verdicts["expected"]
    said = (verdicts["verdict"] != "not run") & (verdicts["expected"] != "any")
    return verdicts[differs & (said | (verdicts["verdict"] == gate.VOID))]


def _older(verdicts: pd.DataFrame, facts: Mapping[str, Any]) -> list[Block]:
    """Which verdicts are not of the code of this run, if there are such."""
    older = facts.get("older", {})
    if not older:
        return []
    counted = ", ".join(summary(verdicts)) or "none"
    text = f"Of {len(verdicts)} verdicts: {counted}. They stay until their studies are run again:"
    return [Heading("Is everything of this code?"), Paragraph(text), Bullets(in_words(older))]


def _contract(verdicts: pd.DataFrame, facts: Mapping[str, Any]) -> list[Block]:
    """Which methods break the contract, and of which it was not measured."""
    if not (verdicts["role"] == gate.ROLE).any():
        return []
    kinds = facts.get("kinds", {})
    measured = gate.measured(verdicts.to_dict("records"), kinds)
    if not measured:
        text = "It was not measured in this run. What the verdicts rest on, such as independent operators, is assumed."
        return [Heading("Is the contract kept?"), Paragraph(text)]
    lines, without = gate.broken(verdicts), gate.unmeasured(verdicts, kinds)
    text = f"It was measured of {len(measured)} methods (claims C1 and following). {POWER}"
    if without:
        text += f" It was not measured of {', '.join(without)}."
    if not lines:
        return [Heading("Is the contract kept?"), Paragraph(f"{text} None breaks it.")]
    text += " These break it, and have no other verdicts:"
    return [Heading("Is the contract kept?"), Paragraph(text), Bullets(lines)]


def _uncontrolled(claims: list[Claim], verdicts: pd.DataFrame) -> list[Block]:
    """The claims without a negative control yet, if any, and those of some of whose methods this is so."""
    names = [claim.id for claim in claims if claim.role != "control" and not claim.controls]
    for claim in claims:
        judged = verdicts[(verdicts["claim"] == claim.id) & verdicts["verdict"].isin(["holds", "inconclusive"])]
        without = [
            row[Column.LABEL]
            for row in judged.to_dict("records")
            if claim.controls and claim.control_of(row[Column.METHOD]) is None and row["role"] != "control"
        ]
        if without:
            names.append(f"{claim.id} ({', '.join(without)})")
    if not names:
        return []
    text = f"{len(names)} claims. Where one of these holds, it may be vacuous: {'; '.join(names)}."
    return [Heading("Without a negative control yet"), Paragraph(text)]


def _facts(facts: Mapping[str, Any], comparisons: int) -> str:
    """What the run was, and the error rate of each interval."""
    each = FAMILY_WISE_ERROR / max(comparisons, 1)
    return (
        f"Scale `{facts['scale']}`, seed {facts['seed']}, {facts['kernels']} kernels. "
        f"{comparisons:,} comparisons share a family-wise error rate of {FAMILY_WISE_ERROR:g}: "
        f"{each:.2g} for each interval. "
        "Those of the negative controls are at the same level, and share a rate of their own."
    )


def _summary(claims: list[Claim], verdicts: pd.DataFrame) -> Table:
    """A row for each claim: its verdicts counted, in the colour of the worst, and whether all are as expected."""
    rows = []
    for claim in claims:
        judged = verdicts[verdicts["claim"] == claim.id]
        surprises = surprising(judged)
        rows.append(
            [
                claim.id,
                f"{claim.paper}, {claim.place}",
                claim.role,
                claim.statement,
                _counted(judged),
                "yes" if surprises.empty else ", ".join(surprises[Column.LABEL]),
            ]
        )
    return Table(["claim", "paper", "role", "statement", "verdicts", "as expected"], rows)


def _counted(verdicts: pd.DataFrame) -> str:
    """Verdicts counted."""
    counts = verdicts["verdict"].value_counts()
    return ", ".join(f"{MARKS[verdict]} {verdict} {counts[verdict]}" for verdict in MARKS if verdict in counts)


def _errata(errata: Sequence[Erratum], verdicts: pd.DataFrame) -> list[Block]:
    """Each erratum in words and numbers, with the verdicts of the claims that measure it."""
    if not errata:
        return []
    text = f"{len(errata)} statements that are not so as printed, each with the smallest counterexample that we know."
    blocks: list[Block] = [Heading("Errata"), Paragraph(text)]
    for erratum in errata:
        lines = [f"**Printed**: {erratum.printed}", f"**Why it is not so**: {erratum.why}"]
        if erratum.counterexample:
            lines.append(f"**Counterexample**: {_refutation(erratum.counterexample)}")
        heading = Heading(f"{erratum.paper}, {erratum.place}: {erratum.kind}", level=3)
        blocks += [heading, Bullets([*lines, f"**Instead**: {erratum.corrected}"])]
        judged = {claim: verdicts[verdicts["claim"] == claim] for claim in erratum.claims}
        rows = [[name, " ".join(own["role"].unique()), _counted(own)] for name, own in judged.items()]
        blocks.append(Table(["claim", "words", "verdicts"], rows) if rows else Paragraph("No claim measures it."))
    return blocks


def _refutation(case: Counterexample) -> str:
    """The counterexample with its two numbers."""
    printed, measured = (f"{number:g}".replace("inf", "∞") for number in (case.printed, case.measured))
    return f"{case.statement} Printed: {case.relation} {printed}. It is **{measured}**."


def _section(claim: Claim, verdicts: pd.DataFrame) -> list[Block]:
    """A claim, with its verdicts by method."""
    blocks: list[Block] = [
        Heading(f"{claim.id}: {claim.statement}"),
        Paragraph(f"{claim.paper}, {claim.place}. Role: {claim.role}. Data: {claim.dataset}."),
    ]
    if claim.reason:
        blocks.append(Paragraph(claim.reason))
    reasons = [
        f"No negative control {'' if name == 'default' else f'of {name} '}can be: {control.reason}"
        for name, control in claim.controls.items()
        if control.reason
    ]
    blocks += [Paragraph(reason) for reason in reasons]
    rows = [_details(row) for row in verdicts[verdicts["verdict"] != "not run"].to_dict("records")]
    if not rows:
        why_not = verdicts.loc[verdicts["verdict"] == "not run", Column.CASE]
        why = ": ".join(["Not run", *filter(None, why_not.fillna(""))])
        return [*blocks, Paragraph(f"{why}.")]
    return [*blocks, Table(DETAILS, rows)]


def _details(row: Mapping[Any, Any]) -> list[str]:
    """The verdict on one method, with the numbers that it is from."""
    slack = row["slack"]
    return [
        row[Column.LABEL],
        f"{MARKS[row['verdict']]} {row['verdict']}",
        row["expected"],
        f"{row['statistic']:.4g}",
        f"[{row['low']:.4g}, {row['high']:.4g}]",
        f"{row[Column.BOUND]:.4g}",
        f"{slack:.2f}" if abs(slack) < 1e4 else f"{slack:.0e}",
        "" if pd.isna(row["tightness"]) else f"{row['tightness']:.3g}",
        row[Column.CASE],
        f"{row[Column.TRIALS]:,.0f}",
        _control(row),
        ", ".join(filter(None, [row[MADE], row[CODE]])),
    ]


def _control(row: Mapping[Any, Any]) -> str:
    """The negative control of one method, with its verdict and statistic where it has rows."""
    if not row["negative_control_verdict"]:
        return str(row["negative_control"])
    judged = f"{row['negative_control']}: {row['negative_control_verdict']}"
    statistic = row["negative_control_statistic"]
    return judged if pd.isna(statistic) else f"{judged} ({statistic:.4g})"
