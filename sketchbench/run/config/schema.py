"""Users' YAML files, read and checked against workflow/schemas, with errors of one line."""

import functools
import math
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from yaml.composer import Composer

from sketchbench.base.parameters import did_you_mean
from sketchbench.base.project import HOME

SCALES = ("smoke", "quick", "paper")  # as the schemas and conf/scale have them
LARGEST = 10_000  # values of a file, with those that aliases repeat
LONGEST = 400  # characters of a message, which may show a part of the file


class SchemaError(ValueError):
    """Content that does not fit its schema; the message is for users."""


def read(path: Path, schema: str) -> Any:
    """Read a YAML file that fits a schema; see `load` and `validate`."""
    content = load(path)
    validate(content, schema, str(path))
    return content


def load(path: Path) -> Any:
    """Read a YAML file of mappings with string keys, lists, strings, numbers, booleans and nulls. Raises SchemaError,
    in one line that names the file, for anything else and for a duplicate key."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
        _count(content, "the top", LARGEST)
    except (yaml.YAMLError, OSError, ValueError) as error:
        raise SchemaError(f"{path}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise SchemaError(f"{path}: it is nested too deeply, or contains itself") from None
    return content


class YAML(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader, which takes a fifth of the time where it has libyaml. Nodes are composed in Python, with
    RecursionError where they are nested too deeply: libyaml's composer ends the process there."""

    get_single_node, compose_document = Composer.get_single_node, Composer.compose_document
    compose_node, compose_scalar_node = Composer.compose_node, Composer.compose_scalar_node
    compose_sequence_node, compose_mapping_node = Composer.compose_sequence_node, Composer.compose_mapping_node

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.anchors: dict[str, Any] = {}

    def flatten_mapping(self, node: Any) -> None:
        super().flatten_mapping(node)
        if len(node.value) > LARGEST:
            raise SchemaError(f"line {node.start_mark.line + 1}: it has more than {LARGEST} values, by merges (<<)")


class _Loader(YAML):
    """YAML without duplicate keys. A date is a string, as in JSON."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (as PyYAML declares it)
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise SchemaError(f"line {key.start_mark.line + 1}: duplicate key {key.value}; remove one")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _count(content: Any, place: str, left: int) -> int:
    """Return `left` less the number of values in the content; SchemaError if it has more, and for a type that JSON
    lacks."""
    if left <= 0:
        raise SchemaError(f"it has more than {LARGEST} values, with those that aliases repeat")
    if isinstance(content, dict):
        for key, value in content.items():
            if not isinstance(key, str):
                raise SchemaError(f"at {place}: key {key} must be a string; write it in quotes")
            left = _count(value, key, left - 1)
    elif isinstance(content, list):
        for value in content:
            left = _count(value, place, left - 1)
    elif isinstance(content, float) and math.isnan(content):
        raise SchemaError(f"at {place}: {content} is not a number")
    elif not isinstance(content, str | int | float | None):
        raise SchemaError(f"at {place}: a value of type {type(content).__name__} must be a string, a number or a list")
    return left


def validate(content: Any, schema: str, name: str) -> None:
    """Raise SchemaError, with the name of the content and the place, if it does not fit
    `workflow/schemas/SCHEMA.schema.yaml`."""
    try:
        _validator(schema).validate(content)
    except jsonschema.ValidationError as error:
        place = "/".join(str(step) for step in error.absolute_path) or "the top"
        message = error.message if len(error.message) <= LONGEST else f"{error.message[:LONGEST]} ..."
        raise SchemaError(f"{name}: at {place}: {message}{_suggestion(error)}") from None


def _suggestion(error: jsonschema.ValidationError) -> str:
    """Return `; did you mean NAME?` for an unknown key or choice; "" if no name is similar."""
    instance, rules = error.instance, error.schema
    if error.validator == "additionalProperties" and isinstance(instance, dict) and isinstance(rules, dict):
        known = rules.get("properties", {}).keys()
        suggestions = (did_you_mean(key, known) for key in instance.keys() - known)
        return next(filter(None, suggestions), "")
    if error.validator == "enum":
        return did_you_mean(instance, list(error.validator_value))  # type: ignore[arg-type]
    return ""


@functools.cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    """The validator of a schema of the project; that each is a schema is tested, not checked again at every start."""
    path = HOME / "workflow" / "schemas" / f"{schema}.schema.yaml"
    return jsonschema.Draft202012Validator(yaml.load(path.read_text(encoding="utf-8"), YAML))
