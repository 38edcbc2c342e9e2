"""The claims: one list of all verdicts, and a page for each claim with its evidence."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.claim.claims import Claim, read_claims
from sketchbench.site import verdicts
from sketchbench.site.page import Asset, Page, Scale
from sketchbench.site.verdicts import badge, claim_files, escaped, link, number, prose, typeset


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """The list of all verdicts, then the claims in their order."""
    claims = read_claims(claim_files(conf))
    found = pd.concat([verdicts.read(scale) for scale in scales], ignore_index=True)
    yield Page("claims.md", "Claims", _listed(found))
    for claim in claims:
        yield Page(f"claims/{claim.id}.md", f"{claim.id}: {claim.place}", _claim(claim, found))


def _listed(found: pd.DataFrame) -> str:
    names = ("claim", "paper", "place", "role", "method", "verdict", "tightness", "scale", "study")
    rows = [
        f'<tr><td><a href="{link(row)}">{row["claim"]}</a></td><td>{escaped(row["paper"])}</td>'
        f"<td>{escaped(row['place'])}</td><td>{row['role']}</td><td>{escaped(row['label'])}</td>"
        f"<td>{badge(row['verdict'])}</td><td>{number(row['tightness'])}</td><td>{row['scale']}</td>"
        f"<td>{row['study']}</td></tr>"
        for row in found[found["verdict"] != "not run"].to_dict("records")
    ]
    head = "".join(f"<th>{name}</th>" for name in names)
    return f'<div class="box"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _claim(claim: Claim, found: pd.DataFrame) -> str:
    own = found[(found["claim"] == claim.id) & (found["verdict"] != "not run")]
    blocks = [f'<p class="statement">{typeset(claim.statement)}</p>', f"<p>{prose(claim.reason)}</p>"]
    for row in own.to_dict("records"):
        blocks.append(f"<p>{escaped(row['label'])}: {badge(row['verdict'])} {number(row['statistic'])}</p>")
    return "\n\n".join(blocks)
