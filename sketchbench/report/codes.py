"""Digests of the code that makes reports, which reports' seals name.

Snakemake plans by these digests, and hands each step the digest of its code. A step refuses any other code, so edits
during a run take no part, and a run makes reports of other code again, whatever Snakemake remembers.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sketchbench.base.errors import ConfigError
from sketchbench.run.digest import CodeDigest

DIGEST = CodeDigest(descriptions=True)  # of the files at the first use, with descriptions, which reports show
# The modules that make a report, by `Seal.kind`; the catalogue has the modules of figures.
MAKERS = {
    "table": ("sketchbench.report.table.joining",),
    "claims": ("sketchbench.report.claim.judge",),
    "printed": ("sketchbench.report.printed.cells",),
    "frontier": ("sketchbench.plan.trained", "sketchbench.report.frontier.cells"),
}
CHANGED = "the code changed since this run was planned; start the same command again"


def code_of(kind: str, digest: CodeDigest = DIGEST) -> str:
    """The digest, 16 hex digits, of the code that makes reports of a kind, a key of `MAKERS`."""
    return digest(MAKERS[kind])


def check_planned(planned: str, *found: str) -> None:
    """Raise ConfigError if this code's digests differ from the planned digests, joined by commas ("": none planned).

    Call it after importing the code.
    """
    if planned and planned != ",".join(found):
        raise ConfigError(CHANGED)


@contextmanager
def unchanged(*modules: str) -> Iterator[None]:
    """Raise ConfigError if these modules changed during the work, since an import may precede or follow an edit."""
    before = CodeDigest(descriptions=True)(modules)
    yield
    if CodeDigest(descriptions=True)(modules) != before:
        raise ConfigError("the code changed during this command; start it again")
