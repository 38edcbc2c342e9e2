"""How many inputs a property test tries: the same few in every run of the tests, FUZZ times as many new ones by
`make fuzz`."""

import os

from hypothesis import settings

FUZZ = int(os.environ.get("FUZZ", "0"))  # 0 where tests are no fuzz


def examples(number: int, **others: object) -> settings:
    """Settings of a property test that tries `number` inputs, or FUZZ times as many."""
    return settings(max_examples=number * max(FUZZ, 1), **others)  # type: ignore[arg-type]
