"""Tables like those of the frontier's studies, whose numbers follow from a formula."""

from typing import Any

import numpy as np
import pandas as pd

from sketchbench.measure.row import Row

D, TRIALS = 3760, 24
METHODS = {"none": (1,), "top_k": (4, 16, 64), "srht": (4, 16, 64), "control/silent": (4,)}
ACCURACY = {"none": 0.95, "top_k": 0.94, "srht": 0.80, "control/silent": 0.10}
SETTINGS = (("iid", None), ("one class", None), ("iid", 8.0), ("iid", 1.0))


def spread(mean: float) -> np.ndarray:
    return mean + 0.01 * np.cos(np.arange(TRIALS))


def accuracy(method: str, compression: float, case: str, epsilon: float | None) -> float:
    lost = 0.0 if method == "none" else 0.01 * np.log2(compression)
    return ACCURACY[method] - lost - 0.2 * (case == "one class") - (0.0 if epsilon is None else 0.3 / epsilon)


def to_target(row: Row, lost: float) -> Row:
    """Ten rounds for each hundredth of accuracy that is lost, up to a tenth of all of it."""
    if lost < 0.1:
        return row.number(round(1000 * lost))
    return row.without_number("unfinished", "fewer than half reach it")


def frame(rows: list[tuple[str, float, Row]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"method": method, "label": method.title(), "compression": compression, **row}
            for method, compression, row in rows
        ]
    )


def tables() -> dict[str, pd.DataFrame]:
    trained: list[tuple[str, float, Row]] = []
    leaked, cost, contract = list(trained), list(trained), list(trained)
    for method, budgets in METHODS.items():
        for compression in budgets:
            up = 4 * D // compression
            down = 4 * D if method == "none" else 3 * up if method == "top_k" else up
            sent: dict[str, Any] = {"d": D, "bytes_up": up, "bytes_down": down}
            for case, epsilon in SETTINGS:
                reached = accuracy(method, compression, case, epsilon)
                where: dict[str, Any] = {"case": case if epsilon is None else f"{case}, private", "epsilon": epsilon}
                where["d"] = D
                trained.append((method, compression, Row("accuracy", **{**where, **sent}).mean(spread(reached))))
                lost = accuracy("none", 1, case, epsilon) - reached
                trained.append((method, compression, Row("accuracy_loss", **where).mean(spread(lost))))
                trained.append((method, compression, Row("reached", **where).counted(TRIALS * (lost < 0.1), TRIALS)))
                trained.append((method, compression, to_target(Row("rounds_to_target", **where), lost)))
            for view, lead in (("server", 12.0), ("sum", 1.0)):
                leaked.append((method, compression, Row("lead", case=view).mean(spread(lead / compression))))
            leaked.append((method, compression, Row("ssim", case="server").mean(spread(0.5))))
            cost.append((method, compression, Row("client_time").mean(spread(1.2))))
            cost.append((method, compression, Row("client_memory").number(1.0)))
        contract.append((method, 4, Row("not_summed" if method == "top_k" else "summed").counted(0, TRIALS)))
    trained.append(("none", 4, Row("accuracy", d=D).without_number("refused", "Plain needs 15040 bytes; allow more")))
    return {
        "frontier": frame(trained),
        "frontier_leakage": frame(leaked),
        "frontier_cost": frame(cost),
        "compressor_contract": frame(contract),
    }
