"""The schemas of YAML files, which a start of the program trusts."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from sketchbench.base.project import HOME

SCHEMAS = sorted((HOME / "workflow" / "schemas").glob("*.schema.yaml"))


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_each_is_a_schema(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(yaml.safe_load(path.read_text(encoding="utf-8")))
