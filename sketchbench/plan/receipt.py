"""The receipt of a batch of runs: written when it has been worked on, and what Snakemake sees of its records.

It says of each run that its record is there, or that it is to be gone on with.
"""

import re
from collections.abc import Container, Mapping

UNFINISHED = "-" * 16  # in the place of a signature
FORM = re.compile(r"(([0-9a-f]{16}|-{16}) .+\n)+")  # of what `text` gives


def text(signatures: Mapping[str, str], unfinished: Container[str] = ()) -> str:
    """What a receipt says: the signatures of the records, by their paths, but for those of unfinished runs."""
    told = {path: UNFINISHED if path in unfinished else signature for path, signature in signatures.items()}
    return "".join(f"{signature} {path}\n" for path, signature in told.items())


def unfinished(text: str) -> list[str]:
    """The paths of the records that a receipt says are to be gone on with."""
    return [line.partition(" ")[2] for line in text.splitlines() if line.startswith(UNFINISHED)]
