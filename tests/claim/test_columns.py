"""Claims, tables and figures take the names of columns from `measure.column.Column`, and write none by hand."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from sketchbench.measure.column import COLUMNS

PACKAGE = Path(__file__).parents[2] / "sketchbench"
# The table of `make bench` is no table of rows: it has columns of its own.
FILES = [
    path
    for folder in ("claim", "table", "figure")
    for path in sorted((PACKAGE / "report" / folder).glob("*.py"))
    if path.name != "benchmarks.py"
]
NAMES = {name for name in COLUMNS if len(name) > 2}  # shorter ones are also markers of matplotlib
# Mappings of a claim in YAML, of facts about a run, of tables by study; and the choices of a type.
NO_ROWS = {"content", "facts", "tables", "Literal"}
SELECTORS = {"get", "pop", "groupby", "sort_values", "drop_duplicates", "set_index", "pivot_table", "worst"}


def by_hand(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The column names that are written as strings or keywords, with their lines, wherever code selects by them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not _is_no_row(node.value):
            yield from _literals(node.slice)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield from _literals(node.left)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from _literals(node.iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _is_no_row(node.func.value):
            if node.func.attr in SELECTORS:
                for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    yield from _literals(argument)
            if node.func.attr == "assign":
                yield from ((node.lineno, keyword.arg) for keyword in node.keywords if keyword.arg in NAMES)


def _literals(node: ast.expr) -> Iterator[tuple[int, str]]:
    """The column names that are written here, alone or as elements of a list or tuple, which a slice may contain."""
    for element in [node, *_elements(node), *(inner for outer in _elements(node) for inner in _listed(outer))]:
        if isinstance(element, ast.Constant) and element.value in NAMES:
            yield element.lineno, str(element.value)


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _listed(node: ast.expr) -> list[ast.expr]:
    """The elements of a list; those of a tuple in a tuple are no selection, but values that belong together."""
    return node.elts if isinstance(node, ast.List) else []


def _is_no_row(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in NO_ROWS


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_column_is_named_by_hand(path: Path) -> None:
    assert not sorted(set(by_hand(ast.parse(path.read_text()))))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('rows["mean"]', {"mean"}),
        ('rows[["method", "label"]]', {"method", "label"}),
        ('rows.loc[chosen, "mean"]', {"mean"}),
        ('rows.loc[chosen, ["mean", "sd"]]', {"mean"}),
        ("f\"{row['case']}\"", {"case"}),
        ('row.get("exact")', {"exact"}),
        ('"positive_control" in rows', {"positive_control"}),
        ('rows.groupby(["study", "case"])', {"case"}),
        ('rows.pivot_table(index="case")', {"case"}),
        ("rows.assign(compression=d / b, low=0)", {"compression"}),
        ('[row[name] for name in ("mean", "low")]', {"mean"}),
        ('rows[rows[Column.QUANTITY] == "share"]', set()),  # a quantity
        ('axes.set_xlabel("round")', set()),
        ('for axes, label in ((left, "round"), (right, "share")): pass', set()),
        ('content.get("reason")', set()),
        ('tables["channel_noise"]', set()),
        ('rows["b"]', set()),
        ('Role = Literal["ours", "control"]', set()),
    ],
)
def test_what_counts_as_by_hand(code: str, found: set[str]) -> None:
    assert {name for _, name in by_hand(ast.parse(code))} == found
