"""The receipt of a batch of runs: written when all of its records are there, and what Snakemake sees of them."""

import re
from collections.abc import Mapping

FORM = re.compile(r"([0-9a-f]{16} .+\n)+")  # of what `text` gives


def text(signatures: Mapping[str, str]) -> str:
    """What a receipt says: the signatures of the records, by their paths."""
    return "".join(f"{signature} {path}\n" for path, signature in signatures.items())
