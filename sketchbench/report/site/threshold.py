"""The picture of docs/findings.md: the totals up to which song2023 Theorem 6.2 holds, over δ; computed, not run."""

import math
import textwrap

from sketchbench.privacy.threshold import largest_total

CONSTANTS = (1.0, 2.0, 4.0)  # times the σ² of Lemma H.7
POWERS = (-15.0, -1.0)  # of ten, the range of δ
DECADES = (-1.0, 3.0)  # of the total ε
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 300, 200, 34, 14, 8, 32
POINTS = 57  # of a curve


def plot(caption: str) -> str:
    """Return docs/theorem_6_2.svg: an SVG file on white, in its own colours, with `caption` as its label."""
    parts = [_text(LEFT, HEIGHT - 4, "total δ", "start"), _text(LEFT + 3, TOP + 10, "total ε", "start")]
    for power in range(int(DECADES[0]), int(DECADES[1]) + 1):
        y = _y(10.0**power)
        parts += [_line(LEFT, WIDTH - RIGHT, y, y, 0.15), _text(LEFT - 5, y + 3, f"{10.0**power:,g}", "end")]
    for power in range(int(POWERS[0]), int(POWERS[1]) + 1, 7):
        parts.append(_text(_x(10.0**power), HEIGHT - BOTTOM + 13, f"1e{power}", "middle"))
    parts.append(f'<g stroke-dasharray="4 3">{_line(LEFT, WIDTH - RIGHT, _y(1.0), _y(1.0), 1.0)}</g>')
    parts.append(_text(WIDTH - RIGHT, _y(1.0) - 5, "a theorem up to 1", "end"))
    for constant in CONSTANTS:
        curve = _curve(constant)
        points = " ".join(f"{_x(delta):.1f},{_y(total):.1f}" for delta, total in curve)
        tip = f"{constant:g} σ²: least {min(total for _, total in curve):.1f}"
        parts.append(f'<polyline fill="none" stroke="currentColor" points="{points}"><title>{tip}</title></polyline>')
        _, last = curve[-1]
        parts.append(_text(WIDTH - RIGHT, _y(last) - 4, f"{constant:g} σ²", "end"))
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{caption}"'
    white = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    size = f'width="{2 * WIDTH}" height="{2 * HEIGHT}"'
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} color="#1b1b1b">'
    file = f"{opened}{white}{''.join(parts)}</svg>"
    return textwrap.fill(file, 120, break_long_words=False, break_on_hyphens=False) + "\n"  # a space is a space


def _curve(constant: float) -> list[tuple[float, float]]:
    """Pairs of δ and the largest total."""
    low, high = POWERS
    deltas = [10 ** (low + (high - low) * index / (POINTS - 1)) for index in range(POINTS)]
    return [(delta, largest_total(delta, constant)) for delta in deltas]


def _x(delta: float) -> float:
    low, high = POWERS
    return LEFT + (math.log10(delta) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _y(total: float) -> float:
    low, high = DECADES
    return HEIGHT - BOTTOM - (math.log10(total) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def _line(x1: float, x2: float, y1: float, y2: float, opacity: float) -> str:
    ends = f'x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="{opacity:g}"/>'


def _text(x: float, y: float, words: str, anchored: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchored}" fill="currentColor" font-size="9" '
        f'font-family="sans-serif">{words}</text>'
    )
