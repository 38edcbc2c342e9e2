"""Evaluate all claims, or check that verdicts are the expected ones."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from sketchbench.claim import page
from sketchbench.claim.erratum import read_errata
from sketchbench.claim.evaluate import ClaimError, check_studies, evaluate, read_claims
from sketchbench.claim.markup import to_html, to_markdown
from sketchbench.files import write_text
from sketchbench.measure.row import Column
from sketchbench.schema import SchemaError


def run_evaluate(options: argparse.Namespace) -> None:
    """Write the verdicts as CSV, Markdown and HTML, and say what came out unexpected."""
    facts = json.loads(options.facts)
    claims = read_claims(options.claims)
    check_studies(claims, facts["studies"])
    errata = read_errata(options.errata, claims)
    tables = {path.stem: pd.read_csv(path) for path in options.tables}
    verdicts, comparisons = evaluate(claims, tables, facts["scale"], facts.get("kinds"))
    csv = verdicts.to_csv(index=False, float_format="%.8g", lineterminator="\n")
    write_text(options.csv, csv)
    blocks = page.content(claims, verdicts, facts, comparisons, errata)
    write_text(options.page, to_markdown(blocks))
    write_text(options.html, to_html(page.TITLE, blocks))
    for line in differences(verdicts):
        print(line, file=sys.stderr)


def run_check(options: argparse.Namespace) -> None:
    """Exit with 1 where a verdict differs from the expected one."""
    if not options.verdicts.is_file():
        sys.exit(f"sketchbench: error: {options.verdicts} is not there; run snakemake first")
    verdicts = pd.read_csv(options.verdicts)
    lines = differences(verdicts)
    if options.against:
        lines += changes(pd.read_csv(options.against), verdicts)
    for line in lines:
        print(line)
    not_run = int((verdicts["verdict"] == "not run").sum())
    print(f"{len(verdicts)} verdicts, {len(lines)} surprises, {not_run} not run")
    sys.exit(1 if lines else 0)


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
                for column in ("statistic", "low", "high", Column.BOUND)
                if not np.isclose(row[column], row[f"{column}_new"], 1e-6, 1e-9, equal_nan=True)
            ]
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m sketchbench.claim", description=__doc__)
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
    checking.set_defaults(action=run_check)
    options = parser.parse_args(arguments)
    try:
        options.action(options)
    except (ClaimError, SchemaError) as error:
        sys.exit(f"sketchbench: error: {error}")


if __name__ == "__main__":
    main()
