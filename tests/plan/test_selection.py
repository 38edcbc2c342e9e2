"""Which methods run with a user's own, and what of their claims is judged."""

from pathlib import Path

import pytest

from sketchbench.base.project import CONF
from sketchbench.plan.selection import places_of, selection_of, unjudged
from sketchbench.run.config import study

BESIDE = {"sketch": ["count_sketch", "srht"], "recovery": ["fiht"]}
OWN = {"sketch": {"first": {"embedding_constant": 2}}, "recovery": {}}
STUDIES = [study.read(CONF, name, "quick") for name in study.names(CONF)]
NAMED = {one.name: one for one in STUDIES}


def test_only_ones_own() -> None:
    """Beside the given ones, with the controls of the study and of the claims; fixed lists are left out."""
    selection = selection_of(STUDIES, CONF, OWN, BESIDE)
    chosen = {one.name: selection.methods(one) for one in STUDIES if not selection.left_out(one)}
    assert set(chosen["embedding"]) == {"first", "count_sketch", "srht", "uniform_sampling"}
    contract = {name for name in chosen["contract"] if not name.startswith("control/")}  # of all that have verdicts
    assert contract == set().union(*(chosen[name] for name in ("embedding", "moments", "norms", "growth")))
    assert set(chosen["convergence"]) == {"first", "count_sketch", "srht", "control/zero"}
    assert chosen["embedding_controls"] == ["control/uniform_sampling_quarter", "control/count_sketch_quarter"]
    assert set(chosen["hashing"]) == {"control/equal_signs", "control/tied_signs", "control/pairwise_signs"}
    assert selection.left_out(NAMED["descent"]) == "only=mine: it compares a fixed list of methods"
    assert selection.left_out(NAMED["reconstruction"]) == "only=mine: the folder has no recovery"
    reason = "only=mine: the folder has no sketch that claims tails or always under `theory`"
    assert selection.left_out(NAMED["tails"]) == reason


def test_near_misses_are_of_the_selection() -> None:
    """The studies of those of a claim on one's own, which compare a fixed list."""
    selection = selection_of(STUDIES, CONF, {"sketch": {"first": {"norm": 1}}, "recovery": {}}, BESIDE)
    study = NAMED["convergence_local_twice"]
    assert not selection.left_out(study)
    assert selection.methods(study) == ["identity"]


def test_everything() -> None:
    """`all` has the user's own, too; `mine` stands for these alone."""
    selection = selection_of(STUDIES, CONF, OWN, None)
    assert "first" in selection.methods(NAMED["embedding"])
    assert selection.methods(NAMED["spectrum"])[-1] == "first"
    alone = selection_of(STUDIES, CONF, {}, None)
    assert alone.methods(NAMED["spectrum"]) == selection.methods(NAMED["spectrum"])[:-1]
    assert not any(selection.left_out(one) for one in STUDIES)


def test_a_recovery_beside_others() -> None:
    selection = selection_of(STUDIES, CONF, {"sketch": {}, "recovery": {"first": {}}}, BESIDE)
    assert set(selection.methods(NAMED["reconstruction"])) == {"first", "fiht"}
    assert selection.left_out(NAMED["embedding"]) == "only=mine: the folder has no sketch"


def test_unknown_ones_to_run_beside() -> None:
    with pytest.raises(ValueError, match="beside: sketch=srth is unknown"):
        selection_of(STUDIES, CONF, OWN, {"sketch": ["srth"]})


def test_what_no_claim_reads() -> None:
    """The names that the page on families gives are read."""
    known = {"tails": {"own": 1, "Lemma D.23": 1}, "inner_products": {"own": 1, "derived": 1, "always": 1}}
    assert list(unjudged(CONF, known)) == []
    ((measuring, key, reason),) = unjudged(CONF, {"tails": {"mine": 1}})
    assert (measuring, key) == ("tails", "tails.mine")
    assert "own" in reason


def test_where_it_goes(tmp_path: Path) -> None:
    assert places_of("quick", None, apart=False) == ("results/quick", "logs/quick", "reports")
    assert places_of("paper", None, apart=False).reports == "reports/paper"
    assert places_of("quick", tmp_path, apart=False) == ("results/quick", "logs/quick", f"{tmp_path}/reports/quick")
    assert places_of("quick", tmp_path, apart=True).results == f"{tmp_path}/results/quick"
