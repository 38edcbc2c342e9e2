"""Every colour that a figure draws with stands out from its background: a contrast of 3 at least, as WCAG asks.

Figures are on white in both colour schemes of the site.
"""

import ast
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sketchbench.report.figure import losses, style

FOLDER = Path(style.__file__).parent
LEAST = 3.0
WRITTEN = re.compile(
    r"#[0-9a-fA-F]{6}|0\.\d+|black|gray|grey|(tab:)?(blue|orange|green|red|purple|brown|pink|olive|cyan)"
)
BEHIND = {"0.9"}  # of the grid, which is to be seen, and not to be read


def contrast(colour: Any, background: Any = "white") -> float:
    """The ratio of WCAG 2, from 1 to 21."""
    light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: Any) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast("black") == pytest.approx(21)
    assert contrast("#767676") == pytest.approx(4.54, abs=0.01)
    assert contrast("#e69f00") == pytest.approx(2.25, abs=0.05)  # the orange of Okabe and Ito, which this is to find


def test_every_colour_of_the_palettes() -> None:
    looks = [*style.LOOKS.values(), *style.RECOVERY_LOOKS.values(), *style.COMPRESSOR_LOOKS.values()]
    colours = {
        *style.COLOURS,
        style.INK,
        style.EXACT,
        *(look[1] for look in looks),
        *(spare[1] for spare in style.SPARE),
    }
    low = {colour: contrast(colour) for colour in colours if contrast(colour) < LEAST}
    assert not low


def test_shades_begin_where_they_stand_out() -> None:
    shades = mpl.colormaps[losses.SHADES]
    assert min(contrast(shades(place)[:3]) for place in np.linspace(losses.LIGHTEST, 1, 50)) >= LEAST


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_colour_that_a_module_writes(path: Path) -> None:
    texts = {
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and WRITTEN.fullmatch(node.value)
    }
    low = {text: contrast(text) for text in texts - BEHIND if contrast(text) < LEAST}
    assert not low
