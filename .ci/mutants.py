"""Mutation testing: change the package at random places, one at a time, and list the changes that no test notices.

A mutant is one change of an operator, a number, a statement or an argument. Lines are drawn at random, then a change of
each. Tests run on a copy: the files that are the fewest imports away from the module, the fastest first. Results are
kept, so the same command resumes. Contracts have mutants of their own, in tests/mutant.
"""

import argparse
import ast
import functools
import hashlib
import importlib
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.base import arithmetic

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ["report/claim", "measure", "privacy", "theory", "sketch/recovery", "sketch", "compressor"]
PACKAGES += ["federated", "attack"]
LEFT_OUT = {"__init__.py", "broken.py", "contract.py"}
NOT_COPIED = (".git", ".venv", ".lock", ".snakemake", "results", "logs", "data", ".*_cache")
LOADED = ["pytest", "hypothesis", "numpy", "scipy.optimize", "scipy.special", "scipy.stats", "numba", "pandas"]
LOADED += ["hydra", "torch", "sklearn"]
LONGEST = 120.0  # seconds of a file of tests that judges mutants
CHANGED = "\n0\n"  # ends all modules of the copy: a test that rejects any change of code judges no mutant

Swaps = dict[type[ast.AST], type[ast.AST]]
COMPARISONS: Swaps = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
COMPARISONS |= {ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
ARITHMETIC: Swaps = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
ARITHMETIC |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}
PAIRS = ("min max", "minimum maximum", "amin amax", "argmin argmax", "floor ceil", "any all", "sum mean", "exp expm1")
FUNCTIONS = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}
UNTOUCHED = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.pattern)
UNTOUCHED_FIELDS = {"annotation", "returns", "decorator_list"}


class Mutant(NamedTuple):
    """The bytes from `start` to `end` of the module `path` become `new`."""

    path: str
    line: int
    start: int
    end: int
    new: str

    def name(self) -> str:
        return f"{self.path}:{self.line} {self.source()[self.start : self.end].decode()} -> {self.new}"

    def source(self) -> bytes:
        return (ROOT / self.path).read_bytes()

    def key(self) -> str:
        return hashlib.sha256(self.source() + repr(self[2:]).encode()).hexdigest()[:16]


def places(node: ast.AST) -> Iterator[Any]:
    """The nodes that may change: neither annotations, texts, imports, decorators nor raised errors."""
    if not isinstance(node, UNTOUCHED):
        yield node
        for name, value in ast.iter_fields(node):
            if name not in UNTOUCHED_FIELDS:
                for child in value if isinstance(value, list) else [value]:
                    yield from places(child) if isinstance(child, ast.AST) else ()


def with_fields(node: Any, **fields: Any) -> Any:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def changes(node: Any) -> Iterator[Any]:
    """The nodes, or the texts, that may stand for this node."""
    match node:
        case ast.Compare(ops=[op]):
            yield with_fields(node, ops=[COMPARISONS[type(op)]()])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield with_fields(node, op=ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op):
            yield with_fields(node, op=ast.And() if isinstance(op, ast.Or) else ast.Or())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=other):
            yield with_fields(node, body=other, orelse=body)
        case ast.Constant(value=bool() | int() | float() as value):
            yield from map(repr, numbers(value))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(value=ast.Call()):
            yield "pass"
        case ast.Call():
            yield from calls(node)


def numbers(value: float) -> list[float]:
    """The constants that may stand for this one."""
    if isinstance(value, bool):
        return [not value]
    return [value + 1, value - 1] if isinstance(value, int) else [2 * value, value / 2] if value else [1.0]


def calls(node: ast.Call) -> Iterator[ast.AST]:
    """A similar function, the first two arguments swapped, or a number without its `abs`."""
    field = "id" if isinstance(node.func, ast.Name) else "attr"
    called, args = getattr(node.func, field, None), node.args
    if called in FUNCTIONS:
        yield with_fields(node, func=with_fields(node.func, **{field: FUNCTIONS[called]}))
    if called == "abs" and len(args) == 1:
        yield args[0]
    if len(args) > 1 and not any(isinstance(arg, ast.Starred) for arg in args[:2]):
        yield with_fields(node, args=[args[1], args[0], *args[2:]])


