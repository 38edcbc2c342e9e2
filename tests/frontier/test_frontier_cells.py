"""The frontier is joined from the tables of its studies, cell by cell."""

import json
import math
from pathlib import Path
from typing import Any

import made_up
import pandas as pd
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.command.main import main
from sketchbench.plan.trained import trained
from sketchbench.report import seal
from sketchbench.report.frontier import IMAGES, SAMPLED, TRAINING, advise
from sketchbench.report.frontier.advise import AdviceError, Question, leak_of
from sketchbench.report.frontier.cells import COLUMNS, MEANINGS, TrainedStudy, cells, join, read


def cell(frontier: pd.DataFrame, method: str, compression: float, case: str = "iid", epsilon: Any = None) -> Any:
    rows = frontier[(frontier["method"] == method) & (frontier["compression"] == compression)]
    rows = rows[rows["case"] == case]
    rows = rows[rows["epsilon"].isna() if epsilon is None else rows["epsilon"] == epsilon]
    assert len(rows) == 1
    return rows.iloc[0]


def test_what_was_measured_stands_in_its_cell() -> None:
    frontier = cells(made_up.tables())
    row = cell(frontier, "top_k", 16)
    assert row["accuracy"] == pytest.approx(0.90, abs=1e-3)
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
    assert row["loss"] == pytest.approx(0.05, abs=1e-3)
    assert row["leak_server"] == pytest.approx(12 / 16, abs=1e-3)
    assert row["leak_sum"] == pytest.approx(1 / 16, abs=1e-3)
    assert "client_time" not in row  # times differ from run to run
    assert row["client_memory"] == 1.0
    assert not row["adds_up"]
    assert cell(frontier, "srht", 16)["adds_up"]
    assert cell(frontier, "top_k", 16, epsilon=1.0)["accuracy"] < row["accuracy"]


def test_every_column_has_a_meaning_and_controls_are_left_out() -> None:
    frontier = cells(made_up.tables())
    plain = {name.removesuffix("_low").removesuffix("_high") for name in frontier}
    assert plain == set(MEANINGS)
    assert not frontier["method"].str.startswith("control/").any()


def test_a_budget_that_is_too_small_says_why() -> None:
    frontier = cells(made_up.tables())
    refused = frontier[frontier["refused"].notna()]
    assert list(refused["method"]) == ["none"]
    assert refused["accuracy"].isna().all()


def test_bytes_are_counted_up_down_and_both_ways_and_to_the_target() -> None:
    frontier = cells(made_up.tables())
    row = cell(frontier, "top_k", 16)
    assert (row["bytes_up"], row["bytes_down"], row["bytes_both"]) == (940, 2820, 3760)
    assert (row["reached"], row["rounds_to_target"]) == (made_up.TRIALS, pytest.approx(50))
    assert [row[f"target_{way}"] for way in ("up", "down", "both")] == pytest.approx([47_000, 141_000, 188_000])
    missed = cell(frontier, "srht", 16)
    assert missed["reached"] == 0
    assert pd.isna(missed["rounds_to_target"])
    assert pd.isna(missed["target_both"])


def test_tables_without_a_target_leave_it_empty() -> None:
    tables = made_up.tables()
    rows = tables["frontier"]
    older = rows[~rows["quantity"].isin(["reached", "rounds_to_target"])]
    row = cell(cells({**tables, "frontier": older}), "top_k", 16)
    assert row[["reached", "rounds_to_target", "target_both"]].isna().all()
    assert row["bytes_both"] == 3760


def test_dominated_is_whoever_takes_no_fewer_bytes_both_ways_and_lies_below_beyond_both_intervals() -> None:
    frontier = cells(made_up.tables())
    assert cell(frontier, "srht", 4)["dominated"]  # by Top-K at 1/16, which takes half of the bytes
    assert not cell(frontier, "srht", 64)["dominated"]  # by uploads alone it were
    assert not cell(frontier, "top_k", 16)["dominated"]
    tables = made_up.tables()
    rows = tables["frontier"]
    rows.loc[rows["method"] == "top_k", "sd"] = 1.0  # intervals so wide that nothing is certain
    assert not cell(cells(tables), "srht", 4)["dominated"]


def test_trainings_alone_are_a_frontier() -> None:
    frontier = cells({"frontier": made_up.tables()["frontier"]})
    assert frontier["leak_server"].isna().all()
    assert cell(frontier, "top_k", 16)["accuracy"] > 0.8


def about(study: str, **taking_part: int) -> TrainedStudy:
    return TrainedStudy("digits", {"iid": 10, "sampled": 100}, taking_part, lambda *cell: f"{study} {cell}")


