"""The first page: what was found, whether the papers are right, and whether everything is as expected."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.site import verdicts
from sketchbench.site.page import Asset, Page, Scale


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """The first page."""
    found = pd.concat([verdicts.read(scale) for scale in scales], ignore_index=True)
    counts = found["verdict"].value_counts()
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    yield Page("index.md", "Is the claim right?", f"Verdicts: {said}. [All claims](claims.md).")
