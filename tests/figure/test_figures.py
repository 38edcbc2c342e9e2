"""Every figure draws itself from real tables of any size, the same way each time."""

import ast
import itertools
import re
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from once import made_once
from weekly import weekly
from whole_plan import whole_plan

from sketchbench.command.main import main
from sketchbench.report import seal
from sketchbench.report.figure import drawing, foot, frontier, losses, saving, style
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.figure.theme import theme
from sketchbench.run.config.chapters import named
from sketchbench.run.config.study import NO_METHOD
from sketchbench.run.execution import execute

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"
CATALOGUE = read_catalogue()
KEPT = (  # sketches and recoveries; count_sketch is both
    "gaussian",
    "count_sketch",
    "balanced_count_sketch",
    "uniform_sampling",
    "identity",
    "block_sparse_embedding",
    "srht",
    "fiht",
    "iht",
    NO_METHOD,
)

MOST_TRIALS = 10


@cache
def table(study: str) -> pd.DataFrame:
    """The table of a study at smoke scale, for some methods and very few trials."""
    return made_once(f"table-{study}", lambda: made_table(study))


def made_table(study: str) -> pd.DataFrame:
    frames = []
    for run in whole_plan("smoke").runs[study].values():
        if run.columns["method"] not in KEPT:
            continue
        task = run.config["task"]
        if "trials" in task:
            task = {**task, "trials": min(MOST_TRIALS, task["trials"])}
        frame = pd.DataFrame(execute({**run.config, "task": task}))
        for position, (name, value) in enumerate(run.columns.items()):
            frame.insert(position, name, frame.pop(name) if name in frame else value)
        frames.append(frame.dropna(axis="columns", how="all"))
    return pd.concat(frames, ignore_index=True)


def tables(figure: str) -> dict[str, pd.DataFrame]:
    return {study: table(study).copy() for study in CATALOGUE[figure].studies}


def draw(figure: str, given: dict[str, pd.DataFrame], path: Path) -> bytes:
    """The picture, of axes settled as the command does: else names of clip paths differ by a layout's last bit."""
    drawn = drawing.plot(CATALOGUE[figure], given)
    saving._settle(drawn)
    drawn.savefig(path, metadata={"Date": None})
    return path.read_bytes()


def one_at_a_time(study: str) -> bool:
    """Whether a trial of the study is a run of its own, so that a table may have a single one."""
    return bool(
        yaml.safe_load(named(CONF, "study")[study].read_text()).get("scales", {}).get("paper", {}).get("trials")
    )


SINGLE = [name for name in CATALOGUE if any(map(one_at_a_time, CATALOGUE[name].studies))]


@pytest.mark.parametrize("figure", weekly(SINGLE, lambda name: name not in SINGLE[::3]))
def test_a_figure_of_a_single_trial(figure: str) -> None:
    """Without a standard deviation there is no interval."""
    single = {"trials": 1, "sd": np.nan, "skewness": np.nan}
    given = {study: frame.assign(**single) for study, frame in tables(figure).items()}
    for frame in given.values():
        if "count" in frame:
            frame["count"] = frame["count"].clip(upper=1)
        for name in {"minimum", "maximum"} & {*frame}:
            frame[name] = frame["mean"]
    assert drawing.plot(CATALOGUE[figure], given).axes


@pytest.mark.parametrize("figure", CATALOGUE)
def test_a_figure(figure: str, tmp_path: Path) -> None:
    """It is the same each time, which one figure of each function shows."""
    picture = draw(figure, tables(figure), tmp_path / "one.svg")
    assert len(list(ET.fromstring(picture).iter())) > 100
    function = CATALOGUE[figure].function
    if figure == next(name for name, entry in CATALOGUE.items() if entry.function == function):
        assert draw(figure, tables(figure), tmp_path / "two.svg") == picture


@pytest.mark.parametrize("figure", CATALOGUE)
def test_a_figure_of_one_unknown_family(figure: str) -> None:
    """A user's family has no colour of its own, and perhaps neither exact values nor bounds: it is laid out."""
    given = tables(figure)
    for study, frame in given.items():
        one = frame[frame["method"] == frame["method"].iloc[0]].copy()
        one["method"], one["label"] = "mine", "My family"
        for column in ("exact", "bound"):
            if column in one and not (one["quantity"] == "exceedance").any():
                one[column] = float("nan")
        given[study] = one
    drawn = drawing.plot(CATALOGUE[figure], given)
    saving._settle(drawn)
    assert drawn.axes


