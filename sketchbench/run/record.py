"""The result of one run on disk: tidy rows plus where they come from, in one Parquet file.

A record carries a checksum of its rows and provenance. Reading verifies it, so a truncated or edited
file is an error, never data. Writing is atomic: a reader finds the old file, the new one, or none.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.json import ParseOptions, ReadOptions, read_json

from sketchbench.base.files import write_bytes

SCHEMA = 1
_FIELD = b"sketchbench"


class RecordError(ValueError):
    """A damaged or foreign record; the message names the file and its fault."""


# Types of columns, each with the types of values that it holds; a column has the first one that holds all its values.
TYPES = (
    (pa.null(), set[type]()),
    (pa.bool_(), {bool}),
    (pa.int64(), {int}),
    (pa.float64(), {int, float}),
    (pa.string(), {str}),
)


@dataclass(frozen=True)
class Record:
    """The rows of one run, and their provenance: signature of config and code, the resolved config, versions, commit,
    kernels, machine, seconds and memory."""

    rows: Sequence[Mapping[str, Any]]
    provenance: dict[str, Any]


def write(path: Path, record: Record) -> None:
    """Write a record atomically.

    Raises:
        RecordError: for no rows or a non-finite number in them.
        FileError: (an OSError) where it can't be written.
    """
    if not record.rows:
        raise RecordError(f"{path}: a run without rows is no result")
    columns = list(dict.fromkeys(name for row in record.rows for name in row))
    for number, row in enumerate(record.rows):
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise RecordError(f"{path}: {name} of row {number} is {value}; it must be finite")
    table = _table([{name: row.get(name) for name in columns} for row in record.rows])
    provenance = {"schema": SCHEMA, **record.provenance}
    stamp = json.dumps({**provenance, "checksum": _checksum(table.to_pylist(), provenance)})
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({_FIELD: stamp.encode()}), sink)
    write_bytes(path, sink.getvalue().to_pybytes())


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """The rows as a table, by way of JSON: `pa.Table.from_pylist` imports pandas, a fifth of a second that
    every job would pay. Raises TypeError for a value that is no number, text or truth value."""
    columns = {name: {type(row[name]) for row in rows} - {type(None)} for name in rows[0]}
    fields = []
    for name, kinds in columns.items():
        fitting = [arrow for arrow, types in TYPES if kinds <= types]
        if not fitting:
            listed = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise TypeError(f"column {name} has values of {listed}; they must be of one kind")
        fields.append(pa.field(name, fitting[0]))
    lines = "\n".join(map(json.dumps, rows)).encode()
    return read_json(
        pa.BufferReader(lines), ReadOptions(block_size=len(lines) + 1), ParseOptions(explicit_schema=pa.schema(fields))
    )


def read(path: Path, signature: str | None = None) -> Record:
    """Read and verify a record.

    Raises:
        RecordError: for a file that is no intact record, or has another signature than the given one.
    """
    return _verified(path, path, signature)


def parse(content: bytes, path: Path) -> Record:
    """Parse and verify the content of a record's file, whose path is for messages; errors as of `read`."""
    return _verified(pa.BufferReader(content), path)


def _verified(source: Any, path: Path, signature: str | None = None) -> Record:
    try:
        with pq.ParquetFile(source) as file:  # pq.read_table imports pandas
            table = file.read()
        stamp = json.loads((table.schema.metadata or {})[_FIELD])
        rows = table.to_pylist()
    except FileNotFoundError:
        raise RecordError(f"{path}: no such record") from None
    except (OSError, pa.ArrowException, KeyError, ValueError, RecursionError) as error:
        raise RecordError(f"{path}: not a whole record ({type(error).__name__})") from None
    if not isinstance(stamp, dict):
        raise RecordError(f"{path}: not a whole record (its provenance is a {type(stamp).__name__})")
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


def trials(provenance: Mapping[str, Any], planned: int) -> int:
    """The number of trials behind a joined run's record: the planned number, unless its provenance lists fewer."""
    return len(provenance.get("trials", range(planned)))


def _checksum(rows: list[dict[str, Any]], provenance: dict[str, Any]) -> str:
    text = json.dumps([rows, provenance], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
