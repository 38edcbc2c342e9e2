"""Print some of the quick scale's studies, separated by commas: all that have no cost in conf/costs.csv, and of the
others as many as take a SHARE (1/8) of the time.

The committed tables draw them, by their seals, so that each change of tables draws others, and a run can be repeated.
A study whose committed table is not what the code gives is among them with probability 1/8, and one of n such studies
with probability 1 - (7/8)^n. That all tables are of this code and config, `check --current` tells without a run.
"""

import hashlib
import sys
from fractions import Fraction
from pathlib import Path

from sketchbench.base.project import PROJECT
from sketchbench.plan import cost
from sketchbench.report import seal
from sketchbench.run.config import study

SCALE = "quick"


def sample(share: Fraction, root: Path = PROJECT) -> list[str]:
    """The studies drawn, by name."""
    conf = root / "conf"
    known = {key.study: one.runs * one.seconds for key, one in cost.read(conf / "costs.csv").items() if key[0] == SCALE}
    tables = root / "reports" / "tables"
    drawn_by = seal.digest((tables / seal.MANIFEST).read_bytes())
    studies = seal.seals(tables).keys() & set(study.names(conf))
    chosen = studies - known.keys()
    left = sum(known.values()) * share
    for name in sorted(studies - chosen, key=lambda name: hashlib.sha256(f"{drawn_by} {name}".encode()).hexdigest()):
        if left > 0:
            chosen.add(name)
            left -= known[name]
    return sorted(chosen)


if __name__ == "__main__":
    print(",".join(sample(Fraction(sys.argv[1] if len(sys.argv) > 1 else "1/8"))))