def test_looks_of_recoveries() -> None:
    """Each of the project's recoveries has a look, no two the same; one name is also a sketch's."""
    names = sorted(path.stem for path in (ROOT / "conf" / "recovery").glob("*.yaml"))
    styles = style.methods(pd.DataFrame({"method": names, "label": names}), looks=style.RECOVERY_LOOKS)
    assert {look.group for look in styles} == {"Recoveries"}
    assert len({(look.colour, look.marker, look.filled) for look in styles}) == len(names)


def test_the_foot(tmp_path: Path) -> None:
    """It names scale, sizes, trials, data, and what bars are, which follows from the number of trainings."""
    frame = pd.DataFrame({"d": [64, 512], "b": [16, 16], "trials": [3, 3]})
    start = "Scale: paper (d = 64 to 512, b = 16, 3 trials). Data: MNIST. Bars and bands: "
    assert foot.text("paper", [frame], "MNIST", "few") == f"{start}{foot.BARS['range']}."
    assert foot.text("paper", [frame], "MNIST", "simultaneous") == f"{start}{foot.BARS['simultaneous']}."
    assert foot.bars("few", [frame.assign(trials=24)]) == foot.BARS["simultaneous"]
    assert foot.bars("simultaneous", [frame.assign(trials=1)]) == foot.BARS["single"]


def test_limits_hold_means_without_an_interval() -> None:
    axes = style.new_figure(1.0).subplots()
    nan = float("nan")
    rows = pd.DataFrame({"mean": [1.0, 5.0], "low": [0.9, nan], "high": [1.1, nan]})
    style.limits(axes, rows, include=1)
    assert axes.get_ylim()[1] > 5
    style.limits(axes, rows.iloc[1:], include=1)
    assert axes.get_ylim()[1] > 5


@pytest.mark.parametrize(("value", "text"), [(20888 / 1040, "20"), (1.25003, "1.25"), (1.37, "1.37"), (12.34, "12.3")])
def test_the_text_of_a_compression(value: float, text: str) -> None:
    assert style.compression(value) == text


def test_the_command_writes_both_formats(tmp_path: Path) -> None:
    path = tmp_path / "growth.csv"
    table("growth").to_csv(path, index=False)
    seal.write("table", "quick", {"records": ""}, [path])
    svg, png = tmp_path / "deep" / "growth.svg", tmp_path / "deep" / "growth.png"
    main(["step", "figure", "growth", str(path), "--svg", str(svg), "--png", str(png)])
    assert svg.read_text().startswith("<?xml")
    assert "<title>Growth</title>" in svg.read_text()
    assert "uniform sampling grows with the dimension" in svg.read_text()
    assert seal.content(png, "figure", "quick").startswith(b"\x89PNG")


def test_a_missing_table(tmp_path: Path) -> None:
    path = tmp_path / "norms.csv"
    table("norms").to_csv(path, index=False)
    seal.write("table", "quick", {}, [path])
    with pytest.raises(SystemExit, match="figure growth needs the tables of growth"):
        main(["step", "figure", "growth", str(path), "--svg", "x.svg", "--png", "x.png"])


def test_the_theme_is_seaborns() -> None:
    """Ours says all that seaborn's does, which is not imported for it, but for what no figure uses."""
    ours = theme(style.INK, style.COLOURS)
    seaborns = {**sns.axes_style("ticks"), **sns.plotting_context("paper")}
    said = {key: value for key, value in seaborns.items() if mpl.rcParamsDefault[key] != value}
    assert said.keys() - ours.keys() == {"font.sans-serif", "image.cmap"}
    for key in ("lines.linewidth", "lines.markersize", "patch.linewidth"):
        assert ours[key] == pytest.approx(seaborns.get(key, mpl.rcParamsDefault[key])), key


@examples(30)
@given(wanted=st.lists(st.floats(0, 1), min_size=1, max_size=12).map(sorted), least=st.floats(0.001, 0.2))
def test_labels_at_the_ends_of_lines_do_not_overlap(wanted: list[float], least: float) -> None:
    placed = style.apart(np.array(wanted), least)
    assert placed.min() >= -1e-12
    assert (np.diff(placed) >= least - 1e-9).all()
    if (np.diff(wanted) >= least).all():
        assert placed == pytest.approx(wanted)  # those that are apart stay


