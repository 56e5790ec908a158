"""Judges a changed keyword that limits a value: is more allowed than before, or does it carry a text?"""

import re

_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_FLAGS = ("deprecated", "readOnly", "writeOnly")  # allow nothing and forbid nothing
_SCHEMA = re.compile(r"https?://json-schema\.org/(?:draft/)?[\w-]+/schema#?")
_KNOWN_FORMATS = """
    date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri
    iri-reference uri-template uuid json-pointer relative-json-pointer regex int32 int64 float double
    byte binary
"""
_FORMATS = frozenset(_KNOWN_FORMATS.split())

LIMITS = frozenset({*_MOST, *_LEAST, *_FLAGS, "multipleOf", "uniqueItems", "format", "$schema"})


def is_text(key: str, value: object) -> bool:
    """Return whether a keyword's value is something else than the keyword is for, such as a text."""
    if key == "format":
        return not (isinstance(value, str) and value in _FORMATS)
    if key == "$schema":
        return not (isinstance(value, str) and _SCHEMA.fullmatch(value))
    return not isinstance(value, bool | int | float)


def is_looser(key: str, before: object, after: object) -> bool:
    """Return whether a keyword allows values that it did not allow before; new limits allow fewer."""
    if before is None or key in _FLAGS or key == "$schema":
        return False
    if isinstance(before, bool) or isinstance(after, bool):
        return bool(before) and not after
    if isinstance(before, int | float) and isinstance(after, int | float):
        return (key not in _LEAST and after > before) or (key not in _MOST and after < before)
    return True
