"""The code digest changes with behaviour, and with nothing else."""

import ast
import functools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grimp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from whole_plan import whole_plan

from sketchbench.base.project import PACKAGE
from sketchbench.run import digest, signature
from sketchbench.run.config.targets import targets
from sketchbench.run.digest import code_digest
from sketchbench.run.record import Record, RecordError, read, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "top.py").write_text('"""Top."""\nimport middle\n\ndef f():\n    """F."""\n    return 1\n')
    (tmp_path / "middle.py").write_text("from package import leaf\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("x = 1\n")
    (tmp_path / "package" / "leaf.py").write_text("y = 1\n")
    (tmp_path / "apart.py").write_text("z = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "changes"),
    [
        ("top.py", '"""Other."""\nimport middle\n\ndef f():\n    return 1  # why\n', False),
        ("top.py", '"""Top."""\nimport middle\n\ndef f():\n    """F."""\n    return 2\n', True),
        ("package/leaf.py", "y = 2\n", True),
        ("package/leaf.py", '"""Leaf."""\n\n\ny = 1\n', False),
        ("package/__init__.py", "x = 2\n", True),  # it runs before `leaf`
        ("package/__init__.py", '"""Words."""\nx = 1\n', False),
        ("apart.py", "z = 2\n", False),
        ("middle.py", "from package import leaf, x\n", True),
    ],
)
def test_what_counts(folder: Path, name: str, text: str, changes: bool) -> None:
    before = code_digest(["top"], (folder,))
    path = folder / name
    path.write_text(text)
    assert (code_digest(["top"], (folder,)) != before) is changes


def test_an_init_counts_where_it_is_imported_from(folder: Path) -> None:
    (folder / "middle.py").write_text("from package import x\n")
    before = code_digest(["top"], (folder,))
    (folder / "package" / "__init__.py").write_text("x = 22\n")
    assert code_digest(["top"], (folder,)) != before


def test_relative_imports_are_followed(folder: Path) -> None:
    (folder / "package" / "__init__.py").write_text("from .leaf import y\nfrom . import leaf\n")
    before = code_digest(["package"], (folder,))
    (folder / "package" / "leaf.py").write_text("y = 3\n")
    assert code_digest(["package"], (folder,)) != before


def test_a_name_that_a_stub_passes_on_counts_as_imported_from_there(folder: Path) -> None:
    """So that a module may do without a large package, of which it needs the name of a type alone."""
    (folder / "middle.py").write_text("from numbers import Number\n")
    before = code_digest(["top"], (folder,))
    (folder / "middle.py").write_text("from types_alone import Number\n")
    (folder / "types_alone.py").write_text("from typing import Any\n\nNumber = Any\n")
    assert code_digest(["top"], (folder,)) != before
    (folder / "types_alone.pyi").write_text("from numbers import Number as Number\n")
    assert code_digest(["top"], (folder,)) == before
    (folder / "types_alone.pyi").write_text("from decimal import Decimal as Number\n")
    assert code_digest(["top"], (folder,)) != before


def test_what_lies_beside_the_package_is_no_code_of_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is installed, all others are beside it."""
    (folder / PACKAGE.name).mkdir()
    (folder / PACKAGE.name / "__init__.py").write_text("")
    (folder / PACKAGE.name / "mine.py").write_text("import middle\n")
    monkeypatch.setattr(digest, "PROJECT", folder)
    assert list(digest.CodeDigest().files((f"{PACKAGE.name}.mine",))) == [folder / PACKAGE.name / "mine.py"]


def test_empty_and_broken_files(folder: Path) -> None:
    (folder / "apart.py").write_text("")
    assert code_digest(["apart"], (folder,))
    (folder / "apart.py").write_text("def f(:\n")
    with pytest.raises(ValueError, match=r"apart.py, line 1: invalid syntax"):
        code_digest(["apart"], (folder,))


def test_the_project_is_followed() -> None:
    kernels = {code_digest([f"sketchbench.kernels.{name}_kernels"]) for name in ("numpy", "numba")}
    assert len(kernels) == 2
    assert code_digest(["sketchbench.sketch.ams"]) != code_digest(["sketchbench.sketch.uniform"])


# An edit reruns what uses the edited code, and nothing else


Changed = Callable[[str], set[str]]
Edit = Callable[[str, Callable[[str], str]], set[str]]
FACADES = ("sketchbench.sketch", "sketchbench.sketch.recovery")  # for users: whoever imports them imports every family


@functools.cache
def configs() -> dict[str, dict[str, Any]]:
    plan = whole_plan("quick")
    return {f"{name} {run.name}": run.config for name, runs in plan.runs.items() for run in runs.values()}


def signatures() -> dict[str, str]:
    code = digest.CodeDigest()
    return {name: signature.signature(config, digest=code) for name, config in configs().items()}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("edited")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "sketchbench", ignore=ignored)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(digest, "PROJECT", folder)
        yield folder / "sketchbench"


@pytest.fixture(scope="module")
def before(package: Path) -> dict[str, str]:
    return signatures()


@pytest.fixture
def edit(package: Path, before: dict[str, str]) -> Iterator[Edit]:
    texts: dict[Path, str] = {}

    def editing(name: str, change: Callable[[str], str]) -> set[str]:
        path = package / name
        texts.setdefault(path, path.read_text(encoding="utf-8"))
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
        after = signatures()
        return {run for run in before if after[run] != before[run]}

    yield editing
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def changed(edit: Edit) -> Changed:
    return lambda name: edit(name, lambda text: text + "\nEDITED = 1\n")


@pytest.mark.parametrize(
    "name", ["run/record.py", "run/job.py", "__main__.py", "plan/plan.py", "base/moved.py", "sketch/__init__.py"]
)
def test_what_no_task_uses_reruns_nothing(changed: Changed, name: str) -> None:
    """Nor do records and the command line; a task that writes checkpoints uses files, though."""
    words = ("compressed", "federated", "inversion", "frontier", "leak", "message_error", "double_blind")
    writing = {name for name in configs() if any(word in name for word in words)}
    assert changed(name) - writing == set()


def test_a_family_reruns_what_uses_it(changed: Changed) -> None:
    """AMS: the runs of its configs, of controls, which one module makes of several families, and no other family's."""
    ams = {name for name, config in configs().items() if "sketchbench.sketch.ams.AMS" in targets(config)}
    rerun = changed("sketch/ams.py")
    assert ams
    assert ams <= rerun
    assert all("control/" in name for name in rerun - ams)


def test_an_accountant_reruns_what_accounts(changed: Changed) -> None:
    rerun = {name.partition(" ")[0] for name in changed("privacy/accountant.py")}
    assert {"privacy_accounting", "privacy_audit", "private_training"} <= rerun
    assert not rerun & {"moments", "convergence", "reconstruction", "federated_mlp", "attack_convergence"}


def test_no_module_imports_through_a_facade() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: from {node.module} import {alias.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module in FACADES
        for alias in node.names
        if not (PACKAGE.parent / node.module.replace(".", "/") / f"{alias.name}.py").is_file()
    ]
    assert [line for line in found if "__init__" not in line] == []


def test_words_rerun_nothing(edit: Edit, package: Path) -> None:
    """Not the meaning, unit and order of columns, nor a local name in a docstring, an error's text or a log line."""

    def reworded(text: str) -> str:
        head, members = text.split("    METHOD = ", 1)
        lines = re.sub(r', "[^"]*"$', ', "other words", "other unit"', members, flags=re.MULTILINE)
        return f"{head}    METHOD = {lines}".replace("    D = ", "    DD = ").replace("    CASE = ", "    DD = ")

    assert edit("measure/column.py", reworded) == set()
    assert "other words" in (package / "measure" / "column.py").read_text()
    assert edit("theory/second_moment.py", lambda text: text.replace('"""', '"""Another first word: ', 1)) == set()
    assert edit("sketch/family.py", lambda text: re.sub(r'(raise \w+\(f?")', r"\1Said otherwise: ", text)) == set()
    assert edit("task/sketches/trials.py", lambda text: text.replace('log.info("', 'log.info("so far: ')) == set()


def test_a_place_reruns_nothing(package: Path, before: dict[str, str]) -> None:
    """A module that tasks import moves into another package and gets another name; so does the family of a config."""
    moves = {"measure/summary.py": "theory/summing_up.py", "sketch/ams.py": "sketch/recovery/tug_of_war.py"}
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    try:
        for old, new in moves.items():
            (package / old).rename(package / new)
        for path, text in texts.items():
            changed = functools.reduce(lambda text, move: text.replace(*map(_dotted, move)), moves.items(), text)
            if path.exists() and changed != text:
                path.write_text(changed, encoding="utf-8")
        code = digest.CodeDigest()
        old, new = (_dotted(name) for name in list(moves.items())[1])
        moved = {name: json.loads(json.dumps(config).replace(old, new)) for name, config in configs().items()}
        assert any(config != moved[name] for name, config in configs().items())
        assert {name: signature.signature(config, digest=code) for name, config in moved.items()} == before
    finally:
        for new in moves.values():
            (package / new).unlink(missing_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")


def _dotted(name: str) -> str:
    return f"sketchbench.{name.removesuffix('.py').replace('/', '.')}"


@functools.cache
def graph() -> Any:
    return grimp.build_graph("sketchbench")


@pytest.mark.parametrize("name", ["sketch/draws.py", "measure/sparsity.py", "privacy/gaussian.py"])
def test_a_constant_three_imports_down_reruns_what_uses_it(changed: Changed, name: str) -> None:
    """Exactly the runs that do, by the graph of imports that import-linter goes by, which is none of ours."""
    using = graph().find_downstream_modules(_dotted(name)) | {_dotted(name)}
    expected = {
        run for run, config in configs().items() if using & {target.rpartition(".")[0] for target in targets(config)}
    }
    assert changed(name) == expected
    assert 0 < len(expected) < len(configs())


def test_another_import_reruns_what_imports(edit: Edit) -> None:
    rerun = edit("task/sketches/moments.py", lambda text: text.replace("import seeds", "import parameters as seeds"))
    assert {name.partition(" ")[0] for name in rerun} == {
        name.partition(" ")[0] for name, config in configs().items() if "Moments" in str(config["task"]["_target_"])
    }


# Records: whole or refused


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
        {"a": 1, "b": 0.1 + 0.2, "c": "2026-01-01T00:00:00", "d": True, "e": None, "f": 2**62, "g": 0},
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