def test_clients_that_are_drawn_have_cells_of_their_own() -> None:
    """Beside those of all clients, with a command of their own; a budget that is refused by both stands once."""
    tables = made_up.tables()
    rows = tables["frontier"]
    alone = rows[rows["case"].isin(["iid"]) & rows["epsilon"].isna()].assign(case="sampled")
    more = pd.concat([alone, rows[rows["status"] == "refused"]])
    said = {TRAINING: about("all"), SAMPLED: about("few", sampled=10)}
    frontier = cells({**tables, SAMPLED: more}, said)
    row = cell(frontier, "srht", 16, "sampled")
    assert row["accuracy"] == pytest.approx(0.76, abs=1e-3)
    assert (row["clients"], row["taking_part"], row["command"]) == (100, 10, "few ('srht', 16)")
    row = cell(frontier, "srht", 16)
    assert (row["clients"], row["taking_part"], row["command"]) == (10, 10, "all ('srht', 16)")
    assert len(frontier[frontier["refused"].notna()]) == 1


def test_what_was_measured_on_one_network_is_not_said_of_another() -> None:
    tables = made_up.tables()
    rows = tables["frontier"]
    other = rows[rows["epsilon"].isna() & (rows["method"] == "top_k")].assign(d=89_834)
    frontier = cells({**tables, IMAGES: other})
    own = frontier[(frontier["method"] == "top_k") & (frontier["compression"] == 16) & (frontier["case"] == "iid")]
    by_size = own[own["epsilon"].isna()].set_index("d")
    assert by_size.loc[made_up.D, "leak_server"] == pytest.approx(12 / 16, abs=1e-3)
    assert by_size.loc[89_834, ["leak_server", "client_memory"]].isna().all()
    assert by_size["adds_up"].eq(False).all()


def test_large_counts_keep_all_digits(tmp_path: Path) -> None:
    tables = made_up.tables()
    rows = tables["frontier"]
    rows["bytes_down"] *= 1_000_001
    path = tmp_path / "frontier.csv"
    rows.to_csv(path, index=False)
    seal.write("table", "quick", {}, [path])
    join([path], "quick", path.with_name("joined.csv"))
    frontier = read(path.with_name("joined.csv"))
    assert list(frontier) == COLUMNS
    assert cell(frontier, "top_k", 16)["bytes_down"] == 2820 * 1_000_001


@pytest.mark.parametrize("study", [TRAINING, SAMPLED, IMAGES])
def test_configs_say_what_trainings_are_of(study: str) -> None:
    said = trained(study, "paper")
    assert said.data == ("CIFAR-10" if study == IMAGES else "MNIST")
    assert said.clients["iid"] == 10
    assert (said.clients["sampled"] == 1000) == (study == SAMPLED)
    assert said.taking_part == {"sampled": 10}
    command = said.command("top_k", 64.0)
    assert command.startswith("sketchbench run task=frontier compressor=top_k scale=paper dataset@task.dataset=")
    assert command.endswith("task.compression=64")
    assert ("task.training.cases=[sampled]" in command) == (study == SAMPLED)


# Advice keeps to what was measured, names it, and says how far the question is from it


def whole() -> pd.DataFrame:
    tables = made_up.tables()
    rows = tables["frontier"]
    summed = rows[(rows["epsilon"] == 1) & (rows["method"] != "top_k")].assign(case="iid, secure aggregation")
    drawn = rows[(rows["case"] == "one class") & (rows["method"] == "srht")].assign(case="sampled")
    clients = {"iid": 10, "one class": 10, "sampled": 1000}
    trained = TrainedStudy("digits", clients, {"sampled": 10}, lambda *cell: "again")
    return cells(
        {**tables, "frontier": pd.concat([rows, summed]), SAMPLED: drawn}, dict.fromkeys((TRAINING, SAMPLED), trained)
    )


FRONTIER = whole()


def methods(question: Question) -> list[tuple[str, float]]:
    chosen = advise.advise(question, FRONTIER).choices
    return list(zip(chosen["method"], chosen["compression"], strict=True))


def test_the_budget_is_the_largest_measured_one_that_fits_both_ways() -> None:
    assert methods(Question(3760, made_up.D)) == [("top_k", 16), ("srht", 16)]  # 940 + 2,820 of 30,080 bytes
    assert methods(Question(3720, made_up.D)) == [("top_k", 64), ("srht", 16)]
    assert methods(Question(930, made_up.D)) == [("srht", 64)]
    assert methods(Question(8 * made_up.D, made_up.D))[0] == ("none", 1)


def test_one_way_may_count_alone() -> None:
    assert methods(Question(940, made_up.D, way="up")) == [("top_k", 16), ("srht", 16)]
    assert methods(Question(930, made_up.D, way="up")) == [("top_k", 64), ("srht", 64)]
    assert methods(Question(940, made_up.D, way="down")) == [("top_k", 64), ("srht", 16)]


