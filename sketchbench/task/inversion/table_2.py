"""The crosses of song2023 Table 2, counted row by row."""

import logging
from dataclasses import dataclass

from sketchbench.base.parameters import Checked, Count
from sketchbench.measure.row import Row
from sketchbench.theory import table_2

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Table2(Checked):
    """Counts which of the four properties of Table 2 a function lacks, on pairs with this number of `magnitudes`
    (`theory.table_2`). There is no randomness.

    Rows by `case`, the function:

    - `lacked_smooth`, `lacked_gradient`, `lacked_convexity`, `lacked_critical`: 1 if the function lacks the property of
      the table's first to fourth column, and else 0.
    - `crosses`: how many of the four it lacks.
    - `miscounted`: how far that is from the number of crosses in the function's row; bound: 0.
    """

    magnitudes: Count

    def run(self) -> list[Row]:
        rows = []
        for case, function in table_2.ROWS.items():
            constants = table_2.least_constants(case, self.magnitudes)
            log.info("%s: least constants %s", case, constants)
            lacks = {name: table_2.is_lacked(constant) for name, constant in constants.items()}
            rows += [Row(f"lacked_{name}", case=case).number(float(lacked)) for name, lacked in lacks.items()]
            crosses = sum(lacks.values())
            rows.append(Row("crosses", case=case).number(float(crosses)))
            rows.append(Row("miscounted", case=case, bound=0.0).number(float(abs(crosses - function.crosses))))
        return rows
