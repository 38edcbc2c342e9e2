"""The verdict on the contract from the rows of a single run, as `sketchbench run task=contract` prints it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from sketchbench.base.project import CONF
from sketchbench.measure.column import Column
from sketchbench.report.claim import conditions, judging, page
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.claim.error_rate import ErrorRate
from sketchbench.report.claim.gate import ROLE
from sketchbench.report.claim.judging import Judgement, Measured, compare
from sketchbench.run.config.chapters import files, named
from sketchbench.run.config.schema import load


class ContractVerdict(NamedTuple):
    """The claims on a contract's study that a method breaks, each with its case and numbers; those that it keeps; and
    those that the run leaves open, since it has too few trials or lacks rows."""

    method: str
    broken: Sequence[str]
    kept: Sequence[str]
    open: Sequence[str]

    def __str__(self) -> str:
        parts = [f"breaks {line}" for line in self.broken]
        parts += [f"keeps {', '.join(self.kept)}"] if self.kept else []
        parts += [f"open, with too few trials or without rows: {', '.join(self.open)}"] if self.open else []
        return f"contract of {self.method}: {'BROKEN' if self.broken else 'not broken'}: {'; '.join(parts)}"


def judge_contract(
    task: str, method: str, rows: Iterable[Mapping[str, Any]], conf: Path = CONF
) -> ContractVerdict | None:
    """Judge the claims on a contract's study by the rows of a run of its task; None for other tasks.

    Claims of other roles count, too: E[RᵀR] = I is S1-sizes. All comparisons of the run share the error rate of 1e-3.
    """
    studies = {name for name, path in named(conf, "study").items() if load(path).get("task") == task}
    texts = ((path, path.read_text(encoding="utf-8")) for path in files(conf, "claim"))
    claims = read_claims(path for path, text in texts if any(study in text for study in studies))
    claims = [claim for claim in claims if studies.issuperset(_studies(claim))]
    if ROLE not in {claim.role for claim in claims}:
        return None
    table = pd.DataFrame(list(rows)).assign(**{Column.METHOD: method, Column.LABEL: method})
    tables = {name: Measured(name, table) for name in studies}
    count = sum(len(_judged(claim, tables, method, 0.25)) for claim in claims)
    level = ErrorRate().total / max(count, 1)
    broken, kept, undecided = [], [], []
    for claim in claims:
        judgements = _judged(claim, tables, method, level)
        verdict = judging.decide(one.comparison for one in judgements)
        if verdict == "fails":
            failed = [one.comparison for one in judgements if one.comparison.verdict == "fails"]
            worst = min(failed, key=lambda comparison: comparison.slack)
            broken.append(f"{claim.id} ({worst.case or page.ONLY}: {page.numbers(vars(worst))})")
        elif verdict == "holds" and judgements and not conditions.missing(claim, tables, method):
            kept.append(claim.id)
        else:
            undecided.append(claim.id)
    return ContractVerdict(method, broken, kept, undecided)


def _studies(claim: Claim) -> set[str]:
    return {study for check in claim.checks for study in check.studies}


def _judged(claim: Claim, tables: Mapping[str, Measured], method: str, level: float) -> list[Judgement]:
    return compare(judging.selections(claim, tables, method), lambda _: level)
