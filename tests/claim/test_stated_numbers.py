"""Numbers that claims and findings state beside their verdicts are those of the published tables."""

import re
from pathlib import Path

import pandas as pd
import pytest
from all_claims import entry
from published import reports as published

ROOT = Path(__file__).parents[2]
DENSE = 30_080  # bytes up and down of a client and round without compression: 3,760 float32, twice


def reason(claim: str) -> str:
    content = entry("claim", claim)
    return " ".join(content["reason"].split())


def table(path: str) -> pd.DataFrame:
    return pd.read_csv(published() / path)


def bytes_both_ways(method: str, compression: int) -> int:
    """The bytes up and down of a client and round, of a compressor at a budget."""
    rows = table("tables/frontier.csv").query("quantity == 'accuracy' and case == 'iid'")
    (row,) = rows[(rows["method"] == method) & (rows["compression"] == compression)].to_dict("records")
    return int(row["bytes_up"] + row["bytes_down"])


@pytest.mark.parametrize(
    ("claim", "method", "compression", "share"),
    [("F1", "fiht", 4, 16), ("F2", "power_sgd", 4, 25), ("F3", "sign", 16, 52), ("F3", "top_k", 16, 25)],
)
def test_bytes_up_and_down(claim: str, method: str, compression: int, share: int) -> None:
    total = bytes_both_ways(method, compression)
    assert f"{total:,}" in reason(claim)
    assert re.search(rf"\b{share} %", reason(claim))
    assert round(100 * total / DENSE) == share
    assert bytes_both_ways("none", 1) == DENSE


def test_top_k_at_a_64th() -> None:
    assert f"{bytes_both_ways('top_k', 64):,}, 7 %" in reason("F3")


def test_biases_alone_are_a_weak_attack() -> None:
    rows = table("paper/tables/inversion_double_blind_mnist.csv").query("case == 'client_biases'")
    found = rows.set_index("quantity")
    better, psnr = found.loc["better"], found.loc["psnr", "mean"]
    assert f"in {better['count']:.0f} of {better['trials']:.0f}, with {psnr:.1f} dB" in reason("Z11-client-mnist")


LAYERS = {  # (d_out, d_in) of the layers of the paper's networks that are sketched
    "perceptron": [(200, 784), (200, 200)],
    "MNIST": [(32, 25), (64, 800), (512, 1024)],
    "CIFAR-10": [(32, 75), (64, 800), (128, 1600), (200, 2048)],
    "LFW": [(64, 27), (64, 576), (128, 576), (32, 3072), (32, 32)],
}


def test_layers_with_odd_inputs() -> None:
    """The listing's buckets of two leave an input over."""
    odd = {(name, inputs) for name, own in LAYERS.items() for _, inputs in own if inputs % 2}
    assert odd == {("MNIST", 5 * 5), ("CIFAR-10", 75), ("LFW", 27)}
    assert "MNIST (5 · 5 inputs), and in those on CIFAR-10 (75) and LFW (27)" in reason("Z4-remainder")


def test_where_two_sketches_span_all_outputs() -> None:
    """With s = ⌊d_in/2⌋ there are more outputs than 2s in two layers only."""
    sizes = [(name, outputs, inputs // 2 * 2) for name, own in LAYERS.items() for outputs, inputs in own]
    assert [size for size in sizes if size[1] > size[2]] == [("MNIST", 32, 24), ("LFW", 64, 26)]
    assert "MNIST (32 outputs, 2s = 24) and LFW (64, 26)" in reason("Z13-wide")
