"""Checking what users write against the schemas of workflow/schemas, with errors of one line."""

import functools
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from sketchbench.digest import PROJECT


class SchemaError(ValueError):
    """Content that does not fit its schema; the message is for the user."""


def read(path: Path, schema: str) -> Any:
    """The content of a YAML file, checked as by `validate`.

    Raises:
        SchemaError: in one line that names the file, where it is no YAML or does not fit.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise SchemaError(f"{path}: {' '.join(str(error).split())}") from None
    validate(content, schema, str(path))
    return content


def validate(content: Any, schema: str, name: str) -> None:
    """Check content against `workflow/schemas/SCHEMA.schema.yaml`.

    Arguments:
        content: what was read from a YAML file.
        schema: name of the schema.
        name: name of the content, for the message.

    Raises:
        SchemaError: where the content doesn't fit; the message names the place.
    """
    try:
        _validator(schema).validate(content)
    except jsonschema.ValidationError as error:
        place = "/".join(str(step) for step in error.absolute_path) or "the top"
        raise SchemaError(f"{name}: at {place}: {error.message}") from None


@functools.cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    path = PROJECT / "workflow" / "schemas" / f"{schema}.schema.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)
