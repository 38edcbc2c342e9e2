"""From what `make bench` measured to its table and its figure."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sketchbench.report import seal
from sketchbench.report.figure import benchmarks as figure
from sketchbench.report.table import benchmarks as table
from sketchbench.report.table.reading import TableError

SIZES = [2**14, 2**18, 2**20]


def benchmark(group: str, name: str, seconds: float, d: int, ours: str | None = None, **more: Any) -> dict[str, Any]:
    info = {"name": name, "dtype": "float64", "d": d, "b": None, "rows": 1, "ours": ours}
    stats = {"min": seconds, "median": 1.5 * seconds, "rounds": 7}
    extra_info = {**info, "copy_seconds": 1e-9 * d, **more}
    return {"group": group, "extra_info": extra_info, "stats": stats}


@pytest.fixture
def report() -> dict[str, Any]:
    """A transform that grows as d, a peer three times as slow, and one as d^2 on top of it."""
    found = []
    for d in SIZES:
        found += [
            benchmark("copy", "copyto", 1e-9 * d, d),
            benchmark("transform", "walsh_hadamard", 2e-9 * d, d),
            benchmark("transform", "scipy.fft.dct", 6e-9 * d, d, "walsh_hadamard"),
            benchmark("transform", "walsh_hadamard.1_thread", 4e-9 * d, d, threads=1),
            benchmark("transform", "gcc.walsh_hadamard", 4e-9 * d, d, "walsh_hadamard.1_thread", threads=1),
            benchmark("gradient", "srht", 5e-9 * d, d, b=d // 16),
            benchmark("top_k", "largest", 1e-15 * d**2, d, b=d // 4),
            benchmark("top_k", "torch.topk", 5e-16 * d**2, d, "largest", b=d // 4),
            benchmark("recovery", "fiht", 1e-7 * d, d, b=d // 2, iterations=4.5),
        ]
    code = {"b": 2**13, "dtype": "float32"}
    found += [
        benchmark("eden", "EDEN, 1 bit", 1e-3, 2**18, **code),
        benchmark("eden", "srrcomp.EDEN, 1 bit", 2e-2, 2**18, "EDEN, 1 bit", **code),
    ]
    paper = {"b": 334_213, "iterations": 4.0}
    found += [
        benchmark("recovery", "fiht.paper", 0.1, 668_426, **paper),
        benchmark("recovery", "fiht.paper", 1.0, 668_426, **paper, rows=20),
    ]
    memory = benchmark("memory", "gaussian", 30.0, 668_426, values={"peak_mib": 250.0})
    machine = {"kernels": "numba", "device": "A processor", "threads": 2}
    return {"machine_info": {"sketchbench": machine}, "benchmarks": [*found, memory]}


def written(report: object, folder: Path) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    csv = folder / "deep" / "benchmarks.csv"
    table.table_of(path, csv)
    return csv


def test_the_table(report: dict[str, Any], tmp_path: Path) -> None:
    rows = pd.read_csv(written(report, tmp_path), dtype_backend="numpy_nullable")
    assert list(rows) == table.COLUMNS
    assert set(rows["device"]) == {"A processor"}
    ours, peer = (rows[rows["name"] == name] for name in ("walsh_hadamard", "scipy.fft.dct"))
    assert ours["copies"].tolist() == pytest.approx([2, 2, 2])
    assert peer["peer_ratio"].tolist() == pytest.approx([3, 3, 3])
    assert peer["d"].tolist() == SIZES
    assert ours["peer_ratio"].isna().all()
    assert rows.loc[rows["name"] == "torch.topk", "peer_ratio"].tolist() == pytest.approx([0.5] * 3)
    assert rows.loc[rows["name"] == "fiht", "iterations"].tolist() == [4.5] * 3


def test_threads_of_a_benchmark(report: dict[str, Any], tmp_path: Path) -> None:
    """Its own where it says so, else those of the run; a function on one thread is compared with C on one."""
    rows = pd.read_csv(written(report, tmp_path))
    alone = rows["name"].isin(["walsh_hadamard.1_thread", "gcc.walsh_hadamard"])
    assert set(rows.loc[alone, "threads"]) == {1}
    assert set(rows.loc[~alone & (rows["group"] != "growth"), "threads"]) == {2}
    assert rows.loc[rows["name"] == "gcc.walsh_hadamard", "peer_ratio"].tolist() == pytest.approx([1, 1, 1])


def test_derived_rows(report: dict[str, Any], tmp_path: Path) -> None:
    rows = pd.read_csv(written(report, tmp_path))
    values = rows.dropna(subset="value").set_index("name")["value"].to_dict()
    assert values.pop("recovery.fiht") == pytest.approx(1)
    assert values.pop("top_k.largest") == pytest.approx(2)
    assert values.pop("fiht.paper.in_transforms") == pytest.approx(0.1 / (2e-9 * 2**20), rel=1e-5)
    assert values.pop("fiht.paper.seconds_per_signal_of_batch") == pytest.approx(0.05)
    assert values.pop("fiht.paper.signal_of_batch_over_alone") == pytest.approx(0.5)
    assert values.pop("gaussian.peak_mib") == 250
    assert all("." in name for name in values)
    assert set(rows.loc[rows["value"].notna(), "group"]) == {"growth", "memory", "derived"}


def test_sizes_are_written_out(report: dict[str, Any], tmp_path: Path) -> None:
    report["benchmarks"].append(benchmark("top_k", "largest", 1.0, 2**22, b=2**21))
    assert ",4194304,2097152,1," in written(report, tmp_path).read_text()


def test_peers_of_single_precision_alone_are_drawn(report: dict[str, Any], tmp_path: Path) -> None:
    rows = pd.read_csv(written(report, tmp_path))
    texts = {label.get_text() for axes in figure.plot(rows).axes for label in axes.get_yticklabels()}
    assert {"srrcomp EDEN, 1 bit", "torch topk"} <= texts


def test_the_figure(report: dict[str, Any], tmp_path: Path) -> None:
    csv = written(report, tmp_path)
    pictures = []
    for name in ("one", "two"):
        svg, png = tmp_path / f"{name}.svg", tmp_path / f"{name}.png"
        figure.figure_of(csv, svg, png)
        assert png.read_bytes().startswith(b"\x89PNG")
        pictures.append(svg.read_bytes())
    assert pictures[0] == pictures[1]
    assert len(list(ET.fromstring(pictures[0]).iter())) > 100


@pytest.mark.parametrize("kept", ["copy", "transform", "top_k", "memory"])
def test_a_figure_of_a_part(report: dict[str, Any], tmp_path: Path, kept: str) -> None:
    """`make bench ARGS="-k ..."` times some of all."""
    report["benchmarks"] = [one for one in report["benchmarks"] if one["group"] == kept]
    csv, svg = written(report, tmp_path), tmp_path / "part.svg"
    figure.figure_of(csv, svg, tmp_path / "part.png")
    assert svg.is_file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no report of make bench: it must be JSON: Expecting property name"),
        ("[]", "it lacks what tests/benchmark writes"),
        ("{}", "KeyError"),
        ('{"machine_info": {"sketchbench": {}}, "benchmarks": []}', "KeyError"),
        (None, "No such file"),
    ],
)
def test_no_report(tmp_path: Path, text: str | None, message: str) -> None:
    path, csv = tmp_path / "report.json", tmp_path / "benchmarks.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises((table.ReportError, FileNotFoundError), match=message) as stopped:
        table.table_of(path, csv)
    assert "\n" not in str(stopped.value)
    assert not csv.exists()


def test_a_report_without_benchmarks(report: dict[str, Any], tmp_path: Path) -> None:
    report["benchmarks"] = []
    with pytest.raises(table.ReportError, match="it has no benchmarks"):
        written(report, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("d\n1\n", "lacks the columns copies"), ("", "can't read"), (None, "is not there; run make bench")],
)
def test_no_table(tmp_path: Path, text: str | None, message: str) -> None:
    csv = tmp_path / "benchmarks.csv"
    if text is not None:
        csv.write_text(text)
        seal.write("benchmarks", "", {}, [csv])
    with pytest.raises((TableError, seal.SealError), match=message):
        figure.figure_of(csv, Path("x.svg"), Path("x.png"))
