"""The colours of verdicts, in the light scheme and in the dark one, have the contrast that WCAG asks of text: 4.5."""

import re
from pathlib import Path

import pytest

from sketchbench.report.site import build

STYLE = (Path(build.__file__).with_name("theme") / "site.css").read_text(encoding="utf-8")
# With the theme's background, and that of an alarm (--row on it).
SCHEMES = {":root": ("#ffffff", "#eeeeee"), '[data-md-color-scheme="slate"]': ("#1e2129", "#2d3037")}


def luminance(colour: str) -> float:
    """Relative luminance of sRGB, as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_verdicts_are_legible(scheme: str) -> None:
    rule = STYLE.partition(f"{scheme} {{")[2].partition("}")[0]
    colours = dict(re.findall(r"--(good|bad|open|plain): (#[0-9a-f]{6})", rule))
    assert len(colours) == 4
    assert min(contrast(one, other) for one in colours.values() for other in SCHEMES[scheme]) >= 4.5