@examples(30)
@given(
    nbytes=st.floats(300, 1e6),
    parameters=st.integers(1000, 30_000),
    way=st.sampled_from(["up", "down", "both"]),
    sums=st.booleans(),
)
def test_choices_fit_and_the_most_accurate_is_first(nbytes: float, parameters: int, way: str, sums: bool) -> None:
    try:
        answer = advise.advise(Question(nbytes, parameters, sums=sums, way=way), FRONTIER)
    except AdviceError:
        least = FRONTIER[FRONTIER["adds_up"].eq(True)] if sums else FRONTIER
        assert advise.shares(least, way).min() * parameters * 4 * (1 + (way == "both")) > nbytes
        return
    chosen = answer.choices
    used = advise.shares(chosen, way) * parameters * 4 * (1 + (way == "both"))
    assert (used <= nbytes * 1.01).all()
    assert chosen["accuracy"].is_monotonic_decreasing
    assert chosen["method"].is_unique
    assert len(chosen) <= 3


def test_privacy_is_the_strongest_measured_one_that_is_needed() -> None:
    answer = advise.advise(Question(4000, made_up.D, epsilon=3.0), FRONTIER)
    assert set(answer.choices["epsilon"]) == {1.0}
    assert "Measured at ε = 1." in answer.notes


def test_sums_leave_out_what_does_not_add_up_and_share_the_noise() -> None:
    assert methods(Question(4000, made_up.D, sums=True)) == [("srht", 16)]
    alone = advise.advise(Question(4000, made_up.D, epsilon=1.0), FRONTIER)
    assert "noise at each client" in alone.measured
    assert set(alone.choices["method"]) == {"top_k", "srht"}
    shared = advise.advise(Question(4000, made_up.D, epsilon=1.0, sums=True), FRONTIER)
    assert "noise shared under secure aggregation" in shared.measured
    assert set(shared.choices["method"]) == {"srht"}


def test_clients_that_are_drawn_keep_no_state() -> None:
    answer = advise.advise(Question(4000, 5000, clients=500, taking_part=20), FRONTIER)
    assert set(answer.choices["method"]) == {"srht"}
    assert answer.measured == (
        "digits (a toy), 3,760 parameters, 10 of 1,000 clients, of one class each, without state, without privacy"
    )
    said = " ".join(answer.notes)
    assert "1.33 times as many parameters" in said
    assert "of 1,000." in said
    everyone = advise.advise(Question(4000, 5000, clients=500, taking_part=500), FRONTIER)
    assert set(everyone.choices["method"]) == {"top_k", "srht"}


def test_the_nearest_network_answers() -> None:
    larger = FRONTIER.assign(d=199_210, data="MNIST", accuracy=FRONTIER["accuracy"] - 0.01)
    both = pd.concat([FRONTIER, larger], ignore_index=True)
    assert advise.advise(Question(1e5, 20_000), both).measured.startswith("digits")
    assert advise.advise(Question(1e5, 60_000), both).measured.startswith("MNIST, 199,210 parameters, 10 clients")


def test_what_diverged_is_no_choice() -> None:
    lost = FRONTIER["method"].eq("top_k") & FRONTIER["compression"].eq(16)
    frontier = FRONTIER.assign(accuracy=FRONTIER["accuracy"].mask(lost, 0.0))
    chosen = advise.advise(Question(3760, made_up.D), frontier).choices
    assert set(zip(chosen["method"], chosen["compression"], strict=True)) == {("srht", 16), ("top_k", 64)}
    small = frontier["accuracy"].notna() & frontier["compression"].ne(1)
    nothing = frontier.assign(accuracy=frontier["accuracy"].mask(small, 0.0))
    with pytest.raises(AdviceError, match=r"the smallest measured share is 1/1; ask for at least 30080 bytes"):
        advise.advise(Question(3760, made_up.D), nothing)


