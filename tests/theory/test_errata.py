"""Both numbers of every erratum in conf/erratum, recomputed, and the claims that it names."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import song2023_counterexamples as song2023
import tang2021_counterexamples as tang2021
import yaml
import zhang2021_counterexamples as zhang2021
from all_claims import CLAIMS
from zhang2021_counterexamples import seen_and_update

from sketchbench.report.claim.claims import ClaimError
from sketchbench.report.claim.erratum import Counterexample, read_errata
from sketchbench.run.config.schema import SchemaError

CONF = Path(__file__).parents[2] / "conf"
ERRATA = {erratum.id: erratum for erratum in read_errata((CONF / "erratum").glob("*.yaml"), CLAIMS.values())}
CODES = {name: case for name, one in ERRATA.items() if (case := one.counterexample) and case.code}
COMPUTED = song2023.COUNTEREXAMPLES | tang2021.COUNTEREXAMPLES | zhang2021.COUNTEREXAMPLES


def agrees(value: float, given: float) -> bool:
    """Whether a value is the given one: exactly, for a whole number without a point; to the digits that it is given
    to, and to three digits at least, for another."""
    if isinstance(given, int) or given in (float("inf"), 0.0):
        return value == pytest.approx(given, rel=1e-9, abs=1e-9)
    digits = Decimal(repr(given))
    last = min(int(digits.as_tuple().exponent), digits.adjusted() - 2)
    return abs(value - given) <= 0.5 * 10.0**last


@pytest.mark.parametrize("name", COMPUTED)
def test_both_numbers(name: str) -> None:
    case = ERRATA[name].counterexample
    assert case is not None
    printed, measured = COMPUTED[name]()
    assert agrees(printed, case.printed), (printed, case.printed)
    assert agrees(measured, case.measured), (measured, case.measured)
    assert replace(case, printed=printed, measured=measured).refutes


@pytest.mark.parametrize("name", CODES)
def test_five_lines_print_both_numbers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = CODES[name]
    assert len(case.code.splitlines()) <= 5
    exec(case.code, {})
    printed, measured = map(float, capsys.readouterr().out.split())
    assert agrees(printed, case.printed), (printed, case.printed)
    assert agrees(measured, case.measured), (measured, case.measured)


def test_only_one_counterexample_takes_more_than_five_lines() -> None:
    assert set(COMPUTED) - set(CODES) == {"tang2021-stopping-rule"}


def test_every_counterexample_is_recomputed() -> None:
    assert {name for name, erratum in ERRATA.items() if erratum.counterexample} == set(COMPUTED)


def test_what_is_corrected_has_an_erratum() -> None:
    """A claim of role `corrected` says what is true instead; conf/erratum says instead of what."""
    named = {claim for erratum in ERRATA.values() for claim in erratum.claims}
    assert {claim.id for claim in CLAIMS.values() if claim.role == "corrected"} <= named


def test_the_five_that_matter_most_come_first() -> None:
    """Each of them touches a result that its paper uses."""
    first = list(ERRATA.values())[:5]
    assert [erratum.rank for erratum in ERRATA.values()] == [1, 2, 3, 4, 5] + [None] * (len(ERRATA) - 5)
    assert all(erratum.touches.result for erratum in first)


@pytest.mark.parametrize(
    ("value", "given", "same"),
    [(0.13, 0.125, False), (0.1252, 0.125, True), (4.001, 4, False), (1.3407, 1.341, True), (0.46, 0.5, False)],
)
def test_digits(value: float, given: float, same: bool) -> None:
    assert agrees(value, given) is same


@pytest.mark.parametrize(
    ("relation", "measured", "refuted"),
    [("at most", 2, True), ("at most", 1, False), ("at least", 0, True), ("at least", 2, False), ("exactly", 1, False)],
)
def test_a_counterexample_contradicts_the_print(relation: str, measured: float, refuted: bool) -> None:
    assert Counterexample("", relation, 1, measured).refutes is refuted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": "other"}, "id other must be the file's name"),
        ({"claims": ["S99"]}, "claim=S99 is unknown"),
        ({"counterexample": {"measured": 0.1}}, "measured=0.1 must not be at most the printed 0.2"),
        ({"counterexample": None}, "'counterexample' is a required property"),
        ({"kind": "doubtful"}, "'doubtful' is not one of"),
    ],
)
def test_an_erratum_that_is_none(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    content = yaml.safe_load((CONF / "erratum" / "song2023-D.20.yaml").read_text(encoding="utf-8"))
    for key, value in changed.items():
        content[key] = {**content[key], **value} if isinstance(value, dict) else value
    path = tmp_path / "song2023-D.20.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    with pytest.raises((ClaimError, SchemaError), match=message):
        read_errata([path], CLAIMS.values())


def test_a_misprint_may_change_no_number(tmp_path: Path) -> None:
    content = yaml.safe_load((CONF / "erratum" / "song2023-D.11.yaml").read_text(encoding="utf-8"))
    assert "counterexample" not in content
    path = tmp_path / "song2023-D.11.yaml"
    path.write_text(yaml.safe_dump(content))
    assert [erratum.kind for erratum in read_errata([path], CLAIMS.values())] == ["misprint"]


# Where the bound of zhang2021 Remark 1 is false, and where it may hold


def nearest_update(outputs: int, inputs: int, size: int) -> float:
    """The minimum of ‖W_old S_old Z₁ - W_new S_new Z₂ - Δ‖² over Z₁ and Z₂, over ‖Δ‖²."""
    seen, update = seen_and_update(outputs, inputs, size)
    both = np.linalg.lstsq(seen, update, rcond=None)[0]
    return float(((seen @ both - update) ** 2).sum() / (update**2).sum())


@pytest.mark.parametrize(("outputs", "size"), [(1, 1), (2, 1), (100, 50)])
def test_remark_1_of_zhang2021(outputs: int, size: int) -> None:
    """Hoped for (zhang2021 Remark 1, not claimed as proven): the best of all linear uses of both sketched weights
    misses the update by Ω(1) ‖Δ‖².

    For d_out <= 2s, the 2s columns seen span all outputs when the weights are generic: the minimum is 0.
    """
    assert nearest_update(outputs, 400, size) < 1e-20


@pytest.mark.parametrize(("outputs", "size"), [(3, 1), (101, 50)])
def test_remark_1_of_zhang2021_may_hold_beyond(outputs: int, size: int) -> None:
    """One more output, and something is left: the condition d_out <= 2s is sharp."""
    assert nearest_update(outputs, 400, size) > 1e-4
