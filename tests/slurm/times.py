"""What of the results of two runs may differ, since a clock measured it: rows of records, and what stands apart."""

from collections.abc import Mapping
from typing import Any

from sketchbench.report.seal import UNSEALED
from sketchbench.report.table.times import FOLDER, QUANTITIES

APART = (f"tables/{FOLDER}/", UNSEALED)  # times of tables, and the verdicts on them
PAGES = ("claims.md", "seals.jsonl")  # that count or name the verdicts on times, too


def without(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Reports' bytes and records' rows and signatures by path, without measured times."""
    kept = {name: content for name, content in outcome.items() if not name.startswith((*APART, *PAGES))}
    return {name: _record(content) if isinstance(content, tuple) else content for name, content in kept.items()}


def _record(stored: tuple[list[dict[str, Any]], str]) -> Any:
    rows, signature = stored
    return [row for row in rows if row["quantity"] not in QUANTITIES], signature
