"""No team of threads starts for less work than pays for it, and what Numba compiles with and without is kept apart."""

import importlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import prange

import sketchbench
from sketchbench.kernels import Kernels, load, threaded
from sketchbench.kernels.threaded import WORTH_A_TEAM, Threaded, cores

PACKAGE = Path(sketchbench.__file__).parent
USERS = [path for path in PACKAGE.rglob("*.py") if "import Threaded" in path.read_text()]
MODULES = [importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)) for path in USERS]
FUNCTIONS = [one for module in MODULES for one in vars(module).values()]
THREADED = {one.team.py_func.__name__: one for one in FUNCTIONS if isinstance(one, Threaded)}


@pytest.fixture
def two_threads() -> Iterator[None]:
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("Numba may use one thread only")
    before = numba.get_num_threads()
    numba.set_num_threads(2)
    yield
    numba.set_num_threads(before)


def test_no_two_share_a_place_in_the_cache() -> None:
    assert len(THREADED) > 20
    compiled = [one for both in THREADED.values() for one in (both.team, both.alone)]
    compiled += [one for one in FUNCTIONS if hasattr(one, "py_func")]
    places = Counter((one._cache.cache_path, one._cache._cache_file._index_name) for one in compiled)
    assert max(places.values()) == 1


# Every threaded function is called through the kernels, by few entries, by many, and by many in one turn of its loop.


def sparse(kernels: Kernels, operators: int, s: int, d: int, b: int, vectors: int) -> None:
    buckets = np.random.default_rng(0).integers(0, b, (operators, s, d), dtype=np.int32)
    matrix = kernels.prepare(buckets, np.ones_like(buckets, dtype=np.int8), b)
    x, y = np.ones((operators, vectors, d)), np.ones((operators, vectors, b))
    for function, vector in [(kernels.scatter, x), (kernels.gather, y), (kernels.project, x), (kernels.median, y)]:
        function(matrix, vector)


def draws(kernels: Kernels, operators: int, rows: int, d: int) -> None:
    kernels.random_words(1, 2, 0, operators, rows * d)
    kernels.integer_rows(1, 2, 0, operators, 0, rows, d, 90)
    kernels.integer_rows(1, 2, 0, operators, 0, rows, d, 2**40)
    kernels.sign_rows(1, 2, 0, operators, 0, rows, d)
    kernels.gaussian_rows(1, 2, 0, operators, 0, rows, d)
    kernels.dense_sketch("gaussian", 1, 2, 0, operators, rows, np.ones((1, 1, d)))
    kernels.dense_desketch("gaussian", 1, 2, 0, operators, d, np.ones((1, 1, rows)))
    kernels.polynomial_hash(np.ones((operators, rows, 3), np.uint32), d)
    kernels.distinct(np.ones((operators, rows, d), np.uint32), 90)


def hadamard(kernels: Kernels, vectors: int, n: int, k: int) -> None:
    at, values = np.arange(k, dtype=np.int32)[None, None], np.ones((1, vectors, k))
    x = np.ones((1, vectors, n))
    kernels.collect(kernels.spread(at, values, x), at)
    kernels.hadamard_collect(kernels.walsh_hadamard(x), at, 1.0)
    kernels.spread_hadamard(at, values, 1.0, x)
    kernels.spread_hadamard_collect([(at, values)], x, at, 1.0)
    kernels.sampled_hadamard(x, None, n, np.repeat(at, 2, axis=0), 1.0, lambda: np.empty_like(x))  # by two operators


def vectors(kernels: Kernels, rows: int, d: int, k: int) -> None:
    u, scale, at = np.ones((rows, d)), np.ones((rows, 1)), np.tile(np.arange(k, dtype=np.int32), (rows, 1))
    kernels.inner(u, u)
    kernels.add_to_scaled(u, scale, u.copy())
    kernels.scale_and_add(u, scale, [(at, np.ones((rows, k)))])
    kernels.move_shared(at, np.ones((rows, k)), at, np.ones((rows, k)))
    kernels.largest(u, k)


