"""The line of progress: what it counts, and the time left that it tells."""

import io
import logging
import time

import pytest
from rich.console import Console

from sketchbench.plan import progress
from sketchbench.plan.progress import OTHER, START, State


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_that_of_what_is_left_on_all_slots() -> None:
    clock = Clock()
    state = State({("tails", str(n)): 18.0 for n in range(1, 5)}, slots=2, clock=clock)
    state.plan({"run": 4, "table": 1, "all": 1, "total": 6})
    assert state.left == pytest.approx((4 * (18 + START) + OTHER) / 2)
    state.begin(1, "run", {"study": "tails", "batch": "1"}, "")
    clock.now = 5.0
    assert state.left == pytest.approx((3 * (18 + START) + 15 + OTHER) / 2)


def test_it_is_no_less_than_the_longest_job_left() -> None:
    state = State({("a", "1"): 100.0, ("b", "1"): 2.0}, slots=8, clock=Clock())
    assert state.left == pytest.approx(100 + START)


def test_a_slow_machine_is_noticed() -> None:
    clock = Clock()
    state = State({("a", "1"): 598.0, ("a", "2"): 598.0}, slots=1, clock=clock)
    state.begin(1, "run", {"study": "a", "batch": "1"}, "")
    clock.now = 1200.0  # twice the 600 that were recorded
    state.end(1)
    assert state.left == pytest.approx(600 * (1200 + 60) / (600 + 60))


def test_what_was_never_measured_leaves_the_time_unknown_until_it_is_done() -> None:
    state = State({("a", "1"): None}, slots=1, clock=Clock())
    state.plan({"run": 1, "all": 1, "total": 2})
    assert state.left is None
    state.begin(1, "run", {"study": "a", "batch": "1"}, "")
    assert "time left unknown; now a 1" in state.line
    state.end(1)
    assert state.left == 0


def test_a_failed_job_is_counted_until_it_is_begun_again() -> None:
    state = State({("a", "1"): 1.0}, slots=1, clock=Clock())
    state.plan({"run": 1, "all": 1, "total": 2})
    state.begin(1, "run", {"study": "a", "batch": "1"}, "")
    state.fail(1)
    assert state.line == "0 of 2 steps done; 1 failed; about 0 seconds left"
    state.begin(1, "run", {"study": "a", "batch": "1"}, "")
    assert "failed" not in state.line


def test_what_stands_already_is_told() -> None:
    state = State({("a", "1"): 1.0, ("a", "2"): 9.0}, {"first": "first verdicts in claims.md"}, clock=Clock())
    state.plan({"run": 2, "first": 1, "all": 1, "total": 4})
    for number, rule in enumerate(("run", "first")):
        assert "verdicts" not in state.line
        state.begin(number, rule, {"study": "a", "batch": "1"}, "first verdicts")
        assert "verdicts in" not in state.line
        state.end(number)
    assert state.line.startswith("2 of 4 steps done; first verdicts in claims.md; about ")


def _said(logger: logging.Logger, **event: object) -> None:
    logger.info("what Snakemake says", extra=event)


def test_in_a_log_the_course_of_jobs_is_a_line_now_and_then_and_all_else_stays() -> None:
    logger = logging.getLogger("tests.progress")
    logger.setLevel(logging.INFO)
    theirs, ours = io.StringIO(), io.StringIO()
    inner = logging.StreamHandler(theirs)
    inner.name = progress.SNAKEMAKES
    handler = progress.Progress(
        State({("a", "1"): 9.0}), inner, Console(file=ours, width=40), every=0.05, slots=lambda: 1
    )
    logger.addHandler(inner)
    logger.addHandler(handler)
    try:
        _said(logger, event="run_info", stats={"run": 1, "table": 1, "total": 3, "all": 1})
        _said(logger, event="job_info", jobid=1, rule_name="run", wildcards={"study": "a", "batch": "1"}, rule_msg="")
        logger.warning("a warning")
        time.sleep(0.2)
        _said(logger, event="job_error", jobid=1)
    finally:
        handler.close()
        logger.handlers.clear()
    # The list of jobs once, warnings and errors; not the course of jobs.
    assert theirs.getvalue() == "what Snakemake says\na warning\nwhat Snakemake says\n"
    lines = ours.getvalue().splitlines()
    assert len(lines) >= 2
    assert lines[0].endswith("0 of 3 steps done; about 14 seconds left")
    assert lines[1].endswith("0 of 3 steps done; about 14 seconds left; now a 1")


def test_a_dry_run_has_no_course() -> None:
    inner, ours = logging.StreamHandler(io.StringIO()), io.StringIO()
    handler = progress.Progress(State({}), inner, Console(file=ours), every=0.01, slots=lambda: 0)
    record = logging.LogRecord("", logging.INFO, "", 0, "", (), None)
    record.event, record.stats = "run_info", {"total": 1}
    handler.emit(record)
    time.sleep(0.05)
    assert ours.getvalue() == ""
    assert not inner.filters


def test_on_a_terminal_it_is_one_line_that_goes_away() -> None:
    logger = logging.getLogger("tests.progress")
    logger.setLevel(logging.INFO)
    ours, inner = io.StringIO(), logging.StreamHandler(io.StringIO())
    console = Console(file=ours, force_terminal=True, width=60, legacy_windows=False)
    handler = progress.Progress(State({("a", "1"): 9.0}), inner, console, slots=lambda: 1)
    logger.addHandler(handler)
    try:
        _said(logger, event="run_info", stats={"run": 1, "total": 2, "all": 1})
        _said(logger, event="job_info", jobid=1, rule_name="run", wildcards={"study": "a", "batch": "1"}, rule_msg="")
        time.sleep(1.3)
        _said(logger, event="job_finished", job_id=1)
        _said(logger, event="job_finished", job_id=0)
    finally:
        handler.close()
        logger.handlers.clear()
    assert "0 of 2 steps done" in ours.getvalue()
    assert "\x1b[?25h" in ours.getvalue()  # the cursor is there again
