"""A wrong call of a command line program is one clear line, a non-zero exit code, and nothing written."""

from pathlib import Path

import pytest
from ending import ending
from programs import CALLS, FILES, ROOT, Call

from sketchbench.command.main import main
from sketchbench.report import seal


def spelled(argument: str, folder: Path) -> str:
    """An argument with its files in a folder."""
    if argument == "%":
        return str(ROOT)
    return str(folder / argument[1:]) if argument[:1] in "@>" and argument else argument


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.program}: {call.words}"[:70])
def test_a_wrong_call(call: Call, tmp_path: Path) -> None:
    for name, content in FILES.items():
        if f"@{name}" in call.arguments:
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            if name.endswith(".csv") and call.program in ("check", "step claims", "step figure"):
                seal.write("claims" if call.program == "check" else "table", "quick", {}, [tmp_path / name])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = [*call.program.split(), *(spelled(argument, tmp_path) for argument in call.arguments)]
    end = ending(main, arguments, call.stdin)
    assert not end.faults(call.words)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
