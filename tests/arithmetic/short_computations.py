"""Digests of short computations, a run of each task, which are the same on every processor that has x86-64-v3.

python tests/arithmetic/short_computations.py                     compare with digests.json
python tests/arithmetic/short_computations.py frontier tails      only runs of these studies
python tests/arithmetic/short_computations.py --write             write digests.json, after numbers were changed
qemu-x86_64 -cpu EPYC .venv/bin/python tests/arithmetic/short_computations.py    on another processor, emulated
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the checkout, whose code it is

from sketchbench.base import arithmetic

os.environ["NUMBA_NUM_THREADS"] = "1"  # as in a job; torch would take over the number of threads of a team
HELD = arithmetic.hold()  # before any other import

from sketchbench.measure.column import Column
from sketchbench.plan import making
from sketchbench.report.table import times
from sketchbench.run.execution import execute

FILE = Path(__file__).with_name("digests.json")  # by study and name of a run
SCALE = "smoke"


def digest(config: dict[str, Any]) -> str:
    """16 hex digits of all bits of the numbers that a run gives, but of times."""
    rows = [dict(row) for row in execute(config) if row[Column.QUANTITY] not in times.QUANTITIES]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def digests(wanted: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    """The digests of some runs, by study and name, with progress on standard error."""
    runs = making.expand(SCALE, "numba", studies=",".join(wanted)).runs
    found: dict[str, dict[str, str]] = {}
    for study, names in wanted.items():
        start = time.perf_counter()
        found[study] = {name: digest(runs[study][name].config) for name in names}
        print(f"{study}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return found


def main(arguments: list[str]) -> int:
    known = json.loads(FILE.read_text())
    chosen = [argument for argument in arguments if argument != "--write"] or list(known)
    found = digests({study: list(known[study]) for study in chosen})
    if "--write" in arguments:
        FILE.write_text(json.dumps({**known, **found}, indent=1, sort_keys=True) + "\n")
        return 0
    other = [study for study in found if found[study] != known[study]]
    print(f"arithmetic {HELD}: {len(found) - len(other)} of {len(found)} computations as in {FILE.name}")
    print("\n".join(f"other bits: {study} {found[study]}" for study in other))
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
