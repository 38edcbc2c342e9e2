"""The stand-in refuses what CuPy refuses, and offers what CuPy offers."""

import ast
import json
import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cupy_names
import numpy as np
import pytest
from cuda_source import ROOT, STAND_IN

pytestmark = pytest.mark.cuda


@pytest.fixture(scope="module")
def cupy() -> Any:
    """The stand-in, as a module of this process for the length of these tests."""
    if "cupy" in sys.modules and not getattr(sys.modules["cupy"], "EMULATED", False):
        pytest.skip("the real CuPy is there")
    if "cupy" in sys.modules:
        yield sys.modules["cupy"]
        return
    finders = list(sys.meta_path)
    sys.path.insert(0, str(STAND_IN))
    try:
        os.environ["EMULATED_CUDA_TORCH"] = "none"
        import cupy

        yield cupy
    finally:
        del os.environ["EMULATED_CUDA_TORCH"]
        sys.path.remove(str(STAND_IN))
        sys.meta_path[:] = finders
        for name in [name for name in sys.modules if name.partition(".")[0] in ("cupy", "cupyx")]:
            del sys.modules[name]


@pytest.fixture
def scope(cupy: Any) -> dict[str, Any]:
    return {"cupy": cupy, "np": np, "x": cupy.asarray(np.arange(6.0).reshape(2, 3)), "y": np.ones((2, 3))}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("np.asarray(x)", "Implicit conversion to a NumPy array is not allowed"),
        ("np.linalg.norm(np.asarray([1.0]) + x)", "Unsupported type"),
        ("x + y", "Unsupported type"),
        ("y + x", "Unsupported type"),
        ("x += y", "Unsupported type"),
        ("x @ y.T", "Unsupported type"),
        ("x + [1.0, 2.0, 3.0]", "Unsupported type"),
        ("cupy.add(x, y)", "Unsupported type"),
        ("cupy.concatenate([x, y])", "Unsupported type"),
        ("cupy.where(y > 0, x, x)", "Unsupported type"),
        ("cupy.stack([y, y])", "Unsupported type"),
        ("cupy.einsum('ij,ij->i', x, y)", "Unsupported type"),
        ("np.add(x, y)", "Unsupported type"),
        ("np.interp(x, x, x)", "no implementation found for 'numpy.interp'"),
        ("x[:] = y", "non-scalar numpy.ndarray cannot be used for fill"),
        ("cupy.sum(x, where=x > 0)", "unexpected keyword argument 'where'"),
        ("cupy.argsort(x, -1, None, 'C')", "too many positional arguments"),
        ("cupy.add(x, x, where=x > 0)", "unexpected keyword argument 'where'"),
        ("x.sum(where=x > 0)", "unexpected keyword argument 'where'"),
        ("x.sum(0, float, None, True, 0.0)", "too many positional arguments"),
        ("cupy.packbits(x.astype('uint8'), axis=1)", "axis option is not supported yet"),
        ("cupy.unpackbits(x.astype('uint8'), count=3)", "unexpected keyword argument 'count'"),
        ("cupy.empty((2, 3), order='F')", "the emulated device has no order='F'"),
        ("cupy.argwhere(x, 1)", "too many positional arguments"),
        ("cupy.apply_over_axes", "no attribute 'apply_over_axes'"),
        ("cupy.char", "no attribute 'char'"),
        ("x.tostring()", "no attribute 'tostring'"),
        ("x.ctypes", "no attribute 'ctypes'"),
        ("cupy.asarray(np.array(['a']))", "Unsupported dtype"),
        ("cupy.empty(3, object)", "Unsupported dtype"),
        ("cupy.empty(3) + 1", "memory is read that nobody has written"),
        ("cupy.empty(3).get()", "memory is read that nobody has written"),
        ("z = cupy.empty(3); z[:2] = 1; z.sum()", "memory is read that nobody has written"),
        ("x[0, cupy.asarray([1, 1])] = x[1, :2]", "two values are assigned to one place"),
        ("cupy.cuda.Device(1)", "invalid device ordinal"),
        ("x.reshape(-1).astype('int64').__iadd__(1.5)", "could not be coerced"),
        ("iter(x.sum()).__next__()", "iteration over a 0-d array"),
        ("{x: 1}", "unhashable"),
    ],
)
def test_it_refuses(scope: dict[str, Any], statement: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        exec(statement, scope)


# Names that are no functions: dtypes, constants and classes; some are only in the text of a docstring or an error.
PLAIN = {
    *("float32 float64 int8 int32 int64 uint8 uint16 uint32 uint64 bool_ nan inf pi ndarray newaxis".split()),
    *("cuda.runtime.CUDARuntimeError", "cuda.Device", "__name__"),
}

REAL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import cupy, cupy_names
print(json.dumps(cupy_names.names(cupy, json.loads(cupy_names.TABLE.read_text()))))
"""


def test_its_names_are_those_of_the_real_package() -> None:
    """Names, signatures and version; the package can be imported without a device."""
    search = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and Path(path) != STAND_IN]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search)}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REAL, str(Path(cupy_names.__file__).parent)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named 'cupy'" in found.stderr:
        pytest.skip("CuPy is not installed (pip install --no-deps cupy-cuda13x cuda-pathfinder)")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == json.loads(cupy_names.TABLE.read_text())


def test_it_offers_what_its_table_names(cupy: Any) -> None:
    """And each with the real signature, which calls of NumPy's functions in their place are held to."""
    table = json.loads(cupy_names.TABLE.read_text())
    x = cupy.zeros((2, 2))
    assert all(hasattr(x, name) for name in table["ndarray"])
    own = {name: found for name, found in vars(cupy.ndarray).items() if not name.startswith("_")}
    assert own.keys() <= table["ndarray"].keys()
    offered = {
        "functions": {name: getattr(cupy, name) for name in table["functions"]},
        "linalg": {name: getattr(cupy.linalg, name) for name in table["linalg"]},
        "ndarray": own,
        "others": {name: pydoc.locate(name) for name in table["others"]},
    }
    for part, functions in offered.items():
        for name, function in functions.items():
            if wanted := table[part][name]:
                assert (name, cupy_names.signature(function)) == (name, wanted)


def test_it_has_every_name_that_the_code_uses() -> None:
    """And their calls' named arguments: all that is written after `xp.`, and after `cupy.` among the kernels."""
    table = json.loads(cupy_names.TABLE.read_text())
    linalg = {f"linalg.{name}": text for name, text in table["linalg"].items()}
    others = {name.removeprefix("cupy."): text for name, text in table["others"].items()}
    known = {**dict.fromkeys(PLAIN, ""), **table["functions"], **linalg, **others}
    used = {}
    for path in sorted((ROOT / "sketchbench").rglob("*.py")):
        owners = ("xp.", "cupy.") if path.parent.name == "kernels" else ("xp.",)
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call)
            name = ast.unparse(node.func if called else node) if called or isinstance(node, ast.Attribute) else ""
            if name.startswith(owners) and re.fullmatch(r"[\w.]+", name):
                given = {keyword.arg for keyword in node.keywords if keyword.arg} if called else set()
                used.setdefault(name.partition(".")[2], []).append((given, f"{path.name}:{node.lineno}"))
    assert len(used) > 40
    for name, uses in used.items():
        assert name in known or f"{name}." in " ".join(known), (name, uses)
        for given, place in uses:
            text = known.get(name, "")
            assert not text or "**" in text or given <= set(re.findall(r"\w+", text)), (name, place)
