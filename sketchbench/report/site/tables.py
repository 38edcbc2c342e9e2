"""The pages of tables: a list of all tables, and for each study its rows and the meanings of its columns."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from sketchbench.measure.column import COLUMNS, Column
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.evidence.provenance import date_of, dated, last_commit
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.site.lists import Kind, ListColumn, listing
from sketchbench.report.site.page import Asset, Page, table_address
from sketchbench.report.site.verdicts import escape
from sketchbench.report.table.origin import commits_of
from sketchbench.report.table.reading import read_table
from sketchbench.run.config import study
from sketchbench.run.config.chapters import named

SCALE = "scale"
STUDIES = (
    ListColumn("study", "study", "name of the study, a file of conf/study", link="page"),
    ListColumn("about", "what is measured", "description of the study's task"),
    ListColumn(
        "scale", "scale", "size of the run; quick: minutes to hours for all studies; paper: the papers' own sizes"
    ),
    ListColumn("rows", "rows", "number of rows of the table", "number"),
    ListColumn("methods", "methods", "number of compared methods, with controls", "number"),
    ListColumn("commit", "code", "commits of the code behind the records, or the last commit of the table"),
    ListColumn("date", "date", "date of the newest of these commits"),
)


class StudyTable(NamedTuple):
    """The table of a study at a scale."""

    study: str
    scale: str
    about: tuple[str, str]  # the descriptions of the study's task and of the study; "" if missing
    frame: pd.DataFrame  # an empty text is "", a missing number NaN
    commits: Sequence[str]  # of the code behind the records, or else the last commit of the table
    date: str  # of the newest of these commits, YYYY-MM-DD; "" if it is unknown


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The list of all tables, and a page for each study."""
    tables = [
        _table(path, scale.name, conf) for scale in scales for path in sorted((scale.reports / "tables").glob("*.csv"))
    ]
    rows = [
        {
            "study": table.study,
            "page": table_address(table.study, table.scale),
            "about": table.about[0],
            "scale": table.scale,
            "rows": len(table.frame),
            "methods": table.frame[Column.METHOD].nunique(),
            "commit": " ".join(table.commits),
            "date": table.date,
        }
        for table in tables
    ]
    text = "These tables are the source of every verdict and figure. A row has a quantity, its setting and its value."
    yield Page("tables.md", "Tables", f"{text}\n\n{listing('tables', STUDIES, rows)}")
    claimed = [claims_of(scale) for scale in scales]
    drawn = _figures(scales, conf)
    for name, group in itertools.groupby(sorted(tables, key=lambda table: table.study), lambda table: table.study):
        claims = dict.fromkeys(claim for by_study in claimed for claim in by_study.get(name, ()))
        links = {
            "Claims": [f'<a href="../claims/{claim}.html">{claim}</a>' for claim in claims],
            "Figures": [f'<a href="../figures.html#{figure}">{figure}</a>' for figure in drawn.get(name, ())],
        }
        yield Page(f"tables/{name}.md", name, _text(list(group), links))


def comment(path: Path) -> str:
    """The first comment of a config, as a paragraph; "" if there is none."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    first = next((index for index, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return " ".join(line.removeprefix("#").strip() for line in lines[:first]).strip()


def _table(path: Path, scale: str, conf: Path) -> StudyTable:
    texts = [name for name, column in COLUMNS.items() if column.kind is str]
    frame = read_table(path, "table", scale=scale, texts=texts)
    frame = frame.fillna({name: "" for name in frame if not _numeric(frame[name])})
    commits = sorted(commits_of(path)) or last_commit(path)
    date = max(map(date_of, commits), default="")
    return StudyTable(path.stem, scale, _about(path.stem, conf), frame, commits, date)


def _about(name: str, conf: Path) -> tuple[str, str]:
    if name not in study.names(conf):
        return "", ""
    task = study.read(conf, name, "quick").task
    return comment(conf / "task" / f"{task}.yaml"), comment(named(conf, "study")[name])


def claims_of(scale: ReportedScale) -> dict[str, list[str]]:
    """The claims that each study's table decides."""
    found = read_outcomes(scale)
    pairs = found.loc[found["verdict"] != "not run", ["claim", "study"]].drop_duplicates()
    claims: dict[str, list[str]] = {}
    for claim, names in pairs.itertuples(index=False):
        for name in re.findall(r"\w+", names):
            claims.setdefault(name, []).append(claim)
    return {name: list(dict.fromkeys(ids)) for name, ids in claims.items()}


def _figures(scales: Sequence[ReportedScale], conf: Path) -> dict[str, list[str]]:
    """The figures in the reports that use each study's table."""
    figures: dict[str, list[str]] = {}
    for name, entry in read_catalogue(conf / "figure").items():
        drawn = any((scale.reports / "figures" / f"{name}.svg").is_file() for scale in scales)
        for drawn_from in entry.studies if drawn else ():
            figures.setdefault(drawn_from, []).append(name)
    return figures


def _text(tables: Sequence[StudyTable], links: Mapping[str, Sequence[str]]) -> str:
    """A page: the study's description, the values that all rows share, links, and the rows of all scales."""
    frames = [table.frame.assign(**{SCALE: table.scale}) for table in tables]
    frame, same = pd.concat(frames, ignore_index=True), {}
    texts = [name for name in frame if any(name in one and not _numeric(one[name]) for one in frames)]
    frame = frame.fillna(dict.fromkeys(texts, ""))
    frame.insert(0, SCALE, frame.pop(SCALE))
    for name in list(frame)[1:]:  # the scale stays, as links filter by it
        values = frame[name].drop_duplicates()
        if len(values) == 1 or name == Column.PICTURE:
            same[str(name)] = values.iloc[0] if len(values) == 1 else "pictures, shown with the figures"
            frame = frame.drop(columns=[name])
    facts = [f"<p>{escape(text)}</p>" for text in dict.fromkeys(reversed(tables[0].about)) if text]
    facts += [f"<p>Scale {table.scale}: {len(table.frame)} rows; code {dated(table.commits)}.</p>" for table in tables]
    facts += [f"<p>{name}: {', '.join(addresses)}.</p>" for name, addresses in links.items() if addresses]
    stated = "".join(
        f"<li><code>{escape(name)}</code> = {_format(value)}: {escape(meaning(name))}</li>"
        for name, value in same.items()
        if not _empty(value)
    )
    if stated:
        facts.append(f"<details><summary>Values that all rows share</summary><ul>{stated}</ul></details>")
    columns = [ListColumn(str(name), str(name), meaning(str(name)), _kind(frame[name])) for name in frame]
    return "\n\n".join([*facts, listing(tables[0].study, columns, frame.to_dict("records"))])


def meaning(name: str) -> str:
    """The meaning of a column, with its unit."""
    if name == SCALE:
        return "size of the run; quick: minutes to hours for all studies; paper: the papers' own sizes"
    if name not in COLUMNS:
        return "setting that the study varies"
    column = COLUMNS[name]
    return f"{column.meaning} ({column.unit})" if column.unit else column.meaning


def _kind(values: "pd.Series[Any]") -> Kind:
    return "number" if _numeric(values) else "text"


def _numeric(values: "pd.Series[Any]") -> bool:
    return bool(pd.api.types.is_numeric_dtype(values))


def _empty(value: Any) -> bool:
    return bool(value == "" or pd.isna(value))


def _format(value: Any) -> str:
    return escape(f"{value:g}" if isinstance(value, float) else value)
