"""An error of a user's code is described with its file and line, wherever it comes up."""

from pathlib import Path

import pytest
from own import CONFIG, MODULE, SKETCH, replaced, write

from sketchbench.base.errors import blame
from sketchbench.run import job
from sketchbench.run.config import composition
from sketchbench.run.signature import signature


@pytest.fixture
def module(folder: Path) -> Path:
    """A module of a user's, which is not there yet."""
    return folder / "my_sketches.py"


def test_the_innermost_place(module: Path) -> None:
    """Of the user's functions; an error inside of ours or of a library counts as that of the line that called it."""
    module.write_text("import json\n\n\ndef f():\n    return json.loads('{')\n\n\ndef g():\n    return f()\n")
    import my_sketches  # type: ignore[import-not-found]

    with pytest.raises(ValueError, match="Expecting") as raised:
        my_sketches.g()
    line = blame(raised.value, module.parent)
    assert line is not None
    assert line.startswith("my_sketches.py, line 5, in f: JSONDecodeError: Expecting")
    assert blame(raised.value, module.parent / "elsewhere") is None
    assert blame(raised.value, None) is None


def test_what_it_was_raised_from_counts(module: Path) -> None:
    module.write_text("def f():\n    raise KeyError('x')\n")
    import my_sketches

    with pytest.raises(ValueError, match="wrapped") as raised:
        try:
            my_sketches.f()
        except KeyError as error:
            raise ValueError("wrapped") from error
    assert blame(raised.value, module.parent) == "my_sketches.py, line 2, in f: KeyError: 'x'"


@pytest.mark.parametrize("error", ["ZeroDivisionError('x')", "SystemExit(0)", "KeyError('x')", "RecursionError('x')"])
def test_in_a_job(module: Path, error: str) -> None:
    """A run whose code raises anything has no record, and the job says where it was raised."""
    rows = "            signs ="
    code = replaced(MODULE, rows, f"            if self.d == 20:\n                raise {error}\n{rows}")
    folder = write(module.parent, {"my_sketches.py": code, SKETCH: CONFIG})
    options = ["sketch=half_signs", "b=4", "kernels=numpy", "task.trials=4", "task.pairs=[flat]"]
    batch = []
    for d in (20, 16):
        config = composition.frozen(composition.compose([*options, f"d={d}"], folder=folder)).config
        path = folder / "results" / f"{d}.parquet"
        batch.append({"name": str(d), "record": str(path), "config": config, "signature": signature(config, folder)})
    (line,) = job.run_batch(batch, folder).failed
    assert line.startswith(f"20: my_sketches.py, line 15, in rows_of: {error.partition('(')[0]}"), line
    assert [path.name for path in (folder / "results").iterdir()] == ["16.parquet"]
