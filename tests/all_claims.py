"""The claims of conf/claim by id, read once in each process that runs tests: reading them takes a second."""

from typing import Any

import yaml

from sketchbench.base.project import CONF
from sketchbench.report.claim.claims import read_claims
from sketchbench.run.config.chapters import claims, entries_of, files
from sketchbench.run.config.schema import load

CLAIMS = {claim.id: claim for claim in read_claims(files(CONF, "claim"))}


def entry(kind: str, name: str) -> dict[str, Any]:
    """The content of a claim or an erratum, as a file of its own would have it."""
    paths = [claims(CONF)[name]] if kind == "claim" else files(CONF, kind)
    places = (entry for path in paths for entry in entries_of(path, load(path)))
    return next(content for _, content in places if content["id"] == name)


def entry_text(kind: str, name: str) -> str:
    """The same as YAML."""
    return yaml.safe_dump(entry(kind, name), sort_keys=False, allow_unicode=True, width=1000, default_flow_style=None)
