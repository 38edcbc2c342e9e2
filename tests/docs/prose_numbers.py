"""The numbers in prose: reasons of claims, README and pages. numbers.yaml says what row of a table each number is of.

`python tests/docs/prose_numbers.py` prints each number that differs from its row, and with `--fill` writes the row's
number into the prose.
"""

import math
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from prose import FENCE, PAGES, ROOT, title

CHECKOUT = ROOT / "reports"
MAP = Path(__file__).with_name("numbers.yaml")
NUMBER = re.compile(r"(?<![\w.^])(?:(?<![^\s(])-)?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?!\w|\.\d|-wise|-bit)")
PLACES = "Theorem|Lemma|Definition|Appendix|Table|Figure|Algorithm|Remark|Corollary|Equation|Section|Python"
NAMES = re.compile(  # numbers in the names of things: code, links, places in papers, claims, files, data sets, years
    r"`[^`]*`|\]\([^)]*\)|\(\d+\)"
    rf"|\b(?:{PLACES})s? [\w.]+(?:(?:, | and |-)[\w.]*\d[\w.]*)*"
    r"|\b(?:[a-z]+20\d\d-\S+|[A-Z]{1,2}\d+[\w-]*|[A-Z]\.\d[\w.-]*|[A-Za-z][\w-]*-\d+)|§[\d.]+|\b(?:19|20)\d\d\b(?!-)"
    r"|[\w)]+\^-?[\w.]+|\b(?:1|\d?[a-zK])/\d+\b(?!\.)",  # powers, and shares such as 1/64 and d/4
)
HEADING = re.compile(r"^(?:#.*$|\d\. )", re.MULTILINE)
VARIABLE = "d|b|n|k|m|t|s|p|q|W|K|T|Q|δ|ε|ε̂|γ|ηK|d_out|d_in"
SETTING = re.compile(rf"(?<![\w‖])(?:{VARIABLE})(?:\s[<>]?=?|\s=)\s-?[\d.,]*\d(?:e-?\d+)?")
WHERE = ("method", "quantity", "case")  # the columns that a bare word of a reference may be of


class NumberError(ValueError):
    """A reference of numbers.yaml that finds no rows."""


class AwaitedError(NumberError):
    """A reference to a table of the papers' sizes that is being measured again."""


@dataclass(frozen=True)
class Prose:
    """A text with numbers: a page, or a reason of a claim at a scale; it stands at `start` to `end` of the file."""

    name: str
    path: Path
    start: int
    end: int
    claim: str = ""
    scale: str = "quick"
    settings: str = ""

    @property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")[self.start : self.end]

    @property
    def words(self) -> str:
        """The text on one line, without blocks of code and headings."""
        return " ".join(HEADING.sub(" ", FENCE.sub(" ", self.source)).split())


def texts() -> Iterator[Prose]:
    for page in PAGES:
        yield Prose(title(page), page, 0, len(page.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "conf" / "claim").rglob("*.yaml")):
        source = path.read_text(encoding="utf-8")
        root, content = yaml.compose(source, yaml.CSafeLoader), yaml.load(source, yaml.CSafeLoader)
        several = "id" not in content
        for place, node in _reasons(root, ()):
            claim = place[0] if several else content["id"]
            inside = place[several:-1]
            own = content[claim] if several else content
            scale = inside[1] if inside[:1] == ("scales",) else "quick"
            name = "/".join([claim, *(part for part in inside if part != "scales")])
            said = " ".join(str(own.get(key, "")) for key in ("statement", "words", "formula", "dataset", "checks"))
            yield Prose(name, path, node.start_mark.index, node.end_mark.index, claim, scale, said)