def mutants(path: str) -> Iterator[Mutant]:
    """All mutants of a module."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in places(ast.parse(source)):
        for change in changes(node):
            text = change if isinstance(change, str) else ast.unparse(change)
            new = text if isinstance(node, ast.stmt) else f"({text})"
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            yield Mutant(path, node.lineno, start, end, new)


def draw(count: int, seed: int) -> list[Mutant]:
    """A mutant in each of `count` random lines, in the order of `PACKAGES`."""
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / "sketchbench" / package).glob("*.py")):
            if path.name not in LEFT_OUT:
                for mutant in mutants(str(path.relative_to(ROOT))):
                    lines.setdefault((mutant.path, mutant.line), []).append(mutant)
    random_ = random.Random(seed)
    drawn = random_.sample(list(lines), len(lines))[:count]  # a larger count draws the same lines first
    chosen = [random_.choice(lines[line]) for line in drawn]
    return sorted(chosen, key=lambda mutant: PACKAGES.index(str(Path(mutant.path).parent)[len("sketchbench/") :]))


@functools.cache
def imports(path: Path) -> set[Path]:
    """The files of the package and of the tests' helpers that a file imports, by name."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [str(node.module)]
        for name in names:
            inner = name.replace(".", "/")
            named = [ROOT / f"{inner}.py", ROOT / inner / "__init__.pyi", path.parent / f"{inner}.py"]
            found.update(file for file in (*named, ROOT / "tests" / f"{inner}.py") if file.is_file())
    return found


@functools.cache
def distances(test: Path) -> dict[Path, int]:
    """By file: the number of imports from this file of tests to it."""
    near, reached = {test: 0}, [test]
    for path in reached:
        for other in imports(path) - near.keys():
            near[other] = near[path] + 1
            reached.append(other)
    return near


@functools.cache
def tests_of(path: str) -> list[str]:
    """The files of tests that import a module, nearest first, with those of its package, which may name it in YAML."""
    module, found = ROOT / path, []
    folder = ROOT / "tests" / "/".join(Path(path).parts[2 if "report" in path else 1 : -1])
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        distance = distances(test).get(module, 99 if test.parent != folder else 2)
        if distance < 99:
            found.append((distance, test.parent != folder, test.stat().st_size, str(test.relative_to(ROOT))))
    return [name for *_, name in sorted(found)]


def begin(folder: str) -> None:
    """Begin a worker, in a copy of the project of its own."""
    copy = Path(folder, str(os.getpid()))
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
    os.chdir(copy)
    for package in PACKAGES:
        for path in Path("sketchbench", package).glob("*.py"):
            path.write_text(path.read_text() + CHANGED)


