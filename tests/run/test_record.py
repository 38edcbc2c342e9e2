"""Records: whole or refused."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sketchbench.run.record import Record, RecordError, read, write

ROWS = [{"quantity": "a", "mean": 1.5, "trials": 3}, {"quantity": "b", "mean": 2.5, "bound": 1.0}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "one.parquet"
    write(path, Record(ROWS, {"signature": "abc", "config": {"d": 3}}))
    return path


def test_round_trip(path: Path) -> None:
    record = read(path)
    assert record.rows[0] == {**ROWS[0], "bound": None}
    assert record.rows[1] == {**ROWS[1], "trials": None}
    assert record.provenance["config"] == {"d": 3}
    assert read(path, "abc") == record
    with pytest.raises(RecordError, match="other code"):
        read(path, "abd")


def test_a_missing_record(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such record"):
        read(tmp_path / "none", "abc")


def test_edited_provenance_is_noticed(path: Path) -> None:
    table = pq.read_table(path)
    stamp = table.schema.metadata[b"sketchbench"].replace(b'"d": 3', b'"d": 4')
    pq.write_table(table.replace_schema_metadata({b"sketchbench": stamp}), path)
    with pytest.raises(RecordError, match="checksum"):
        read(path)


def test_a_foreign_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"mean": [1.0]}), path)
    with pytest.raises(RecordError, match="not a whole record"):
        read(path)
    for stamp in (b"[]", b"3", b"null", b"{}", b"[" * 9999):
        pq.write_table(pa.table({"mean": [1.0]}).replace_schema_metadata({b"sketchbench": stamp}), path)
        with pytest.raises(RecordError, match=r"not a whole record|schema None is not 1"):
            read(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_numbers_are_refused(tmp_path: Path, value: float) -> None:
    path = tmp_path / "one.parquet"
    with pytest.raises(RecordError, match="mean of row 0"):
        write(path, Record([{"mean": value}], {}))
    with pytest.raises(RecordError, match="without rows"):
        write(path, Record([], {}))
    assert list(tmp_path.iterdir()) == []


def test_every_kind_of_value_comes_back(tmp_path: Path) -> None:
    """Numbers exactly, large and small; text that looks like a date stays text; a gap stays one."""
    rows = [
        {
            "a": 1,
            "b": 0.1 + 0.2,
            "c": "2026-01-01T00:00:00",
            "d": True,
            "e": None,
            "f": 2**62,
            "g": 0,
        },
        {"a": 2, "b": 5e-324, "c": 'quote " and \n line', "d": None, "e": None, "f": -1, "g": 0.5},
        {"a": None, "b": -1.7e308, "c": "ε", "d": False, "e": None, "f": 0, "g": None},
    ]
    path = tmp_path / "r.parquet"
    write(path, Record(rows, {"signature": "s"}))
    assert read(path).rows == rows


def test_values_of_two_kinds_in_a_column(tmp_path: Path) -> None:
    rows = [{"a": 1}, {"a": "one"}]
    with pytest.raises(TypeError, match="column a has values of int, str; they must be of one kind"):
        write(tmp_path / "r.parquet", Record(rows, {}))
    assert not list(tmp_path.iterdir())
