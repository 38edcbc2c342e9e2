"""Judging all claims by all tables: verdicts as CSV and Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sketchbench import seal
from sketchbench.claim import history, page
from sketchbench.claim.check import differences
from sketchbench.claim.claims import check_studies, read_claims
from sketchbench.claim.erratum import read_errata
from sketchbench.claim.evaluate import evaluate
from sketchbench.claim.markup import to_markdown
from sketchbench.claim.origin import origin_of, with_origin
from sketchbench.command_line import json_of
from sketchbench.files import write_text
from sketchbench.reports import judged_from
from sketchbench.table.reading import COLUMNS, read_table

FACTS = {"scale": str, "kernels": str, "seed": int, "skipped": list, "studies": list}


def judge(
    tables: Sequence[Path],
    claims: Sequence[Path],
    errata: Sequence[Path],
    facts: str,
    *,
    csv: Path,
    markdown: Path,
) -> list[str]:
    """Write the verdicts on all claims, and seal them.

    Arguments:
        tables: CSV by study, sealed.
        claims: YAML files.
        errata: YAML files.
        facts: what `planned.Plan.facts` says, as JSON.
        csv, markdown: the files to write.

    Returns:
        A line for each verdict that is not the expected one.

    Raises:
        ValueError: in one line, for a file that is not what it must be.
        FileError: (an OSError) where one can't be written.
    """
    known = _facts(facts)
    read = read_claims(claims)
    check_studies(read, known["studies"])
    mistakes = read_errata(errata, read)
    frames = {path.stem: read_table(path, COLUMNS, kind="table", scale=known["scale"]) for path in tables}
    whole, kinds = known.get("whole", True), known.get("kinds", {})
    older = known.get("older", {})
    absent = known.get("absent", {})
    found, comparisons = evaluate(read, frames, known["scale"], whole=whole, kinds=kinds, older=older, absent=absent)
    verdicts = with_origin(found, read, origin_of(tables, older))
    write_text(csv, verdicts.to_csv(index=False, float_format="%.8g", lineterminator="\n"))
    blocks = page.content(read, verdicts, known, comparisons, mistakes)
    write_text(markdown, to_markdown(blocks))
    made_of = judged_from(seal.sums(tables), facts)
    seal.write("claims", known["scale"], made_of, [csv, markdown])
    history.append(csv, verdicts, known["scale"])
    return differences(verdicts)


def _facts(text: str) -> dict[str, Any]:
    """What `planned.Plan.facts` says; ValueError where it is something else."""
    facts = json_of(text, "--facts")
    optional = {key: dict for key in ("kinds", "older", "absent") if isinstance(facts, dict) and key in facts}
    for key, kind in {**FACTS, **optional}.items():
        if not isinstance(facts, dict) or not isinstance(facts.get(key), kind):
            raise ValueError(f"--facts needs {key}, of type {kind.__name__}; Snakemake makes them of the plan")
    return facts
