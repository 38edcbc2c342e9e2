"""The result of one run on disk: tidy rows plus where they come from, in one Parquet file.

A record carries a checksum of its rows and provenance. Reading verifies it, so a truncated or edited
file is an error, never data. Writing is atomic: a reader finds the old file, the new one, or none.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sketchbench.files import atomically

SCHEMA = 1
_FIELD = b"sketchbench"


class RecordError(ValueError):
    """A record that can't be trusted; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Record:
    """Rows of one run, and their provenance: `signature` (of config and code, see `plan`), the
    frozen `config`, versions, commit, kernels, machine, wall time."""

    rows: list[dict[str, Any]]
    provenance: dict[str, Any]


def write(path: Path, record: Record) -> None:
    """Write a record atomically. Raises RecordError for no rows or a non-finite number in them."""
    if not record.rows:
        raise RecordError(f"{path}: a run without rows is no result")
    columns = list(dict.fromkeys(name for row in record.rows for name in row))
    for number, row in enumerate(record.rows):
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise RecordError(f"{path}: {name} of row {number} is {value}; it must be finite")
    rows = [{name: row.get(name) for name in columns} for row in record.rows]
    table = pa.Table.from_pylist(rows)
    provenance = {"schema": SCHEMA, **record.provenance}
    stamp = json.dumps({**provenance, "checksum": _checksum(table.to_pylist(), provenance)})
    with atomically(path) as temporary:
        pq.write_table(table.replace_schema_metadata({_FIELD: stamp.encode()}), temporary)


def read(path: Path, signature: str | None = None) -> Record:
    """Read and verify a record. Raises RecordError for anything but an intact one, and, where a
    signature is given, for one that bears another."""
    try:
        table = pq.read_table(path)
        stamp = json.loads((table.schema.metadata or {})[_FIELD])
        rows = table.to_pylist()
    except FileNotFoundError:
        raise RecordError(f"{path}: no such record") from None
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise RecordError(f"{path}: not a whole record ({type(error).__name__})") from None
    checksum = stamp.pop("checksum", None)
    if stamp.get("schema") != SCHEMA:
        raise RecordError(f"{path}: schema {stamp.get('schema')} is not {SCHEMA}")
    try:
        sound = checksum == _checksum(rows, stamp)
    except (TypeError, ValueError):  # a damaged schema may turn text into bytes
        sound = False
    if not sound:
        raise RecordError(f"{path}: the checksum does not fit the contents; the file was changed")
    if signature is not None and stamp.get("signature") != signature:
        raise RecordError(f"{path}: made from another config or other code than planned")
    return Record(rows, stamp)


def _checksum(rows: list[dict[str, Any]], provenance: dict[str, Any]) -> str:
    text = json.dumps([rows, provenance], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
