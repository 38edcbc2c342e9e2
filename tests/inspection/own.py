"""A user's folder with one sound family, and ways to spoil it."""

import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "family.md").read_text(encoding="utf-8")


def example(language: str, marker: str) -> str:
    """The one code block of the page on families in this language with this text in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    (block,) = (block for block in blocks if marker in block)
    return str(block)


MODULE = example("python", "class HalfSigns")
CONFIG = example("yaml", "_target_: my_sketches.HalfSigns")
SKETCH = "sketch/half_signs.yaml"


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files, by their paths in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def replaced(text: str, old: str, new: str) -> str:
    assert old in text, f"{old!r} is not there to be replaced"
    return text.replace(old, new)
