"""Evaluate all claims, or check that verdicts are the expected ones."""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sketchbench import seal
from sketchbench.claim import history, page
from sketchbench.claim.claims import check_studies, read_claims
from sketchbench.claim.erratum import read_errata
from sketchbench.claim.evaluate import evaluate
from sketchbench.claim.markup import to_html, to_markdown
from sketchbench.claim.origin import CODE, MADE, not_of_this_plan, origin_of, summary, with_origin
from sketchbench.command_line import Parser, json_of, program
from sketchbench.files import write_text
from sketchbench.measure.row import Column
from sketchbench.reports import judged_from
from sketchbench.table.reading import COLUMNS, read_table

NUMBERS = ("statistic", "low", "high", Column.BOUND)
VERDICTS = ("claim", Column.METHOD, Column.LABEL, "case", "verdict", "expected", *NUMBERS)  # columns of claims.csv
FACTS = {"scale": str, "kernels": str, "seed": int, "skipped": list, "studies": list}


def run_evaluate(options: argparse.Namespace) -> None:
    """Write the verdicts as CSV, Markdown and HTML, and say what came out unexpected."""
    facts = _facts(options.facts)
    claims = read_claims(options.claims)
    check_studies(claims, facts["studies"])
    errata = read_errata(options.errata, claims)
    tables = {path.stem: read_table(path, COLUMNS, kind="table", scale=facts["scale"]) for path in options.tables}
    whole, kinds = facts.get("whole", True), facts.get("kinds", {})
    older = facts.get("older", {})
    found, comparisons = evaluate(
        claims, tables, facts["scale"], whole=whole, kinds=kinds, older=older, absent=facts.get("absent", {})
    )
    verdicts = with_origin(found, claims, origin_of(options.tables, older))
    csv = verdicts.to_csv(index=False, float_format="%.8g", lineterminator="\n")
    write_text(options.csv, csv)
    blocks = page.content(claims, verdicts, facts, comparisons, errata)
    write_text(options.page, to_markdown(blocks))
    write_text(options.html, to_html(page.TITLE, blocks))
    made_of = judged_from(seal.sums(options.tables), options.facts)
    seal.write("claims", facts["scale"], made_of, [options.csv, options.page, options.html])
    history.append(options.csv, verdicts, facts["scale"])
    for line in differences(verdicts):
        print(line, file=sys.stderr)


def _facts(text: str) -> dict[str, Any]:
    """What `planned.Plan.facts` says; ValueError where it is something else."""
    facts = json_of(text, "--facts")
    optional = {key: dict for key in ("kinds", "older", "absent") if isinstance(facts, dict) and key in facts}
    for key, kind in {**FACTS, **optional}.items():
        if not isinstance(facts, dict) or not isinstance(facts.get(key), kind):
            raise ValueError(f"--facts needs {key}, of type {kind.__name__}; Snakemake makes them of the plan")
    return facts


def run_check(options: argparse.Namespace) -> None:
    """Exit with 1 where a verdict differs from the expected one, or, where that is asked for, is not of the plan."""
    verdicts = read_table(options.verdicts, (*VERDICTS, MADE, CODE), kind="claims", texts=(MADE, CODE))
    lines = differences(verdicts)
    if options.against:
        lines += changes(_older(options.against), verdicts)
    old = not_of_this_plan(verdicts) if options.current else []
    for line in [*lines, *old]:
        print(line)
    not_run = int((verdicts["verdict"] == "not run").sum())
    counts = [f"{len(lines)} surprises", f"{not_run} not run", *summary(verdicts)]
    print(f"{len(verdicts)} verdicts, {', '.join(counts)}")
    sys.exit(1 if lines or old else 0)


def _older(path: Path) -> pd.DataFrame:
    """The verdicts of an older run, verified where they have a seal; from before there were seals they have none."""
    if seal.beside(path).exists():
        return read_table(path, VERDICTS, kind="claims")
    verdicts = read_table(path, VERDICTS)
    print(f"{path} has no seal: its verdicts are taken as they are", file=sys.stderr)
    return verdicts


def differences(verdicts: pd.DataFrame) -> list[str]:
    """A line for each verdict that is not the expected one."""
    rows = page.surprising(verdicts)
    return [
        f"{row.claim} {row.label}: {row.verdict}, expected {row.expected} "
        f"({row.case}: {row.statistic:.4g} in [{row.low:.4g}, {row.high:.4g}], bound {row.bound:.4g})"
        for row in rows.itertuples()
    ]


def changes(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    """A line for each verdict that differs from an older run's, or that follows from other numbers.

    Numbers are the same where they agree to 6 significant digits. Where any verdict is expected, as of times, neither
    it nor its numbers are compared.
    """
    key = ["claim", Column.METHOD]
    both = old.merge(new, on=key, how="outer", suffixes=("", "_new"), indicator=True)
    lines = []
    for row in both.to_dict("records"):
        name = f"{row['claim']} {row[Column.METHOD]}"
        if row["_merge"] != "both":
            lines.append(f"{name}: only in the {'older' if row['_merge'] == 'left_only' else 'newer'}")
        elif row["expected_new"] == "any":
            continue
        elif row["verdict"] != row["verdict_new"]:
            lines.append(f"{name}: {row['verdict_new']}, was {row['verdict']}")
        else:
            lines += [
                f"{name}: {column} {row[f'{column}_new']:.8g}, was {row[column]:.8g}"
                for column in NUMBERS
                if not np.isclose(row[column], row[f"{column}_new"], 1e-6, 1e-9, equal_nan=True)
            ]
    return lines


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(prog="python -m sketchbench.claim", description=__doc__)
    commands = parser.add_subparsers(required=True)
    evaluating = commands.add_parser("evaluate", help="tables and claims to verdicts")
    evaluating.add_argument("--tables", required=True, type=Path, nargs="+", help="CSV by study")
    evaluating.add_argument("--claims", required=True, type=Path, nargs="+", help="YAML files")
    evaluating.add_argument("--errata", default=[], type=Path, nargs="*", help="YAML files")
    evaluating.add_argument("--facts", required=True, help="scale, kernels, seed, ... as JSON")
    for option in ("--csv", "--page", "--html"):
        evaluating.add_argument(option, required=True, type=Path, help="a file to write")
    evaluating.set_defaults(action=run_evaluate)
    checking = commands.add_parser("check", help="fail where a verdict is a surprise")
    checking.add_argument("verdicts", type=Path, help="claims.csv")
    checking.add_argument("--against", type=Path, help="an older one; fail on a change, too")
    checking.add_argument("--current", action="store_true", help="fail where one is not of the code of the last plan")
    checking.set_defaults(action=run_check)
    options = parser.parse_args(arguments)
    options.action(options)


if __name__ == "__main__":
    main()
