"""The claims of conf/claim by id, read once in each process that runs tests: reading them takes a second."""

from sketchbench.base.project import CONF
from sketchbench.report.claim.claims import read_claims

CLAIMS = {claim.id: claim for claim in read_claims((CONF / "claim").glob("*.yaml"))}
