"""The small project of the workflow's tests, for tests in other folders, where `conftest` is another module."""

import importlib.util
import sys
from pathlib import Path

WORKFLOW = Path(__file__).with_name("workflow")
sys.path.append(str(WORKFLOW))  # where the project's own module is
_SPEC = importlib.util.spec_from_file_location("workflow_conftest", WORKFLOW / "conftest.py")
assert _SPEC is not None
assert _SPEC.loader is not None
projects = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = projects
_SPEC.loader.exec_module(projects)