def test_looks_of_compressors() -> None:
    """Each of the project's compressors has a look of its own, in colour and without: no marker stands twice."""
    names = sorted(path.stem for path in (CONF / "compressor").glob("*.yaml"))
    looks = style.methods(pd.DataFrame({"method": names, "label": names}), looks=style.COMPRESSOR_LOOKS)
    assert {look.group for look in looks} == {"Compressors"}
    assert len({(look.marker, look.filled) for look in looks}) == len(names)
    assert not {(look.marker, look.colour, look.filled) for look in looks} & set(style.SPARE)
    for name in ("srht", "count_sketch", "gaussian"):
        assert style.COMPRESSOR_LOOKS[name][1] == style.LOOKS[name][1]


def test_points_of_the_frontier_stand_at_their_bytes() -> None:
    columns = {"method": "top_k", "label": "Top-K", "compression": 4.0, "case": "iid", "d": 100}
    accuracy = {**columns, "quantity": "accuracy", "mean": 0.9, "sd": 0.01, "skewness": 0.0, "trials": 24}
    accuracy |= {"bytes_up": 40, "bytes_down": 300}
    target = {**columns, "quantity": "rounds_to_target", "value": 7.0}
    drawn = frontier.plot({"frontier": pd.DataFrame([accuracy, target])}, ["round", "target"])
    points = [
        {(float(x), round(float(y), 9)) for line in axes.lines for x, y in zip(*line.get_data(), strict=True)}
        for axes in drawn.axes
    ]
    for place, nbytes in enumerate((40, 300, 340)):
        assert (nbytes, 0.1) in points[place]
        assert (7 * nbytes, 7.0) in points[3 + place]


# Every colour that a figure draws with stands out from its background: a contrast of 3 at least, as WCAG asks


FOLDER = Path(style.__file__).parent
LEAST = 3.0
WRITTEN = re.compile(
    r"#[0-9a-fA-F]{6}|0\.\d+|black|gray|grey|(tab:)?(blue|orange|green|red|purple|brown|pink|olive|cyan)"
)
BEHIND = {"0.9"}  # of the grid, which is to be seen, and not to be read


def contrast(colour: Any, background: Any = "white") -> float:
    """The ratio of WCAG 2, from 1 to 21."""
    light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: Any) -> float:
    """The relative luminance of WCAG 2."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast("black") == pytest.approx(21)
    assert contrast("#767676") == pytest.approx(4.54, abs=0.01)
    assert contrast("#e69f00") == pytest.approx(2.25, abs=0.05)  # the orange of Okabe and Ito, which this is to find


def test_every_colour_of_the_palettes() -> None:
    looks = [*style.LOOKS.values(), *style.RECOVERY_LOOKS.values(), *style.COMPRESSOR_LOOKS.values()]
    colours = {
        *style.COLOURS,
        style.INK,
        style.EXACT,
        *(look[1] for look in looks),
        *(spare[1] for spare in style.SPARE),
    }
    low = {colour: contrast(colour) for colour in colours if contrast(colour) < LEAST}
    assert not low


DEUTERANOPIA = np.array(  # of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1)
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def seen_by_a_deuteranope(colour: Any) -> np.ndarray:
    """CIE Lab of the colour that is left."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    x, y, z = np.cbrt(np.maximum(XYZ @ (DEUTERANOPIA @ linear).clip(0, 1), 1e-9) / XYZ.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_families_of_compressors_differ_without_red_and_green() -> None:
    """A difference of 2 is just seen; that of neighbours on a page is to be much larger."""
    families = {look[1] for look in style.COMPRESSOR_LOOKS.values()}
    assert len(families) == 9
    for one, other in itertools.combinations(families, 2):
        assert np.linalg.norm(seen_by_a_deuteranope(one) - seen_by_a_deuteranope(other)) > 15, (one, other)


def test_shades_begin_where_they_stand_out() -> None:
    shades = mpl.colormaps[losses.SHADES]
    assert min(contrast(shades(place)[:3]) for place in np.linspace(losses.LIGHTEST, 1, 50)) >= LEAST


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_colour_that_a_module_writes(path: Path) -> None:
    texts = {
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and WRITTEN.fullmatch(node.value)
    }
    low = {text: contrast(text) for text in texts - BEHIND if contrast(text) < LEAST}
    assert not low
