"""The page that ranks attacks."""

import pandas as pd

from sketchbench.report.site.ranking import rank


def rows(*attacks: tuple[str, float], case: str = "server", quantity: str = "own_lead") -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"quantity": quantity, "method": "srht", "compression": 4.0, "case": case, "attack": name, "knows": "key"}
            | {"round": 1, "mean": lead}
            for name, lead in attacks
        ]
    )


def test_the_best_of_most_settings_comes_first() -> None:
    """A larger lead in one setting counts for less than two settings; other quantities and tables are apart."""
    first = pd.concat([rows(("a", 1.0), ("b", 2.0)), rows(("a", 9.0), ("b", 50.0), ("c", 99.0), case="sum")])
    first = pd.concat([first, rows(("c", 1e3), quantity="lead")])
    ranked = rank([first, rows(("a", 3.0), ("b", 5.0))])
    assert ranked.to_dict("records") == [
        {"attack": "b", "knows": "key", "best": 2, "settings": 3, "lead": 19.0},
        {"attack": "c", "knows": "key", "best": 1, "settings": 1, "lead": 99.0},
        {"attack": "a", "knows": "key", "best": 0, "settings": 3, "lead": 13 / 3},
    ]


def test_there_may_be_no_attacks() -> None:
    assert rank([]).empty
    assert rank([rows(("a", 1.0)).drop(columns="knows")]).empty  # a table of older code
