"""Writes the definitions of the memory tools from their models: `python -m remit.memory.tool_schema`.

The result is the file `tool_definitions.json`. Scans and the gateway read that file, so they do not load
pydantic, and a new version of pydantic does not change definitions that users have accepted.
"""

import json
from pathlib import Path
from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from remit.memory.tool_models import TOOL_MODELS, ToolArguments

FILE = Path(__file__).with_name("tool_definitions.json")


class _SchemaGenerator(GenerateJsonSchema):
    """Writes short schemas: no titles, and no null or default for optional fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - of the base class
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def definitions() -> dict[str, dict[str, Any]]:
    """Return the tool definitions in a stable order."""
    return {name: _definition(name, model) for name, model in TOOL_MODELS.items()}


def as_json() -> str:
    """Return the text of the definitions file."""
    return json.dumps(definitions(), indent=1, ensure_ascii=False) + "\n"


def _definition(name: str, model: type[ToolArguments]) -> dict[str, Any]:
    schema = model.model_json_schema(schema_generator=_SchemaGenerator)
    return {
        "name": name,
        "description": " ".join((model.__doc__ or "").split()),
        "inputSchema": _inlined(schema, schema.get("$defs", {})),
        "annotations": {
            "readOnlyHint": model.is_read_only,
            "destructiveHint": model.is_destructive,
            "idempotentHint": model.is_read_only or model.is_destructive,
            "openWorldHint": False,
        },
    }


def _inlined(schema: Any, models: dict[str, Any]) -> Any:
    """Replace references to models with their schemas, without title and docstring."""
    if isinstance(schema, list):
        return [_inlined(each, models) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    found = cast("dict[str, Any]", schema)
    if "$ref" in found:
        inner = _inlined(models[found["$ref"].rpartition("/")[2]], models)
        return {**inner, **{key: each for key, each in found.items() if key == "description"}}
    if "additionalProperties" in found:
        found = _object(found["properties"], found.get("required", []))
    return {key: _inlined(each, models) for key, each in found.items()}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """Describe an object, required properties first."""
    ordered = sorted(properties, key=lambda name: name not in required)
    return {
        "type": "object",
        "properties": {name: properties[name] for name in ordered},
        "required": required,
        "additionalProperties": False,
    }


if __name__ == "__main__":
    FILE.write_text(as_json(), encoding="utf-8")
