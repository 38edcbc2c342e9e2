"""Checking a user's code in another process, so that whatever it does there is only a line here."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sketchbench.errors import ConfigError
from sketchbench.files import display_path
from sketchbench.inspection.method import Method
from sketchbench.project import PROJECT

SECONDS = 60.0  # that the check of one method may take, where nothing else is said
GRACE = 15.0  # seconds in which the process ends by itself where it took too long, and in which it starts
FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


def mistakes(
    methods: Sequence[Method], folder: Path, conf: Path, limit: float = SECONDS, overrides: Sequence[str] = ()
) -> list[str]:
    """A line for each mistake of these methods, checked one after the other in a process of their own.

    One that ends the process, or takes longer than `limit` seconds, is a mistake of its own; the others are checked in
    another process. 0.5 s for the first, and 0.1 s for each.

    Raises:
        ConfigError: where no process can be started.
    """
    found: list[str] = []
    left = list(methods)
    while left:
        answers, ending = _ask({"methods": left, "folder": str(folder), "conf": str(conf)}, limit, overrides, folder)
        done = [answer for answer in answers if "done" in answer]
        found += [line for answer in done for line in answer["mistakes"]]
        if len(done) == len(left):
            break
        if len(answers) == len(done) * 2:
            raise ConfigError(f"the check of {folder} could not be started: {ending}")
        found.append(f"{display_path(left[len(done)].path(folder))}: its code {ending}")
        left = left[len(done) + 1 :]
    return found


def _ask(
    asked: dict[str, object], limit: float, overrides: Sequence[str], folder: Path
) -> tuple[list[dict[str, list[str]]], str]:
    """What a process answered, and how it ended where that was too early."""
    receiving, sending = os.pipe()
    path = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors, os.fdopen(receiving, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-m", "sketchbench.inspection.child", str(sending)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(sending,),
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )
        os.close(sending)
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps({**asked, "limit": limit, "overrides": list(overrides)}))
            process.stdin.close()
            text = _received(process, pipe.fileno(), limit)
        except BrokenPipeError:
            text = ""
        finally:
            _end(process)
        errors.seek(0)
        said = errors.read()
    answers = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    return answers, _ending(process.returncode, said, folder, limit)


def _received(process: "subprocess.Popen[str]", pipe: int, limit: float) -> str:
    """All that comes through the pipe, until it is closed, the process ends, or nothing came for too long."""
    text = b""
    last = time.monotonic()
    while time.monotonic() - last < limit + GRACE:
        running = process.poll() is None
        ready, _, _ = select.select([pipe], [], [], 0.05 if running else 0)
        if ready:
            part = os.read(pipe, 2**16)
            text += part
            last = time.monotonic()
            if not part:
                break
        elif not running:
            break
    return text.decode(errors="replace")


def _end(process: "subprocess.Popen[str]") -> None:
    """Wait for a process that is about to end, and end it, with all that it started, if it does not."""
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ending(status: int, said: str, folder: Path, limit: float) -> str:
    """How a process ended, with the innermost place in the user's folder where it was."""
    frames = (match for match in FRAME.findall(said) if Path(match[0]).is_relative_to(folder))
    place = next((f"{Path(file).relative_to(folder)}, line {line}, in {name}" for file, line, name in frames), "")
    if "Timeout (" in said or (status == -signal.SIGKILL and not place):
        if "Timeout (" not in said:
            return "was killed, perhaps since it took too much memory"
        where = f"; it was at {place}" if place else ""
        return f"did not end within {limit:g} s{where}; make it faster, or set check_seconds to more"
    if status < 0:
        return f"crashed with {signal.Signals(-status).name}{f' at {place}' if place else ''}"
    last = said.strip().splitlines()[-1:]
    return f"ended the process with status {status}{': ' + last[0] if last else ''}"
