"""`sketchbench show S2 srht`: print the evidence for a verdict."""

import math
import shlex
import textwrap
from collections.abc import Iterator, Mapping
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
from sketchbench.report.table.reading import read_unsealed
from sketchbench.run.config import commands
from sketchbench.run.config.chapters import claims
from sketchbench.run.config.study import names as study_names

SCALES = ("quick", "paper", "smoke")
WIDTH = 48  # characters of an interval
Row = Mapping[Any, Any]


def _complete_id(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The ids of claims with this prefix, for a shell."""
    return [name for name in sorted(claims(CONF)) if name.startswith(incomplete)]


@click.command("show")
@click.argument("claim", shell_complete=_complete_id)
@click.argument("method", required=False)
@click.option("--scale", type=OneOf(SCALES), help="One scale only (default: every scale that has reports).")
@FOLDER
def command(claim: str, method: str | None, scale: str | None, folder: Path | None) -> None:
    """Show a claim and its verdict on each method: statistic, interval, bound, negative control.

    METHOD (srht, fiht, ...) adds the commits of the code and the commands that regenerate the row. --folder shows the
    verdicts on your own methods and in your own frontiers.

    \b
    sketchbench show S2
    sketchbench show S2 srht --scale quick
    sketchbench show S2 mysketch --folder mine
    """
    known = claims(CONF)
    choose("claim", claim, sorted(known))
    (statement,) = (one for one in read_claims([known[claim]]) if one.id == claim)
    places = [_reports(name, folder) for name in ([scale] if scale else SCALES)]
    places += transfer.places(folder) if folder and not scale else []
    rows = {place: _rows(place, statement) for place in places if (place.reports / "claims.csv").is_file()}
    if not rows:
        again = f"sketchbench results --scale {places[0].name}{commands.own(folder)}"
        raise FileNotFoundError(f"{places[0].reports / 'claims.csv'} does not exist; run {again} first")
    if method:
        choose("method", method, {row["method"]: row for own in rows.values() for row in own if row["method"]})
    print("\n".join(_heading(statement)))
    if statement.on_times and not any(rows.values()):
        again = f"sketchbench results --studies {','.join(statement.studies)}"
        print(f"\nTimes differ between machines, and this machine has none yet: run {again}")
    for place, verdicts in rows.items():
        width = max((len(row["label"]) for row in verdicts), default=0)
        for row in [row for row in verdicts if method in (None, row["method"])]:
            for line in _row(statement, place, row, width):
                print(line)
            if method and row["verdict"] != "not run":
                for line in _origin(statement, place, row, folder):
                    print(f"       {line}")


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
    """The claim's statement, and how it is measured."""
    yield f"{claim.id}: {claim.paper}, {claim.place} ({claim.role})"
    yield from _wrapped(claim.statement)
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


def _row(claim: Claim, scale: ReportedScale, row: Row, width: int) -> Iterator[str]:
    """The verdict of a method, with its interval drawn against the bound."""
    yield ""
    yield f"{scale.name:6s} {row['label'] or 'all methods':{width}s}  {row['verdict']}; {_predicted(claim, scale, row)}"
    yield from (f"       {line}" for line in _evidence(claim, row))


def _predicted(claim: Claim, scale: ReportedScale, row: Row) -> str:
    """The prediction and its day."""
    if row["predicted"] == ANY:
        return "a time, without a prediction"
    day = "" if row["predicted"] == NOTHING else claim.at(scale.name).day(row["method"])
    return f"predicted: {row['predicted']}{f', on {day}' if day else ''}"


def _evidence(claim: Claim, row: Row) -> Iterator[str]:
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
            yield f"{kind.replace('_', ' ')}: {_control(kind, control, row)}"


def _control(kind: str, control: NegativeControl | None, row: Row) -> str:
    if control is None:
        return "none yet"
    if control.reason:
        return f"no control is possible; {control.reason}"
    numbers = page.measured(row, kind)
    rejected = row.get(f"{kind}_rejected", "")
    share = f", in {rejected} comparisons" if rejected and not rejected.startswith("0 ") else ""
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


def _origin(claim: Claim, scale: ReportedScale, row: Row, folder: Path | None) -> Iterator[str]:
    """The commits and settings of a row, and the commands that regenerate it."""
    tables = scale.reports / "tables"
    commits = commits_behind(claim, row["method"], tables) or last_commit(scale.reports / "claims.csv")
    yield f"made by: {dated(commits)}{f'; {row[CODE]}' if row[CODE] else ''}"
    settings: dict[str, dict[str, str]] = {}
    for study in claim.studies:
        if (table := tables / f"{study}.csv").is_file():
            settings[study] = dict(seal.read(table).settings)
            yield f"with: {study}: {made_with(table)}"
    yield "again:"
    if scale.name not in SCALES:
        yield f"  {transfer.command(scale)}"
        return
    roots = {name: value for study, own in settings.items() for name, value in _root(scale.name, study, own).items()}
    yield f"  {commands.workflow(scale.name, claim.studies)}{commands.own(folder)}{_options(roots)}"
    if single := commands.single_run(CONF, scale.name, row, settings=settings.get(row["study"])):
        yield f"  {single}{f' --folder {shlex.quote(str(folder))}' if folder else ''}"


def _root(scale: str, study: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The plan's settings for the records of a study; the study may add a number to the plan's seed."""
    seed = settings.get("seed", "")
    added = commands.read_once(CONF, study, scale).seed if seed.isdigit() and study in study_names(CONF) else 0
    return {**settings, "seed": str(int(seed) - added)} if added else dict(settings)


def _options(settings: Mapping[str, str]) -> str:
    return "".join(f" --{name} {value}" for name, value in sorted(settings.items(), reverse=True))
