"""Whatever comes in: a program works or ends with one line, a file is read or refused in one line.

The finds of earlier runs are in the tables beside this file, where the messages are looked at, too.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
import yaml
from ending import ending
from examples import examples
from hypothesis import example, given
from reading import READ
from wrong_files import GROUPS

from sketchbench.base.errors import one_line
from sketchbench.command.main import main
from sketchbench.plan import making as plan
from sketchbench.run.config import composition, schema

HARMLESS = ["kernels=numpy", "d=12", "b=4", "task.trials=3"]
KEYS = ["d", "b", "seed", "task", "sketch", "kernels", "scale", "recovery", "task.trials", "task.pairs"]
KEYS += [
    "task._target_",
    "sketch.family",
    "sketch.family.hashing",
    "sketch.theory",
    "sketch.theory.embedding_constant",
    "sketch.name",
]
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8)
NESTED = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
WORDS = st.sampled_from([*"[]'\"=\\", "", "{}", "${d}", "${x}", "a,b", "1,2", "range(1,3)", "null", ".."])
PUT = [b"\t", b"&a ", b"*a", b"\n", b"- ", b": ", b"'", b"{", b"!!x "]
OVERRIDES = st.builds(
    lambda sign, key, value: f"{sign}{key}={value}",
    st.sampled_from(["", "", "", "", "", "", "+", "++", "~"]),
    st.sampled_from(KEYS) | st.sampled_from(KEYS) | st.text(max_size=6),
    NESTED.map(lambda value: json.dumps(value, ensure_ascii=False)) | WORDS | st.text(max_size=6),
)


def tried(call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call returns, and what it says where it refuses; it may raise no other error than a ValueError."""
    try:
        return call(), ""
    except ValueError as error:
        return None, str(error) or "an error that says nothing\n"


@examples(60)
@given(st.lists(OVERRIDES, min_size=1, max_size=3))
@example(["task.trials=1e400"])
@example(["sketch.theory.embedding_constant=abc"])
def test_overrides(overrides: list[str]) -> None:
    """What is composed is not run: sizes that are accepted may take hours."""
    composed, said = tried(lambda: composition.frozen(composition.compose([*HARMLESS, *overrides])))
    if not said:
        assert isinstance(composed.config["task"], dict)
        json.dumps(composed.config)


@examples(15)
@given(OVERRIDES)
def test_a_run(override: str) -> None:
    """A wrong value in a run of no cost; sizes and trials are left to the test above."""
    if override.lstrip("+~").split("=")[0].strip() in ("d", "b", "task.trials", "task", "scale"):
        return
    end = ending(main, ["run", *HARMLESS, override])
    if end.code not in (0, None):
        assert not end.faults("sketchbench: error: ")


def parts(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a YAML file's content."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [found for key, value in items for found in ((*path, key), *parts(value, (*path, key)))]


def changed(content: Any, path: tuple[Any, ...], value: Any, remove: bool) -> Any:
    """The content with another value at a path, or none."""
    key, *rest = path
    whole = dict(content) if isinstance(content, dict) else list(content)
    if rest:
        whole[key] = changed(whole[key], tuple(rest), value, remove)
    elif remove:
        del whole[key]
    else:
        whole[key] = value
    return whole


@st.composite
def damaged(draw: st.DrawFn, group: str) -> bytes:
    """A right file with one or two mistakes: in what it says, or in its characters."""
    text = GROUPS[group][0]
    if draw(st.booleans()):
        content = yaml.safe_load(text)
        for _ in range(draw(st.integers(1, 2))):
            path = draw(st.sampled_from(parts(content)))
            content = changed(content, path, draw(NESTED), draw(st.booleans()))
            if not content:
                break
        return yaml.safe_dump(content, allow_unicode=True).encode("utf-8", "surrogatepass")
    raw = bytearray(text.encode())
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(raw) - 1))
        put = draw(st.binary(max_size=3) | st.sampled_from(PUT))
        raw[place : place + draw(st.integers(0, 20))] = put
    return bytes(raw)


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in ("study", "workflow")])
def test_damaged_files(group: str) -> None:
    @examples(80)
    @given(damaged(group))
    def reads(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            assert "\n" not in tried(lambda: READ[group](content, Path(folder)))[1]

    reads()


def test_damaged_settings() -> None:
    """As far as they are checked before studies are planned."""

    @examples(80)
    @given(damaged("workflow"))
    def reads(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "workflow.yaml")
            path.write_bytes(content)
            found, said = tried(lambda: schema.read(path, "workflow"))
            assert "\n" not in said
            assert said or found["scale"] in schema.SCALES

    reads()


def test_damaged_studies() -> None:
    @examples(25)
    @given(damaged("study"))
    def reads(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            assert "\n" not in tried(lambda: READ["study"](content, Path(folder)))[1]

    reads()


@examples(40)
@given(st.text(max_size=10), st.integers() | st.floats() | st.none() | st.booleans(), st.text(max_size=10))
def test_a_plan(scale: str, seed: Any, studies: str) -> None:
    """No text is a scale or a study but those that there are, and no seed but a natural number."""
    with pytest.raises((ValueError, TypeError)) as caught:
        plan.expand(scale, "numpy", seed, studies)
    assert "\n" not in one_line(str(caught.value))
