"""The code that makes reports, by digests: a part of what each report is made of.

Snakemake plans by these digests, and hands each step that of its own code. The step refuses to run by other code than
was planned, and the seal of what it makes names the digest. So a report of other code is made again, whatever Snakemake
remembers, and what is edited while jobs run takes no part.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sketchbench.base.errors import ConfigError
from sketchbench.run.digest import CodeDigest

DIGEST = CodeDigest(descriptions=True)  # reports show what columns mean; of the files as they are when first asked for
# The modules that make a report, by kind (see `seal.KINDS`); those of a figure are in the catalogue.
MAKERS = {
    "table": ("sketchbench.report.table.joining",),
    "claims": ("sketchbench.report.claim.judge",),
    "printed": ("sketchbench.report.printed.cells",),
    "frontier": ("sketchbench.plan.trained", "sketchbench.report.frontier.cells"),
}
CHANGED = "the code changed since this run was planned; start the same command again"


def code_of(kind: str, digest: CodeDigest = DIGEST) -> str:
    """16 hex digits that change with the code that makes reports of a kind, a key of `MAKERS`."""
    return digest(MAKERS[kind])


def check_planned(planned: str, *found: str) -> None:
    """Compare the digests of this code with those that were planned, joined by commas ("": nobody planned anything).
    Call it after the code has been imported. Raises ConfigError, in one line, where they differ."""
    if planned and planned != ",".join(found):
        raise ConfigError(CHANGED)


@contextmanager
def unchanged(*modules: str) -> Iterator[None]:
    """Work that is done by these modules. Raises ConfigError, in one line, where their code is another one after it:
    some may have been imported before an edit, and some after it."""
    before = CodeDigest(descriptions=True)(modules)
    yield
    if CodeDigest(descriptions=True)(modules) != before:
        raise ConfigError("the code changed in the meantime; start the same command again")