def test_choices_that_do_not_reach_the_target_are_said_to_be_short_of_it() -> None:
    question, small = Question(1000, made_up.D), FRONTIER["compression"].eq(64)
    short = FRONTIER.assign(rounds_to_target=FRONTIER["rounds_to_target"].mask(small))
    assert not any("the target" in note for note in advise.advise(question, FRONTIER).notes)
    said = "The median training reaches the target with none of these choices"
    assert advise.advise(question, short).notes[-1] == f"{said}. Top_K at 1/16 does, with 3,760 bytes."
    never = short.assign(rounds_to_target=pd.NA)
    assert advise.advise(question, never).notes[-1] == f"{said}, nor with any other measured compressor."


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (Question(10, made_up.D), "the smallest measured share is 1/64; ask for at least 470 bytes"),
        (Question(4000, made_up.D, epsilon=0.5), "epsilon=0.5 is below 1"),
        (Question(4000, made_up.D, epsilon=8.0, case="one class"), "privacy was not measured for such clients"),
        (Question(4000, made_up.D, epsilon=1.0, case="one class", sums=True), "secure aggregation was not measured"),
        (Question(4000, made_up.D, case="one clas"), "did you mean one class?"),
        (Question(1e6, 10**7), "add --any-size"),
    ],
)
def test_it_does_not_go_beyond_what_was_measured(question: Question, said: str) -> None:
    frontier = FRONTIER[FRONTIER["epsilon"].isna() | FRONTIER["case"].str.startswith("iid")]
    with pytest.raises(AdviceError, match=said):
        advise.advise(question, frontier)


def test_clients_that_were_not_measured() -> None:
    frontier = FRONTIER[FRONTIER["case"] != "sampled"]
    with pytest.raises(AdviceError, match="let all clients take part"):
        advise.advise(Question(4000, made_up.D, case="sampled"), frontier)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "frontier.csv"
    FRONTIER.to_csv(place, index=False)
    seal.write("frontier", "quick", {}, [place])
    table = tmp_path / "tables" / "frontier_cost.csv"
    timed = tmp_path / "tables" / "times" / "frontier_cost.csv"
    timed.parent.mkdir(parents=True)
    table.write_text("method\n", encoding="utf-8")
    columns = {"method": ["top_k"], "label": ["Top_K"], "compression": [16.0], "d": [made_up.D]}
    pd.DataFrame({**columns, "quantity": ["round_time"], "value": [1.25]}).to_csv(timed, index=False)
    seal.write("times", "quick", seal.digests([table]), [timed])
    return place


def answered(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    main(["advise", *options, "--frontier", str(path)])
    return capsys.readouterr().out


def test_the_command_prints_what_fits(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = answered(path, capsys, "--bytes", "1e7", "--parameters", "10000000", "--any-size").splitlines()
    assert said[0].startswith("Nearest measurement: digits (a toy), 3,760 parameters, 10 clients,")
    assert said[1] == "1e+07 bytes sent and received are 1/8 of the bytes without compression."
    assert "2.66e+03 times as many parameters, so that only the ratio of bytes is comparable" in said[2]
    lines = {line[:28].strip(): line[28:].split("  ") for line in said[3:]}
    assert lines["compressor"][0].strip() == "Top_K"
    assert lines["accuracy"][0].strip() == "0.900 (0.894 to 0.905)"
    assert [lines[f"bytes {way}"][0].strip() for way in ("up", "down", "up and down")] == [
        "2,500,000",
        "7,500,000",
        "10,000,000",
    ]
    assert lines["client memory, bytes"][0].strip() == "40,000,000"
    assert lines["time of a round, over plain"][0].strip() == "1.2"
    assert lines["rounds to target"][0].strip() == "50 (24 of 24)"
    assert lines["bytes to target, sum"][0].strip() == "500,000,000"
    assert lines["rounds until visible"][0].strip() == "not found"


@pytest.mark.parametrize(
    ("rounds", "lead", "epsilon", "words"),
    [
        (4.0, 6.0, math.nan, "4"),
        (math.nan, 1.0, math.nan, "not found"),
        (math.nan, math.nan, math.nan, "not measured"),
        (4.0, 6.0, 8.0, "not measured"),  # the attack was on messages without noise
    ],
)
def test_the_leak_of_a_choice(rounds: float, lead: float, epsilon: float, words: str) -> None:
    assert leak_of({"rounds": rounds, "lead": lead, "epsilon": epsilon}, "rounds", "lead") == words


def test_the_command_prints_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--bytes", "4000", "--parameters", "3760", "--number", "500", "--per-round", "20", "--json"]
    answer: dict[str, Any] = json.loads(answered(path, capsys, *options))
    assert answer["measured"]["clients"] == 1000
    assert answer["measured"]["taking_part"] == 10
    assert answer["measured"]["epsilon"] is None
    assert answer["times_the_parameters"] == 1
    (choice,) = answer["choices"]
    assert (choice["method"], choice["bytes_both"], choice["command"]) == ("srht", 1880, "again")
    assert choice["round_time"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--per-round", "5"], "--per-round=5 must be <= --number"), (["--way", "u"], "'u' is not one of up, down, both")],
)
def test_wrong_options(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["advise", "--bytes", "4000", "--parameters", "3760", *options])
    assert said in f"{stopped.value}{capsys.readouterr().err}"
