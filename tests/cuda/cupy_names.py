"""Names and signatures of the real CuPy, which the stand-in in `emulated` offers.

usage: python tests/cuda/cupy_names.py     renews emulated/cupy/names.json, where CuPy is installed; no driver is needed
"""

import inspect
import json
from pathlib import Path
from typing import Any

empty = inspect.Parameter.empty
_LITERALS = (empty, True, False, None, 0, 1, -1, "C", "K")
TABLE = Path(__file__).parent / "emulated" / "cupy" / "names.json"


def signature(function: Any) -> str:
    """Its text, without types, and with None for what is no literal; empty for ufuncs and the like, which have none."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    plain = [
        parameter.replace(annotation=empty, default=parameter.default if parameter.default in _LITERALS else None)
        for parameter in signature.parameters.values()
    ]
    return str(signature.replace(parameters=plain, return_annotation=empty))


def names(cupy: Any, offered: dict[str, Any]) -> dict[str, Any]:
    """The table for the offered names, as the package has them; AttributeError for one that it does not have."""
    return {
        "version": cupy.__version__,
        "functions": {name: signature(getattr(cupy, name)) for name in sorted(offered["functions"])},
        "linalg": {name: signature(getattr(cupy.linalg, name)) for name in sorted(offered["linalg"])},
        "ndarray": sorted(name for name in offered["ndarray"] if getattr(cupy.ndarray, name)),
    }


if __name__ == "__main__":
    import cupy

    found = names(cupy, json.loads(TABLE.read_text()))
    TABLE.write_text(json.dumps(found, indent=1) + "\n")
