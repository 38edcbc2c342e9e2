#!/usr/bin/env python3
"""Print some of the quick scale's studies, separated by commas: contracts, which go with all studies, all that have no
cost in conf/costs.csv, and of the others as many as take a SHARE (1/3) of the time.

The committed tables draw them, by their seals, so that each change of tables draws others, and a run can be repeated.
A study whose committed table is not what the code gives is among them with a probability of a third, n of such studies
with one of 1 - (2/3)^n; that all tables are of this code and config, `check --current` tells without a run.
"""

import csv
import hashlib
import sys
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def sample(share: Fraction, root: Path = ROOT) -> list[str]:
    """The studies drawn, by name."""
    with (root / "conf" / "costs.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["scale"] == "quick"]
    costs = {row["study"]: float(row["runs"]) * float(row["seconds"]) for row in rows}
    seals = sorted((root / "reports" / "tables").glob("*.seal"))
    drawn_by = hashlib.sha256(b"".join(seal.read_bytes() for seal in seals)).hexdigest()
    studies = {seal.stem for seal in seals} & {file.stem for file in (root / "conf" / "study").glob("*.yaml")}
    order = sorted(studies, key=lambda study: hashlib.sha256(f"{drawn_by} {study}".encode()).hexdigest())
    always = {study for study in studies if "\nalways: true\n" in _text(root / "conf" / "study" / f"{study}.yaml")}
    chosen = [study for study in order if study in always or study not in costs]
    left = sum(costs.values()) * share - sum(costs.get(study, 0.0) for study in always)
    for study in order:
        if study not in chosen and left > 0:
            chosen.append(study)
            left -= costs[study]
    return sorted(chosen)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    print(",".join(sample(Fraction(sys.argv[1] if len(sys.argv) > 1 else "1/3"))))
