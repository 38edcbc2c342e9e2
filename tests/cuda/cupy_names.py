"""Names and signatures of the real CuPy, which the stand-in in `emulated` offers.

usage: python tests/cuda/cupy_names.py     renews emulated/cupy/names.json, where CuPy is installed; no driver is needed
"""

import inspect
import json
import pydoc
import re
from pathlib import Path
from typing import Any

empty = inspect.Parameter.empty
_LITERALS = (empty, True, False, None, 0, 1, -1, "C", "K")
_COMPILED = re.compile(r"[\w.]+\(((?:[^()[\]]|\(\))*)\)")  # how the docstring of a compiled function begins
TABLE = Path(__file__).parent / "emulated" / "cupy" / "names.json"


def signature(function: Any) -> str:
    """Its text, without types and `self`, and with None for what is no literal; empty for what has none."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        match = _COMPILED.match((function.__doc__ or "").strip().replace("\\*", "*"))
        if match is None:
            return ""
        scope: dict[str, Any] = {}
        untyped = [re.sub(r"^(?:[a-zA-Z_]+ )+", "", part) for part in match[1].split(", ")]
        exec(f"def f({', '.join(untyped)}): pass", scope)
        found = inspect.signature(scope["f"])
    plain = [
        parameter.replace(annotation=empty, default=parameter.default if parameter.default in _LITERALS else None)
        for parameter in found.parameters.values()
        if parameter.name != "self"
    ]
    return str(found.replace(parameters=plain, return_annotation=empty))


def names(cupy: Any, offered: dict[str, Any]) -> dict[str, Any]:
    """The table for the offered names, as the package has them; AttributeError for one that it does not have."""
    found: dict[str, Any] = {"version": cupy.__version__}
    for part, owner in (("functions", cupy), ("linalg", cupy.linalg), ("ndarray", cupy.ndarray)):
        found[part] = {name: signature(getattr(owner, name)) for name in sorted(offered[part])}
    return {**found, "others": {name: signature(pydoc.locate(name)) for name in sorted(offered["others"])}}


if __name__ == "__main__":
    import cupy

    found = names(cupy, json.loads(TABLE.read_text()))
    TABLE.write_text(json.dumps(found, indent=1) + "\n")
