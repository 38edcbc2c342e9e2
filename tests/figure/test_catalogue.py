"""The catalogue of figures: what it says of each, what it refuses, and that figures do not depend on each other."""

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from published import reports as published

from sketchbench.report.figure import drawing, foot
from sketchbench.report.figure.catalogue import FOLDER, INTERVALS, Entry, available, read_catalogue
from sketchbench.run.config.chapters import named
from sketchbench.run.config.schema import SchemaError
from sketchbench.run.digest import CodeDigest

CATALOGUE = read_catalogue()
ROOT = Path(__file__).parents[2]
STUDIES = set(named(FOLDER.parent, "study"))
WORDS = {"title": "It grows.", "caption": "What it shows.", "data": "pairs of vectors"}
CONTENT = {"function": "families.plot_growth", "studies": ["growth"], **WORDS}


def write(folder: Path, **changes: Any) -> Path:
    path = folder / "mine.yaml"
    content = {key: value for key, value in {**CONTENT, **changes}.items() if value is not None}
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_an_entry(entry: Entry) -> None:
    assert set(entry.studies) <= STUDIES
    plot = getattr(importlib.import_module(entry.module), entry.function.partition(".")[2])
    inspect.signature(plot).bind({}, **entry.arguments)


def test_what_an_entry_says(tmp_path: Path) -> None:
    write(tmp_path)
    assert read_catalogue(tmp_path) == {"mine": Entry("families.plot_growth", ("growth",), **WORDS)}


def test_the_sentence_on_intervals(tmp_path: Path) -> None:
    write(tmp_path, bars="simultaneous")
    assert read_catalogue(tmp_path)["mine"].caption == f"What it shows. {INTERVALS}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function": "painting.plot"}, "function=painting.plot is unknown; choose one of compressed_training.plot"),
        ({"function": None}, "'function' is a required property"),
        ({"caption": None}, "'caption' is a required property"),
        ({"caption": ""}, "at caption: "),
        ({"studies": []}, "at studies: "),
        ({"studies": "growth"}, "at studies: 'growth' is not of type 'array'"),
        ({"arguments": ["blocks"]}, "at arguments: "),
        ({"data": None}, "'data' is a required property"),
        ({"bars": "yes"}, "at bars: 'yes' is not one of "),
        ({"scales": {"paper": {"function": "families.plot_growth"}}}, "at scales/paper: "),
        ({"heading": "Growth"}, "'heading' was unexpected"),
        ({"title": ""}, "at title: "),
    ],
)
def test_a_wrong_entry(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path, **changes)
    with pytest.raises(SchemaError) as caught:
        read_catalogue(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["function: [", "function: a: b", "- growth", ""])
def test_a_file_that_is_no_entry(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        read_catalogue(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_arguments_that_the_module_does_not_take() -> None:
    entry = Entry("families.plot_growth", ("growth",), **WORDS, arguments={"blocks": {}})
    with pytest.raises(SchemaError, match=r"arguments of figure\.families\.plot_growth: .*'blocks'"):
        drawing.plot(entry, {})


def test_no_figure_shows_a_control() -> None:
    """At one size both would be one broken curve: sparse_gradients drew what recovers nothing into that of FIHT."""
    name = "sparse_gradients"
    tables = {study: pd.read_csv(published() / "tables" / f"{study}.csv") for study in CATALOGUE[name].studies}
    assert tables[name]["method"].str.startswith("control/").any()
    loss = drawing.plot(CATALOGUE[name], tables).axes[0]
    assert all(np.all(np.diff(line.get_xdata()) > 0) for line in loss.lines if len(line.get_xdata()) > 2)


def copied(folder: Path) -> dict[str, Entry]:
    for path in FOLDER.rglob("*.yaml"):
        (folder / path.name).write_bytes(path.read_bytes())
    return read_catalogue(folder)


@pytest.mark.parametrize(
    ("figure", "old", "new"),
    [
        ("growth", "bounded", "limited"),  # the caption
        ("inversion", "noise: noise", "noise: Gaussian noise"),  # the arguments
        ("leakage", "spectrum]", "spectrum, growth]"),  # the studies
        ("training_mnist", "function: training.plot", "function: training.plot_roc"),
    ],
)
def test_an_edit_changes_one_figure_only(tmp_path: Path, figure: str, old: str, new: str) -> None:
    before = {name: (entry.caption, entry.digest(CodeDigest())) for name, entry in copied(tmp_path).items()}
    path = tmp_path / f"{figure}.yaml"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    after = {name: (entry.caption, entry.digest(CodeDigest())) for name, entry in read_catalogue(tmp_path).items()}
    assert {name for name in before if before[name] != after[name]} == {figure}
    assert before[figure][1] != after[figure][1]


def test_an_entry_at_a_scale(tmp_path: Path) -> None:
    write(
        tmp_path,
        arguments={"a": 1, "b": 2},
        scales={"paper": {"title": "It falls.", "data": "MNIST", "arguments": {"b": 3}}},
    )
    entry = read_catalogue(tmp_path)["mine"]
    assert (entry.at("quick").data, entry.at("quick").arguments) == ("pairs of vectors", {"a": 1, "b": 2})
    assert (entry.at("quick").title, entry.at("paper").title) == ("It grows.", "It falls.")
    assert (entry.at("paper").data, entry.at("paper").arguments) == ("MNIST", {"a": 1, "b": 3})


def test_what_is_available() -> None:
    assert available(CATALOGUE, ["growth", "inner_products"]) == ["growth"]
    assert available(CATALOGUE, ["growth", "norms"], changed=["norms", "tails"]) == ["squared_norm"]


def test_no_module_reads_the_catalogue() -> None:
    folder = Path(drawing.__file__).parent
    assert {path.name for path in folder.glob("*.py") if "figure.catalogue" in path.read_text()} == {"drawing.py"}


def heads(name: str, scale: str, **changes: Any) -> str:
    """The words at the top of a figure that is drawn from the published tables, with changes of their columns."""
    read = {study: pd.read_csv(published() / "tables" / f"{study}.csv") for study in CATALOGUE[name].studies}
    figure = drawing.plot(CATALOGUE[name], {study: table.assign(**changes) for study, table in read.items()}, scale)
    return " ".join(text.get_text() for text in figure.texts if text.get_position()[1] > 0.5).replace("\n", " ")


def test_the_title_stands_over_the_figure() -> None:
    """It says what is seen of the project's methods, where something is measured."""
    assert heads("units", "quick") == CATALOGUE["units"].title
    assert heads("units", "smoke") == ""
    assert heads("units", "quick", method="mine") == ""


def test_lines_of_a_title_are_about_equally_long() -> None:
    for entry in CATALOGUE.values():
        lines = foot._balanced(entry.title, 95)
        assert " ".join(lines) == entry.title
        assert len(lines) <= 2
        assert min(map(len, lines)) > 0.6 * max(map(len, lines))