def _reasons(node: yaml.Node, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "reason":
                yield (*place, key.value), value
            else:
                yield from _reasons(value, (*place, key.value))


@cache
def references() -> dict[str, dict[str, Any]]:
    return yaml.load(MAP.read_text(encoding="utf-8"), yaml.BaseLoader)  # all keys are text


def unmarked(text: Prose, reports: Path) -> list[str]:
    """The numbers of a text that are neither of a name, nor in numbers.yaml, nor in the claim's statement, nor the
    number of trials of one of its verdicts."""
    words = text.words
    own = references().get(text.name, {})
    for pattern in (NAMES, SETTING):
        words = pattern.sub(lambda found: "~" * len(found[0]), words)
    for phrase in own:
        if phrase not in ("settings", "once"):
            words = re.sub(spaced(phrase), lambda found: "~" * len(found[0]), words)
    known = {*own.get("settings", "").split(), *own.get("once", "").split(), *NUMBER.findall(text.settings)}
    if text.claim:
        for verdicts in (table(reports, "claims", scale) for scale in ("quick", "paper")):
            known |= {f"{trials:.0f}" for trials in verdicts["trials"][verdicts["claim"] == text.claim].dropna()}
    return [number for number in NUMBER.findall(words) if number not in known]


def spaced(phrase: str) -> str:
    """The pattern of a phrase in a text, where it is no part of another number."""
    return r"(?<![\w.,])" + r"\s+".join(map(re.escape, phrase.split())) + r"(?![\w]|[.,]\d)"


@cache
def table(reports: Path, name: str, scale: str) -> pd.DataFrame:
    folder = reports / ("" if scale == "quick" else scale)
    place = {"claims": "claims.csv", "frontier.csv": "frontier.csv"}.get(name, f"tables/{name}.csv")
    return pd.read_csv(folder / place, low_memory=False)


def value(reference: str, text: Prose, reports: Path) -> list[float]:
    """The numbers of a reference: those of all its rows. A reference may join rows and numbers by + - * /."""
    first, *rest = re.split(r" ([-+*/]) ", reference)
    found = _rows(first, text, reports)
    for operator, other in zip(rest[::2], rest[1::2], strict=True):
        right = _rows(other, text, reports)
        if len(right) == 1:
            right *= len(found)
        found *= len(right) if len(found) == 1 else 1
        apply = {"+": float.__add__, "-": float.__sub__, "*": float.__mul__, "/": float.__truediv__}[operator]
        found = [apply(one, two) for one, two in zip(found, right, strict=True)]
    return found


def _rows(reference: str, text: Prose, reports: Path) -> list[float]:
    """The numbers of `TABLE[@SCALE] WORD... [min|max|mean|sum] EXPRESSION`, one for each row that has all words."""
    name, *conditions = shlex.split(reference)
    if not conditions:
        return [float(name)]
    *conditions, expression = conditions
    name, _, scale = name.partition("@")
    scale = scale or text.scale
    awaited = references()["awaited"].split() if scale == "paper" else []
    if name in awaited:
        raise AwaitedError(reference)
    rows = table(reports, name, scale)
    if name == "claims" and not any(one.startswith("claim=") for one in conditions):
        conditions = [f"claim={text.claim}", *conditions]
    join = conditions.pop() if conditions[-1:] and conditions[-1] in ("min", "max", "mean", "sum") else ""
    chosen = pd.Series(True, rows.index)
    for condition in conditions:
        named = re.fullmatch(r"(\w+)=(.*)", condition)
        column, wanted = named.groups() if named else ("", condition)
        if not named:
            column = next((one for one in WHERE if one in rows and (rows[one] == wanted).any()), "")
            if not column:
                raise NumberError(f"{reference}: no row has {wanted}")
        cells = rows[column]
        if not wanted:
            chosen &= cells.isna()
        elif pd.api.types.is_numeric_dtype(cells):
            chosen &= cells == float(wanted)
        else:
            chosen &= cells.isin(wanted.split("|"))
    rows = rows[chosen]
    if name == "claims" and rows["study"].isin(awaited).any():
        raise AwaitedError(reference)
    if not len(rows):
        raise NumberError(f"{reference}: no row")
    numbers = pd.Series(rows.eval(expression, engine="python"), dtype=float)
    return [float(getattr(numbers, join)())] if join else [float(number) for number in numbers]


def agrees(told: str, number: float) -> bool:
    """Whether a number is the one that is told, at its last digit; of the zeros at the end of 12,000 only the
    first may be one."""
    plain = told.replace(",", "")
    digits, _, power = plain.partition("e")
    last = -len(digits.partition(".")[2]) + int(power or 0)
    if "." not in digits:
        last += max(0, min(len(digits) - len(digits.rstrip("0")), len(digits) - 2))
    return math.isfinite(number) and abs(float(plain) - number) <= 0.5000001 * 10.0**last


def written(number: float, like: str) -> str:
    """A number with the digits of the one that it replaces."""
    if "e" in like:
        return f"{number:.{len(like.partition('e')[0].partition('.')[2])}e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{number:{',' if abs(number) >= 1000 else ''}.{len(like.partition('.')[2])}f}"


def differing(text: Prose, reports: Path) -> list[tuple[str, str, float]]:
    """The phrases of a text whose number is not that of its row: the phrase, its number, and that of the row."""
    found = []
    for phrase, reference in references().get(text.name, {}).items():
        if phrase not in ("settings", "once"):
            (told,) = NUMBER.findall(phrase)
            try:
                numbers = value(reference, text, reports)
            except AwaitedError:
                continue
            except NumberError as error:
                raise NumberError(f"{text.name}: {phrase}: {error}") from None
            found += [(phrase, told, number) for number in numbers[:] if not agrees(told, number)][:1]
    return found


def fill(text: Prose, reports: Path) -> None:
    """Write the numbers of its rows into a text, and into the phrases of numbers.yaml."""
    new = {phrase: phrase.replace(told, written(number, told)) for phrase, told, number in differing(text, reports)}
    if new:
        pattern = "|".join(map(spaced, sorted(new, key=len, reverse=True)))
        source = re.sub(pattern, lambda found: new[" ".join(found[0].split())], text.source)
        whole = text.path.read_text(encoding="utf-8")
        text.path.write_text(whole[: text.start] + source + whole[text.end :], encoding="utf-8")
        before, name, after = MAP.read_text(encoding="utf-8").partition(f"\n{text.name}:\n")
        own, *others = re.split(r"^(?=\S)", after, maxsplit=1, flags=re.MULTILINE)
        for phrase, other in new.items():
            own = re.sub(rf"^(  '?){re.escape(phrase)}('?: )", rf"\g<1>{other}\2", own, flags=re.MULTILINE)
        MAP.write_text(before + name + own + "".join(others), encoding="utf-8")


def main() -> None:
    for text in list(texts())[::-1]:  # from the end of each file, so that the places before stay
        for phrase, _, number in differing(text, CHECKOUT):
            print(f"{text.name}: {phrase}: {number:.6g} by its row")
        if "--fill" in sys.argv:
            fill(text, CHECKOUT)


if __name__ == "__main__":
    main()
