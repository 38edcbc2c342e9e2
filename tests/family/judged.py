"""What the project says of a family from outside: its own studies at quick size, judged by its own claims.

    PYTHONPATH=.:tests:tests/mutant python tests/family/judged.py [NAME ...]

prints a line for each family of the zoo, or for those named.

The level is that of a quick run (`levels.QUICK`). The studies are those that a user's family takes part in, but for
`growth`, at d = 4,096, which takes longer than all the others; those of tails and of inner products only where the
family claims some.
"""

import functools
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd
import yaml
from hydra.utils import get_class
from judging import CLAIMS, METHOD
from levels import QUICK
from specimen import Specimen

from sketchbench import kernels
from sketchbench.base.project import CONF
from sketchbench.measure.column import Column
from sketchbench.report.claim.judging import Measured, compare, decide, selections
from sketchbench.run.config import study
from sketchbench.sketch.family import SizeError

CONTRACT = ("contract",)
MOMENTS = ("embedding", "embedding_rows", "moments", "norms")
TAILS = ("tails",)
PRODUCTS = ("inner_products",)
SPECTRUM = ("spectrum",)
SELECTED = (Column.CASE, Column.LEMMA, Column.DELTA)  # columns that claims select rows by


@dataclass(frozen=True)
class Outcome:
    """What the claims say of a family.

    Attributes:
        failed: the cases that fail, by claim.
        inconclusive: claims that are inconclusive.
        judged: all claims that judge something.
        error: why a study ended early; "" where none did.
        seconds: how long the studies took.
    """

    failed: dict[str, list[str]]
    inconclusive: list[str]
    judged: list[str]
    error: str
    seconds: float

    @property
    def caught(self) -> list[str]:
        """The claims that fail, and `error`."""
        return [*self.failed, *(["error"] if self.error else [])]

    @property
    def doubted(self) -> list[str]:
        """The claims that are inconclusive, each with a question mark."""
        return [f"{claim}?" for claim in self.inconclusive]

    def and_then(self, other: "Outcome") -> "Outcome":
        """Both together."""
        return Outcome(
            self.failed | other.failed,
            self.inconclusive + other.inconclusive,
            self.judged + other.judged,
            "; ".join(filter(None, [self.error, other.error])),
            self.seconds + other.seconds,
        )


def studies(specimen: Specimen) -> tuple[str, ...]:
    """The studies beside the contract that a family takes part in."""
    known = specimen.known
    chosen = MOMENTS
    chosen += TAILS if known.tails or known.always else ()
    chosen += PRODUCTS if known.inner_products else ()
    return chosen + (SPECTRUM if known.spectrum else ())


def outcome(specimen: Specimen, names: Iterable[str], seed: int = 0, **settings: Any) -> Outcome:
    """Run studies on a family, and judge it.

    Arguments:
        specimen: the family.
        names: of the studies.
        seed: root of all randomness.
        settings: fields of the tasks, in the place of what the studies set.
    """
    start = time.perf_counter()
    tables, errors = {}, []
    for name in names:
        try:
            tables[name] = Measured(name, measured(specimen, name, seed, settings))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
    failed: dict[str, list[str]] = {}
    inconclusive, judged = [], []
    for claim in CLAIMS.values():
        checks = tuple(
            replace(check, studies=(name,)) for check in claim.checks for name in check.studies if name in tables
        )
        if claim.methods is not None or not checks:
            continue
        selected = selections(replace(claim, checks=checks), tables, METHOD)
        judgements = [one.comparison for one in compare(selected, QUICK.of)]
        if judgements:
            judged.append(claim.id)
        failures = [one.case for one in judgements if one.verdict == "fails"]
        if failures:
            failed[claim.id] = failures
        elif judgements and decide(judgements) == "inconclusive":
            inconclusive.append(claim.id)
    return Outcome(failed, inconclusive, judged, "; ".join(errors), time.perf_counter() - start)


def measured(specimen: Specimen, name: str, seed: int, settings: dict[str, Any]) -> pd.DataFrame:
    """The table of a study for one family; sizes that it can't have are left out."""
    plan, rows = study.read(CONF, name, "quick"), []
    for point in plan.points(METHOD):
        found = list(_rows(specimen, plan.task, point.values, seed, settings))
        rows += [{**row, **{key: value for key, value in point.columns.items() if key not in row}} for row in found]
        if found and plan.always:
            break
    table = pd.DataFrame(rows or [{Column.QUANTITY: ""}])
    missing = {name: None for name in SELECTED if name not in table}  # other methods have these columns
    return table.assign(**missing, **{Column.METHOD: METHOD})


def _rows(
    specimen: Specimen, task: str, values: dict[str, Any], seed: int, settings: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The rows of one run."""
    scale = yaml.safe_load((CONF / "scale" / "quick.yaml").read_text())
    try:
        family = specimen.family(values.get("d", scale["d"]), values.get("b", scale["b"]))
    except SizeError:
        return
    given = _settings(task) | {key.removeprefix("task."): values[key] for key in values if key.startswith("task.")}
    target = get_class(given.pop("_target_"))
    given |= {"family": family, "known": specimen.known, "kernels": kernels.load("numba"), "seed": seed}
    accepted = {field.name for field in fields(target)}
    given = {key: value for key, value in (given | settings).items() if key in accepted}
    yield from (dict(row) for row in target(**given).run())


@functools.cache
def _text(task: str) -> str:
    return (CONF / "task" / f"{task}.yaml").read_text(encoding="utf-8")


def _settings(task: str) -> dict[str, Any]:
    """The settings of conf/task, with those of the scale filled in."""
    scale = yaml.safe_load((CONF / "scale" / "quick.yaml").read_text())
    return yaml.safe_load(_text(task).replace("${scale.trials}", str(scale["trials"])))


def judged(specimen: Specimen, seed: int = 0) -> Outcome:
    """What the contract says of a family, and then its other studies, one by one until a broken one is caught."""
    found = outcome(specimen, CONTRACT, seed)
    for name in studies(specimen):
        if {*found.caught, *found.doubted} & set(specimen.caught_by):
            break
        found = found.and_then(outcome(specimen, (name,), seed))
    return found


def main(names: list[str]) -> None:
    """A line of a Markdown table for each family."""
    import broken
    import honest

    for specimen in [*broken.BROKEN, *honest.HONEST]:
        if names and specimen.name not in names:
            continue
        found = judged(specimen)
        cases = "; ".join(f"{claim}: {', '.join(cases[:2])}" for claim, cases in found.failed.items())
        parts = (
            specimen.kind,
            specimen.name,
            specimen.effect,
            " ".join(specimen.caught_by) or "-",
            " ".join([*found.caught, *found.doubted]) or "-",
            f"{cases} {found.error}"[:200].strip(),
            f"{found.seconds:.1f} s",
        )
        print("| " + " | ".join(parts) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
