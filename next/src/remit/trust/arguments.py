"""Checks the arguments of a call against its tool's schema, before a person is asked about the call."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from remit.text import one_line

_LONGEST_REASON = 300  # characters
_MOST_REFERENCES = 24  # each level of references can multiply the work
_NOT_CHECKED = ('"patternProperties"', '"$dynamicRef"')  # may take forever


def argument_mistake(schema: Mapping[str, object], arguments: Mapping[str, object]) -> str | None:
    """Return why a call with these arguments cannot run; None if it may.

    Frameworks and servers convert texts, so `"5"` counts as a number. Not checked: a schema that cannot be
    used, and arguments that a framework has already converted to objects.
    """
    try:
        text, given = json.dumps(schema), json.loads(json.dumps(arguments))
        if text.count('"$ref"') > _MOST_REFERENCES or any(word in text for word in _NOT_CHECKED):
            return None
        validator, best_match = _validator(json.loads(text))
        error = best_match(item for item in validator.iter_errors(given) if not _can_convert(item, validator))
    except Exception:  # the schema may be anyone's
        return None
    return None if error is None else one_line(_reason(error), _LONGEST_REASON)


def _validator(schema: Any) -> tuple[Any, Any]:
    # Loading takes a tenth of a second, and few calls need approval.
    import jsonschema
    import referencing

    untyped: Any = jsonschema
    registries: Any = referencing
    kind = untyped.validators.extend(untyped.validators.validator_for(schema), {"pattern": _no_errors})
    return kind(schema, registry=registries.Registry()), untyped.exceptions.best_match  # fetches nothing


def _no_errors(*_: object) -> Iterator[Any]:
    """Ignore a pattern: it may take forever, too."""
    return iter(())


def _can_convert(error: Any, validator: Any) -> bool:
    """Return whether a text is the JSON of a value that the schema accepts."""
    if isinstance(error.instance, str):
        with suppress(ValueError):
            return bool(validator.evolve(schema=error.schema).is_valid(json.loads(error.instance)))
    return False


def _reason(error: Any) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"the parameter `{f'{place}.{missing}'.removeprefix('.')}` is missing"
    if error.validator == "additionalProperties" and error.validator_value is False:
        unknown = next(name for name in error.instance if name not in error.schema.get("properties", {}))
        return f"there is no parameter `{f'{place}.{unknown}'.removeprefix('.')}`"
    return f"`{place.removeprefix('.') or 'arguments'}`: {error.message}"