def run_tests(tests: list[str], limit: float) -> dict[str, Any]:
    """Run files of tests until one fails, in a child that has the libraries in memory; a slow one fails."""
    start, child, done, status = time.monotonic(), os.fork(), 0, 0
    if not child:
        try:
            os.setsid()
            for stream in (1, 2):
                os.dup2(os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), stream)
            os.environ["PYTHONPATH"] = sys.path[0] = str(Path.cwd())
            status = sys.modules["pytest"].main(["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests])
        finally:
            os._exit(int(status))
    while not done and time.monotonic() - start < limit:
        time.sleep(0.05)
        done, status = os.waitpid(child, os.WNOHANG)
    seconds = round(time.monotonic() - start, 1)
    if not done:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return {"passed": False, "by": "time", "seconds": seconds}
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", Path("output").read_text(errors="replace"), re.MULTILINE)
    by = failed[1] if failed else f"status {status}"
    return {"passed": status == 0, **({"by": by} if status else {}), "seconds": seconds}


def time_tests(test: str) -> dict[str, Any]:
    return {"tests": test, **run_tests([test], LONGEST)}


def try_mutant(job: tuple[Mutant, list[str], float]) -> dict[str, Any]:
    """Run the tests on a mutant. Each takes over a second, so that no compiled file is taken for another's."""
    mutant, tests, limit = job
    path, source = Path(mutant.path), mutant.source() + CHANGED.encode()
    path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    try:
        result = run_tests(tests, limit)
    finally:
        path.write_bytes(source)
    return {"key": mutant.key(), "mutant": mutant.name(), **result, "files": len(tests)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="lines to change (300)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--nearest", type=int, default=4, help="files of tests for each mutant (4)")
    parser.add_argument("--cap", type=float, default=40, help="seconds of these files, more for a single one (40)")
    parser.add_argument("--survivors", action="store_true", help="try survivors again: with more files, or new tests")
    parser.add_argument("--only", default="", help="parts of the modules' paths, separated by commas")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "mutants.jsonl", help="what was tried")
    args = parser.parse_args()
    args.results.parent.mkdir(parents=True, exist_ok=True)
    drawn = [
        mutant for mutant in draw(args.count, args.seed) if any(part in mutant.path for part in args.only.split(","))
    ]
    kept = [json.loads(line) for line in args.results.read_text().splitlines()] if args.results.exists() else []
    timed = {one["tests"]: one for one in kept if "tests" in one}
    tried = {one["key"]: one for one in kept if "key" in one}

    with tempfile.TemporaryDirectory() as folder, args.results.open("a", buffering=1) as file:
        os.environ.update(SKETCHBENCH_DATA=os.environ.get("SKETCHBENCH_DATA", str(ROOT / "data")))
        arithmetic.hold()
        for name in [name for name in sys.modules if name.startswith("sketchbench")]:
            del sys.modules[name]
        for name in LOADED:
            importlib.import_module(name)
        with multiprocessing.get_context("fork").Pool(args.jobs, begin, [folder]) as pool:

            def keep(results: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
                for one in results:
                    print(json.dumps(one), file=file)
                    print(*one.values(), flush=True)
                    yield one

            todo = [one for one in drawn if tried.get(one.key(), {"passed": True})["passed"]]
            todo = [one for one in todo if args.survivors == (one.key() in tried)]
            wanted = dict.fromkeys(test for one in todo for test in tests_of(one.path)[: args.nearest])
            for one in keep(pool.imap_unordered(time_tests, [test for test in wanted if test not in timed])):
                timed[one["tests"]] = one

            def job(mutant: Mutant) -> tuple[Mutant, list[str], float]:
                """The mutant, its tests from the fastest on, and the longest time that they may take."""
                tests = [test for test in tests_of(mutant.path)[: args.nearest] if timed[test]["passed"]]
                total = itertools.accumulate(timed[test]["seconds"] for test in tests)
                number = max(1, sum(seconds <= args.cap for seconds in total))  # a slow one, if it is the nearest
                tests = sorted(tests[:number], key=lambda test: timed[test]["seconds"])
                return mutant, tests, max(60.0, 10 * sum(timed[test]["seconds"] for test in tests))

            jobs = [one for one in map(job, todo) if one[1]]
            for one in keep(pool.imap_unordered(try_mutant, jobs)):
                tried[one["key"]] = one
    summarise(drawn, tried, args.seed)


def summarise(drawn: list[Mutant], tried: dict[str, dict[str, Any]], seed: int) -> None:
    """Print numbers by package, and the survivors, as Markdown."""
    counts: dict[str, Counter[bool | None]] = {}
    for mutant in drawn:
        passed = tried.get(mutant.key(), {}).get("passed")
        counts.setdefault(str(Path(mutant.path).parent), Counter())[passed] += 1
    print(f"\nseed {seed}\n\n| package | mutants | killed | survive | without tests |\n|---|---|---|---|---|")
    for package, of in counts.items():
        print(f"| {package} | {of.total()} | {of[False]} | {of[True]} | {of[None]} |")
    print("", *(f"- `{mutant.name()}`" for mutant in drawn if tried.get(mutant.key(), {}).get("passed")), sep="\n")


if __name__ == "__main__":
    main()
