"""`sketchbench show S2 srht`: print the evidence for a verdict."""

import math
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sketchbench.base.parameters import choose
from sketchbench.base.project import CONF, reports
from sketchbench.command.group import FOLDER, OneOf
from sketchbench.plan.selection import places_of
from sketchbench.report import seal
from sketchbench.report.claim import page
from sketchbench.report.claim.check import TEXTS
from sketchbench.report.claim.claims import ANY, NOTHING, Claim, read_claims
from sketchbench.report.claim.control import NegativeControl
from sketchbench.report.claim.state import CODE, commits_behind
from sketchbench.report.evidence import transfer
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.evidence.provenance import dated, last_commit, made_with
from sketchbench.report.evidence.statistic import WORDS, name_of
from sketchbench.report.site.answer import sentence
from sketchbench.report.table.reading import read_unsealed
from sketchbench.run.config import commands
from sketchbench.run.config.chapters import claims
from sketchbench.run.config.study import names as study_names

SCALES = ("paper", "quick", "smoke")
WIDTH = 48  # characters of an interval
Row = Mapping[Any, Any]


def _complete_id(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The ids of claims with this prefix, for a shell."""
    return [name for name in sorted(claims(CONF)) if name.startswith(incomplete)]


@click.command("show")
@click.argument("claim", shell_complete=_complete_id)
@click.argument("method", required=False)
@click.option("--scale", type=OneOf(SCALES), help="One scale only (default: every scale that has reports).")
@click.option("--all", "whole", is_flag=True, help="Also commits, versions, selections and all commands of a row.")
@FOLDER
def command(claim: str, method: str | None, scale: str | None, whole: bool, folder: Path | None) -> None:
    """Show a claim and its verdict on each method: statistic, interval, bound, negative control.

    With METHOD (srht, fiht, ...) the verdict comes first, in a sentence, and a command that regenerates the row comes
    with it. --folder shows the verdicts on your own methods and in your own frontiers.

    \b
    sketchbench show S2
    sketchbench show S2 srht --scale quick
    sketchbench show S2 srht --all
    sketchbench show S2 mysketch --folder mine
    """
    known = claims(CONF)
    choose("claim", claim, sorted(known))
    (statement,) = (one for one in read_claims([known[claim]]) if one.id == claim)
    places = [_reports(name, folder) for name in ([scale] if scale else SCALES)]
    places += transfer.places(folder) if folder and not scale else []
    rows = {place: _rows(place, statement) for place in places if (place.reports / "claims.csv").is_file()}
    if not rows:
        place = _reports(scale or "quick", folder)
        again = f"sketchbench results --scale {place.name}{commands.own(folder)}"
        raise FileNotFoundError(f"{place.reports / 'claims.csv'} does not exist; run {again} first")
    if method:
        choose("method", method, {row["method"]: row for own in rows.values() for row in own if row["method"]})
        rows = {place: [row for row in own if row["method"] == method] for place, own in rows.items()}
        print("\n".join(_answers(statement, rows)))
    print("\n".join(_heading(statement)))
    if not method:
        print("\n".join(_measured(statement)))
    if statement.on_times and not any(rows.values()):
        again = f"sketchbench results --studies {','.join(statement.studies)}"
        print(f"\nTimes differ between machines, and this machine has none yet: run {again}")
    for place, verdicts in rows.items():
        width = max((len(row["label"]) for row in verdicts), default=0)
        for row in verdicts:
            for line in _row(statement, place, row, width, whole or not method):
                print(line)
            if method and row["verdict"] != "not run":
                for line in _origin(statement, place, row, folder, whole):
                    print(f"       {line}")
    if method:
        print("\n".join(_measured(statement)))


def _answers(claim: Claim, rows: Mapping[ReportedScale, Sequence[Row]]) -> Iterator[str]:
    """The verdict on a method in a sentence, with the scales that have this sentence; what was run comes first."""
    sentences: dict[str, list[str]] = {}
    for place, verdicts in rows.items():
        for row in verdicts:
            sentences.setdefault(sentence(claim, row, CONF), []).append(place.name)
    for text in sorted(sentences, key=lambda text: " was not run" in text):
        scales = sentences[text]
        yield textwrap.fill(f"At the scale{'s' * (len(scales) > 1)} {' and '.join(scales)} {text}.", 116)
    yield ""


def _reports(scale: str, folder: Path | None) -> ReportedScale:
    """The reports of a scale: those in the user's folder, in the current folder, or the published reports."""
    place = Path(places_of(scale, folder, apart=False).reports)
    return ReportedScale(scale, place if folder else reports(place))


def _rows(scale: ReportedScale, claim: Claim) -> list[Row]:
    """The verdicts on a claim; for a claim on times, the verdicts of this machine if it has any."""
    verdicts = read_outcomes(scale)
    times = scale.reports / seal.UNSEALED
    if claim.on_times and times.is_file():
        verdicts = read_unsealed(times, TEXTS).fillna(dict.fromkeys(TEXTS, ""))
    return list(verdicts[verdicts["claim"] == claim.id].to_dict("records"))


def _heading(claim: Claim) -> Iterator[str]:
    """The claim's place and statement."""
    yield f"{claim.id}: {claim.paper}, {claim.place} ({claim.role})"
    yield from _wrapped(claim.statement)


def _measured(claim: Claim) -> Iterator[str]:
    """How the claim is measured, and why the verdicts are as they are."""
    yield ""
    for check in claim.checks:
        yield from _wrapped(f"Measured: {name_of(check)}. It holds if {WORDS[check.criterion][1]}.")
    yield from _wrapped(f"Data: {claim.dataset}. Studies: {', '.join(claim.studies)}.")
    if claim.tried:
        yield from _wrapped(claim.tried)
    if claim.reason:
        yield from _wrapped(f"Why: {claim.reason}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), 116, initial_indent="  ", subsequent_indent="    ")


def _row(claim: Claim, scale: ReportedScale, row: Row, width: int, whole: bool) -> Iterator[str]:
    """The verdict of a method, with its interval drawn against the bound."""
    yield ""
    yield f"{scale.name:6s} {row['label'] or 'all methods':{width}s}  {row['verdict']}; {_predicted(claim, scale, row)}"
    yield from (f"       {line}" for line in _evidence(claim, row, whole))


def _predicted(claim: Claim, scale: ReportedScale, row: Row) -> str:
    """The prediction and its day."""
    if row["predicted"] == ANY:
        return "a time, without a prediction"
    day = "" if row["predicted"] == NOTHING else claim.at(scale.name).day(row["method"])
    return f"predicted: {row['predicted']}{f', on {day}' if day else ''}"


def _evidence(claim: Claim, row: Row, whole: bool) -> Iterator[str]:
    """The statistic in its interval against the bound, and the negative control."""
    if row["verdict"] == "not run":
        yield row["case"] or "not run at this scale"
        return
    yield draw_interval(row["statistic"], row["low"], row["high"], row["bound"])
    more = [
        f"{name} {page.number(row[name], 3)}" for name in ("slack", "tightness", "loosest") if not math.isnan(row[name])
    ]
    trials = f"{row['trials']:,.0f} trials" if row["trials"] else "computed, without trials"
    yield ", ".join([f"statistic {page.numbers(row)}", *more, trials])
    yield f"decided by: {row['case'] or page.ONLY} (study {row['study']})"
    if row["missing"]:
        yield f"not measured, though the claim names it: {row['missing']}"
    if not math.isnan(row["flips"]):
        yield f"another seed gives another verdict with a chance of {row['flips']:.1%}, at the shares measured"
    for kind, control in claim.controls_of(row["method"]).items():
        if control or kind == "negative_control":
            yield f"{kind.replace('_', ' ')}: {_control(kind, control, row, whole)}"


def _control(kind: str, control: NegativeControl | None, row: Row, whole: bool) -> str:
    if control is None:
        return "none yet"
    if control.reason:
        return f"no control is possible; {control.reason}"
    numbers = page.measured(row, kind)
    rejected = row.get(f"{kind}_rejected", "")
    share = f", in {rejected} comparisons" if whole and rejected and not rejected.startswith("0 ") else ""
    return f"{row[kind]}: {row[f'{kind}_verdict']}{f' ({numbers})' if numbers else ''}{share}"


def draw_interval(statistic: float, low: float, high: float, bound: float) -> str:
    """Draw an interval `├─●─┤`, its statistic and the bound `┃` on one axis.

    >>> draw_interval(1.0, 0.5, 1.5, 2.0).strip()
    '├───────────────●──────────────┤               ┃'
    """
    numbers = [value for value in (statistic, low, high, bound) if math.isfinite(value)]
    start, end = min(numbers), max(numbers)
    span = (end - start) or 1.0

    def place(value: float) -> int:
        return round((min(max(value, start), end) - start) / span * (WIDTH - 1))

    line = [" "] * WIDTH
    for position in range(place(low), place(high) + 1):
        line[position] = "─"
    for value, sign in ((low, "├"), (high, "┤"), (bound, "┃"), (statistic, "●")):
        if math.isfinite(value):
            line[place(value)] = sign
    return "".join(line).rstrip()


def _origin(claim: Claim, scale: ReportedScale, row: Row, folder: Path | None, whole: bool) -> Iterator[str]:
    """A command that regenerates a row; with `whole` all such commands, and the row's commits and settings."""
    tables = scale.reports / "tables"
    studies = [study for study in claim.studies if (tables / f"{study}.csv").is_file()]
    settings = {study: dict(seal.read(tables / f"{study}.csv").settings) for study in studies}
    if whole:
        commits = commits_behind(claim, row["method"], tables) or last_commit(scale.reports / "claims.csv")
        yield f"made by: {dated(commits)}{f'; {row[CODE]}' if row[CODE] else ''}"
        yield from (f"with: {study}: {made_with(tables / f'{study}.csv')}" for study in studies)
    yield "again:"
    if scale.name not in SCALES:
        yield f"  {transfer.command(scale)}"
        return
    single = commands.single_run(CONF, scale.name, row, settings=settings.get(row["study"]))
    if whole or not single:
        roots = {key: value for study, own in settings.items() for key, value in _root(scale.name, study, own).items()}
        yield f"  {commands.workflow(scale.name, claim.studies)}{commands.own(folder)}{_options(roots)}"
    if single:
        yield f"  {single}{f' --folder {shlex.quote(str(folder))}' if folder else ''}"


def _root(scale: str, study: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The plan's settings for the records of a study; the study may add a number to the plan's seed."""
    seed = settings.get("seed", "")
    added = commands.read_once(CONF, study, scale).seed if seed.isdigit() and study in study_names(CONF) else 0
    return {**settings, "seed": str(int(seed) - added)} if added else dict(settings)


def _options(settings: Mapping[str, str]) -> str:
    return "".join(f" --{name} {value}" for name, value in sorted(settings.items(), reverse=True))