def few(kernels: Kernels) -> None:
    draws(kernels, 2, 5, 90)
    for s in (4, 5):
        sparse(kernels, 2, s, 100, 10, 2)
    buckets = np.zeros((1, 1, 2**15), np.int32)
    kernels.scatter(kernels.prepare(buckets, buckets.astype(np.int8), 10), np.ones((1, 1, 2**15)))  # summed in parts
    for n in (2**4, 2**10, 2**12):
        hadamard(kernels, 2, n, n // 2)
    hadamard(kernels, 1, 2**15, 9)  # in blocks and panels
    vectors(kernels, 3, 2**10, 40)


def many(kernels: Kernels) -> None:
    draws(kernels, 3, 5, 2**14)
    kernels.random_subset(1, 2, 0, 1, 9, 2**17)
    for s in (4, 5):
        sparse(kernels, 2, s, 2**16, 2**14, 2)
    sparse(kernels, 1, 1, 2**18, 2**15, 1)
    sparse(kernels, 1, 1, 2**12, 2**10, 40)
    for lines, n, k in [(3, 2**16, 2**16), (40, 2**14, 2**13), (1, 2**18, 2**10)]:
        hadamard(kernels, lines, n, k)
    vectors(kernels, 8, 2**16, 2**15)


def many_in_one_turn(kernels: Kernels) -> None:
    """Only functions whose turns can be as long as that."""
    kernels.gaussian_rows(1, 2, 0, 1, 0, 1, 2**14)
    kernels.dense_sketch("gaussian", 1, 2, 0, 1, 1, np.ones((1, 1, 2**17)))
    kernels.dense_desketch("gaussian", 1, 2, 0, 1, 2**10, np.ones((1, 1, 2**10)))
    kernels.polynomial_hash(np.ones((1, 1, 4), np.uint32), 2**17)
    kernels.distinct(np.ones((1, 4, 2**15), np.uint32), 90)
    for s in (5, 8):
        sparse(kernels, 1, s, 2**14, 2**10, 1)
    repeated = np.repeat(np.arange(2**14, dtype=np.int32), 8)[None, None]
    kernels.hadamard_collect(np.ones((1, 1, 2**14)), repeated, 1.0)
    at = np.arange(2**17, dtype=np.int32)[None]
    kernels.move_shared(at, np.ones((1, 2**17)), at, np.ones((1, 2**17)))
    kernels.largest(np.ones((1, 2**17)), 9)


class Calls:
    """Which versions of the functions ran. In the place of a team, one thread computes the same."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.team: set[str] = set()
        self.alone: set[str] = set()
        for name, one in THREADED.items():
            monkeypatch.setattr(one, "team", self._noted(self.team, name, one.alone))
            monkeypatch.setattr(one, "alone", self._noted(self.alone, name, one.alone))

    def _noted(self, names: set[str], name: str, run: Callable[..., None]) -> Callable[..., None]:
        def noted(*arguments: Any) -> None:
            names.add(name)
            run(*arguments)

        return noted


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, two_threads: None) -> Calls:
    return Calls(monkeypatch)


NEVER_FEW = {"_count_digits", "_below_digit", "_collect_blocks", "_scatter_parts", "_sum_parts"}


def test_few_entries_start_no_team(calls: Calls) -> None:
    few(load("numba"))
    assert not calls.team
    assert calls.alone == THREADED.keys() - NEVER_FEW


def test_many_entries_start_one(calls: Calls) -> None:
    many(load("numba"))
    assert calls.team == THREADED.keys()


def test_one_turn_starts_none(calls: Calls) -> None:
    many_in_one_turn(load("numba"))
    assert calls.team == {"_mark"}  # which has many turns


@Threaded
def _fill(x: np.ndarray) -> None:
    for i in prange(x.shape[0]):
        x[i] = i


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("work", "threads", "unused"), [
    (WORTH_A_TEAM, 2, "alone"), (WORTH_A_TEAM - 1, 2, "team"), (WORTH_A_TEAM, 1, "team"),
])  # fmt: skip
def test_work_decides(work: int, threads: int, unused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numba.set_num_threads(threads)
    monkeypatch.setattr(_fill, unused, None)
    x = np.zeros(9)
    _fill(x, work=work)
    assert x.tolist() == list(range(9))


def test_work_must_be_stated() -> None:
    with pytest.raises(TypeError, match="work"):
        _fill(np.zeros(9))  # type: ignore[call-arg]


# The number of threads


@pytest.mark.parametrize(("quota", "expected"), [("400000", 3), ("200000", 2), ("110000", 2), ("5000", 1), ("max", 3)])
@pytest.mark.parametrize("where", ["own", "around"])
def test_a_quota_counts_as_cores(
    quota: str, expected: int, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of both versions of cgroups, for the group itself or for one around it."""
    monkeypatch.setattr(numba.config, "NUMBA_DEFAULT_NUM_THREADS", 3)
    for version, line in [(1, "7:cpuset:/x\n4:cpu,cpuacct:/jobs/own\n"), (2, "0::/jobs/own\n")]:
        root = tmp_path / str(version)
        top = root / "sys/fs/cgroup" / ("cpu" if version == 1 else "")
        folder = top / "jobs" / ("own" if where == "own" else "")
        folder.mkdir(parents=True)
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/cgroup").write_text(line)
        if version == 1:
            (folder / "cpu.cfs_quota_us").write_text("-1\n" if quota == "max" else quota)
            (folder / "cpu.cfs_period_us").write_text("100000\n")
        else:
            (folder / "cpu.max").write_text(f"{quota} 100000\n")
        assert cores(root) == expected, version


def test_a_container_has_its_quota_at_the_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 tells a container the path of its group outside, and shows it the group itself."""
    monkeypatch.setattr(numba.config, "NUMBA_DEFAULT_NUM_THREADS", 3)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:cpu:/docker/0123abcd\n")
    top = tmp_path / "sys/fs/cgroup/cpu"
    top.mkdir(parents=True)
    (top / "cpu.cfs_quota_us").write_text("200000\n")
    (top / "cpu.cfs_period_us").write_text("100000\n")
    assert cores(tmp_path) == 2


def test_no_groups(tmp_path: Path) -> None:
    assert cores(tmp_path) == numba.config.NUMBA_DEFAULT_NUM_THREADS


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_NUM_THREADS", "OMP_WAIT_POLICY")}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=kept | environment, capture_output=True, text=True, check=False)


MASK = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from sketchbench.kernels import threaded
print(threaded.cores(), threaded.threads(2**30))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity masks")
def test_an_affinity_mask_counts_as_cores() -> None:
    assert run(MASK).stdout == "1 1\n"
    assert run(MASK, NUMBA_NUM_THREADS="3").stdout == "1 3\n"  # who asks for threads gets them


def test_a_team_is_no_larger_than_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    now, team = [8], []
    monkeypatch.setattr(threaded, "_MOST", 3)
    monkeypatch.setattr(numba, "get_num_threads", lambda: now[-1])
    monkeypatch.setattr(numba, "set_num_threads", now.append)
    monkeypatch.setattr(_fill, "team", lambda x: team.append(now[-1]))
    monkeypatch.setattr(numba, "threading_layer", lambda: "omp")
    _fill(np.zeros(9), work=WORTH_A_TEAM)
    assert (team, now[-1]) == ([3], 8)


# How threads wait

WAIT = """
import os
from sketchbench.kernels import load
load("numba").random_words(1, 2, 0, 1, 2**17)
print(os.environ.get("OMP_WAIT_POLICY"))
"""


@pytest.mark.parametrize(("given", "turns"), [(None, 0), ("active", 30_000_000_000)])
def test_openmp_waits_passively(given: str | None, turns: int) -> None:
    """GNU OpenMP tells how often a thread looks before it sleeps (300,000 by default); the user's choice stands."""
    own = {"OMP_WAIT_POLICY": given} if given else {}
    done = run(WAIT, OMP_DISPLAY_ENV="verbose", NUMBA_THREADING_LAYER="omp", NUMBA_NUM_THREADS="2", **own)
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip("Numba's layer omp is not installed")
    if done.returncode == 0 and "GOMP_" not in done.stderr:
        pytest.skip("Numba's layer omp is not that of GNU")
    assert f"GOMP_SPINCOUNT = '{turns}'" in done.stderr
    assert done.stdout == f"{given}\n"
