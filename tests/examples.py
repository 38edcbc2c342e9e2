"""How many inputs a property test tries: FUZZ times as many by `make fuzz`, few on the emulated device."""

import os

from hypothesis import settings

EMULATED = bool(os.environ.get("EMULATED_CUDA"))
FUZZ = int(os.environ.get("FUZZ", "0"))  # 0 where tests are no fuzz


def examples(number: int, **others: object) -> settings:
    """Settings of a property test that tries `number` inputs, FUZZ times as many, or on the emulated device a tenth."""
    number = -(-number * max(FUZZ, 1) // (10 if EMULATED else 1))
    return settings(max_examples=number, **others)  # type: ignore[arg-type]
