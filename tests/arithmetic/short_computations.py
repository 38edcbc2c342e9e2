"""Digests of short computations, a run of each task, which are the same on every processor that has x86-64-v3.

python tests/arithmetic/short_computations.py            compare with digests.json, task by task
python tests/arithmetic/short_computations.py --write    write digests.json, after a change that changes numbers
python tests/arithmetic/short_computations.py frontier   only some tasks
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the checkout, whose code it is

from sketchbench import arithmetic

HELD = arithmetic.hold()  # before any other import

from sketchbench.config import study
from sketchbench.measure.column import Column
from sketchbench.plan import making
from sketchbench.project import CONF
from sketchbench.report.table import times
from sketchbench.run.execution import execute

FILE = Path(__file__).with_name("digests.json")
SCALE = "smoke"
ELSEWHERE = {"frontier_cost", "transform_cost"}  # tasks of times alone


def computations() -> dict[str, dict[str, Any]]:
    """By task, the config of the first run of its first study at the smoke scale."""
    configs: dict[str, dict[str, Any]] = {}
    for name, runs in making.expand(SCALE, "numba", studies=",".join(study.names(CONF))).runs.items():
        task = study.read(CONF, name, SCALE).task
        if task not in ELSEWHERE:
            configs.setdefault(task, next(iter(runs.values())).config)
    return configs


def digest(config: dict[str, Any]) -> str:
    """16 hex digits of all bits of the numbers that a run gives, but of times."""
    rows = [dict(row) for row in execute(config) if row[Column.QUANTITY] not in times.QUANTITIES]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def digests(tasks: list[str]) -> Iterator[tuple[str, str]]:
    """The digest of each task, or of those that are named, with progress on standard error."""
    for task, config in sorted(computations().items()):
        if not tasks or task in tasks:
            start = time.perf_counter()
            yield task, digest(config)
            print(f"{task}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    tasks = [argument for argument in arguments if argument != "--write"]
    found = dict(digests(tasks))
    if "--write" in arguments:
        kept = json.loads(FILE.read_text()) if tasks else {}
        FILE.write_text(json.dumps({**kept, **found}, indent=1, sort_keys=True) + "\n")
        return 0
    known = json.loads(FILE.read_text())
    other = [task for task in found if found[task] != known.get(task)]
    print(f"arithmetic {HELD}: {len(found) - len(other)} of {len(found)} tasks as in {FILE.name}")
    print("\n".join(f"another digest: {task}" for task in other))
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
