"""The kept records of the papers' sizes, which took hours, are all of this code and of these configs."""

from sketchbench.base.project import CONF, PROJECT
from sketchbench.command.gather import Gathering
from sketchbench.plan import making as planning
from sketchbench.run.config import study

KEPT = PROJECT / "reports" / "paper" / "records"


def test_every_kept_record_would_be_taken() -> None:
    """Else no such run is planned, or its code changed: make it again (`make paper ARGS=...`), or undo the change."""
    plan = planning.expand("paper", "numba", studies=",".join(study.names(CONF)))
    outcomes = list(Gathering(plan, dry=True).look_through(KEPT))
    assert [str(outcome) for outcome in outcomes if outcome.fate not in ("taken", "not needed")][:3] == []
    assert len(outcomes) > 250
