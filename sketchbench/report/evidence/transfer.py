"""A frontier on a user's data and network, beside the findings of the project's frontier."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.frontier import TRAINING
from sketchbench.report.table.reading import read_table
from sketchbench.run.config.chapters import files

PLACE = "frontier, accuracy"  # of a claim


def findings(conf: Path) -> list[Claim]:
    """The claims on accuracy at a number of bytes, without privacy."""
    claims = read_claims(path for path in files(conf, "claim") if path.stem.startswith("F"))
    return [one for one in claims if one.studies == [TRAINING] and one.place == PLACE]


def beside(scale: ReportedScale, ours: ReportedScale, conf: Path) -> pd.DataFrame:
    """A row for each finding and method: `claim`, `statement`, `label`, the verdict `here` ("not run" if missing) with
    its `statistic`, `low`, `high`, `bound`, and the verdict `there`, in the project's reports."""
    here, there = read_outcomes(scale), read_outcomes(ours)
    keys = ["claim", "method"]
    statements = pd.DataFrame([{"claim": one.id, "statement": one.statement} for one in findings(conf)])
    rows = there[there["claim"].isin(statements["claim"]) & (there["role"] != "control")]
    numbers = ["statistic", "low", "high", "bound"]
    own = here[[*keys, "verdict", *numbers]].rename(columns={"verdict": "here"})
    joined = rows[[*keys, "label", "verdict"]].rename(columns={"verdict": "there"}).merge(own, on=keys, how="left")
    joined = joined.merge(statements, on="claim", how="left")
    return joined.assign(here=joined["here"].fillna("not run"))


def transfers(rows: pd.DataFrame) -> str:
    """The number of findings with the same verdict here, in a sentence."""
    judged = rows[rows["here"] != "not run"]
    decided = judged[judged["here"].isin(["holds", "fails"]) & judged["there"].isin(["holds", "fails"])]
    same = int((decided["here"] == decided["there"]).sum())
    undecided = len(judged) - len(decided)
    more = f"; {undecided} are undecided, here or there" if undecided else ""
    return f"{same} of {len(decided)} verdicts are the same as on digits{more}."


def command(scale: ReportedScale) -> str:
    """The command that repeats a user's frontier."""
    return str(read_table(scale.reports / "frontier.csv", "frontier", scale=scale.name)["command"].iloc[0])


def places(folder: Path) -> Sequence[ReportedScale]:
    """The frontiers of a user's folder, by name."""
    found = sorted((folder / "reports" / TRAINING).glob("*/frontier.csv"))
    return [ReportedScale(path.parent.name, path.parent) for path in found]
