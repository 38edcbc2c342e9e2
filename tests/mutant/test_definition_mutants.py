"""The claims about definitions and remarks (S31, Z13) reject other functions, constants and estimates."""

import pytest
from judging import shared, verdict, verdicts

from sketchbench.sketch import CountSketch, Identity
from sketchbench.task.double_blind import remark_1
from sketchbench.task.double_blind.remark_1 import RemarkOne
from sketchbench.task.inversion import semi_smoothness
from sketchbench.task.inversion.semi_smoothness import SemiSmoothness
from sketchbench.theory import semi_smooth

PAIRS = SemiSmoothness(**shared(Identity(1, 1), 40), pairs=500)
EXPECTED = {
    "S31-definition": "holds",
    "S31-table": "fails",
    "S31-others": "holds",
    "S31-lemmas": "holds",
    "S31-square": "holds",
}
UPDATES = RemarkOne(**shared(CountSketch(40, 5), 40), outputs=[4, 9, 20], least=1e-3)


def test_the_sound_ones() -> None:
    rows = PAIRS.run()
    assert {claim: verdict(claim, rows) for claim in EXPECTED} == EXPECTED
    rows = UPDATES.run()
    assert verdict("Z13", rows) == "fails"
    assert verdict("Z13-wide", rows) == "holds"


def test_a_function_with_a_kink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(semi_smooth.FUNCTIONS, "tanh", semi_smooth.FUNCTIONS["ReLU"])
    rows = PAIRS.run()
    assert verdict("S31-definition", rows) == "fails"
    assert verdict("S31-table", rows) == "holds"


def test_a_smooth_function_among_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(semi_smooth.FUNCTIONS, "ReLU", semi_smooth.FUNCTIONS["softplus"])
    assert "fails" in verdicts("S31-others", PAIRS.run())


def test_a_slope_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the other side of the pair."""
    wrong = semi_smooth.remainder
    monkeypatch.setattr(semi_smoothness, "remainder", lambda function, x, y: abs(wrong(function, x, y)) * 3)
    assert verdict("S31-lemmas", PAIRS.run()) == "fails"


def test_an_estimate_from_one_broadcast_only(monkeypatch: pytest.MonkeyPatch) -> None:
    share = remark_1.unreachable_share
    monkeypatch.setattr(remark_1, "unreachable_share", lambda before, after, update: share(before, 0 * after, update))
    assert verdicts("Z13", UPDATES.run()) == {"fails", "holds"}


def test_an_estimate_by_all_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    share = remark_1.unreachable_share
    monkeypatch.setattr(remark_1, "unreachable_share", lambda before, after, update: share(update, after, update))
    assert verdict("Z13-wide", UPDATES.run()) == "fails"


def test_the_columns_of_table_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed they hold of functions without a Lipschitz gradient, and fail where a function keeps them."""
    rows = PAIRS.run()
    assert verdict("S31-columns", rows) == "holds"
    assert verdict("S31-gradient", rows) == "fails"
    monkeypatch.setitem(semi_smooth.ROWS, "tanh", semi_smooth.ROWS["1/norm"])
    monkeypatch.setitem(semi_smooth.ROWS, "1/norm", semi_smooth.ROWS["square"])
    rows = PAIRS.run()
    assert verdicts("S31-gradient", rows) == {"holds", "fails"}
    assert verdict("S31-columns", rows) == "fails"
    monkeypatch.setitem(semi_smooth.ROWS, "square", semi_smooth.Function(lambda u: 2 * u**2, lambda u: 4 * u, None))
    assert verdicts("S31-square", PAIRS.run()) == {"fails", "holds"}


@pytest.mark.parametrize("fact", ["fact_c_4", "fact_c_5"])
def test_facts_with_a_hundredth_too_much(monkeypatch: pytest.MonkeyPatch, fact: str) -> None:
    assert verdict("S36", PAIRS.run()) == "holds"
    sound = getattr(semi_smooth, fact)
    monkeypatch.setattr(semi_smooth, fact, lambda *at: 1.01 * sound(*at))
    assert verdict("S36", PAIRS.run()) == "fails"
