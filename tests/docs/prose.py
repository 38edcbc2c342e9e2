"""README and documentation as tests read them: their code blocks, commands, links and headings."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")] + [*(ROOT / "docs").rglob("*.md")]
)
TIME = re.compile(r"\b\d[\d.]*(?: to \d+)? (?:seconds?|minutes?|hours?)\b|\bdays\b")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in this language."""
    return [code for name, code in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes:
        words: as a shell splits them, without settings of variables before them.
        time: how long it takes, by a comment at its end or on the line above; "" if neither says so.
    """

    page: str
    words: tuple[str, ...]
    time: str

    @property
    def takes_time(self) -> bool:
        """Whether the page says how long it takes; it is not run by the tests then."""
        return bool(self.time)

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def commands(page: Path) -> list[Command]:
    """What a page's shell blocks tell the reader to type, in their order."""
    found = []
    for block in blocks(page, "sh"):
        above = ""
        for line in block.replace("\\\n", " ").splitlines():
            code, comment = _parted(line)
            if not code:
                above = comment
                continue
            words = shlex.split(code)
            while re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            time = TIME.search(comment or above)
            found.append(Command(title(page), tuple(words), time[0] if time else ""))
            above = ""
    return found


def _parted(line: str) -> tuple[str, str]:
    """The code and the comment of a line of a shell."""
    match = re.fullmatch(r"(|.*?\s)#\s(.*)", line)
    return (match[1].strip(), match[2]) if match else (line.strip(), "")


def files(page: Path) -> dict[str, str]:
    """The reader's own files that a page shows, each named before its block, such as `mine/sketch/own.yaml`."""
    text = page.read_text(encoding="utf-8")
    return dict(re.findall(r"`(mine/[\w/]+\.\w+)`[^`]*```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def links(page: Path) -> list[str]:
    """What a page links to, and the pictures that it shows."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as MkDocs and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text in headings}
