"""Checksums of a copy of a data set for whose files none are published: written once, verified whenever it is read.

A flipped bit in a photograph gives other pixels and no error, so a file that nothing vouches for is not read. The list
is `SHA256SUMS` in the folder of the copy, in the format of `sha256sum`, so that `sha256sum --check` reads it, too.
"""

import hashlib
import re
from pathlib import Path

NAME = "SHA256SUMS"
LARGEST = 1 << 24  # bytes of a list; one of 13,234 faces has 1.6 million
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def bounded(path: Path, most: int, what: str) -> bytes:
    """The bytes of a file.

    Raises:
        ValueError: where it can't be read, or has more than `most` bytes, of which no more are read; the message begins
            with `what`, the data set.
    """
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ValueError(f"{what}: {path} can't be read ({error.strerror}); get it again") from None
    if len(content) > most:
        raise ValueError(f"{what}: {path} has more than {most} bytes, as no such file has; get it again")
    return content


class Verified:
    """A folder of which only those files can be read that its list vouches for.

    Arguments:
        folder: the folder with the list.
        what: the data set, for messages.
        command: what writes the list.

    Raises:
        ValueError: where there is no list, or it can't be read.
    """

    def __init__(self, folder: Path, what: str, command: str) -> None:
        self._folder, self._what, self._command = folder, what, command
        if not (folder / NAME).is_file():
            raise ValueError(
                f"{what}: no published checksums vouch for the files in {folder}, and there is no {NAME}; if you trust "
                f"this copy, write it once with `{command}`"
            )
        text = bounded(folder / NAME, LARGEST, what).decode("utf-8", "replace")
        lines = [_LINE.fullmatch(line) for line in text.splitlines()]
        if not lines or None in lines:
            raise ValueError(f"{what}: {folder / NAME} is no list of checksums; write it again with `{command}`")
        self._sums = {line[2]: line[1] for line in lines if line}

    def read(self, path: Path, most: int) -> bytes:
        """The bytes of a file of at most `most` bytes.

        Raises:
            ValueError: for one that is larger, is not in the list, or is not what the list says.
        """
        content = bounded(path, most, self._what)
        known = self._sums.get(path.relative_to(self._folder).as_posix())
        if known != hashlib.sha256(content).hexdigest():
            wrong = "is not in" if known is None else "was changed: its checksum differs from that in"
            raise ValueError(
                f"{self._what}: {path} {wrong} {NAME}; get it again, or, if you trust it, run `{self._command}`"
            )
        return content
