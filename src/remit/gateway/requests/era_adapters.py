"""What the two eras of the protocol spell differently: envelopes around requests, and around answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from remit.protocol.constants import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    INVALID_PARAMS,
    LEVELS,
    LOG_LEVEL_KEY,
    NEWER,
    NO_RESOURCE,
    SERVER_KEY,
    VERSION_KEY,
)
from remit.upstream.ports import Answer, Params

LISTS = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})

_ENVELOPE = frozenset({VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY, LOG_LEVEL_KEY})
_CACHED = frozenset({*LISTS, "resources/read", "server/discover"})
_OF_2026 = ("resultType", "ttlMs", "cacheScope")
_FRESH = {"ttlMs": 0, "cacheScope": "private"}  # a state may change any list at any time, for one alone


def is_modern(version: str) -> bool:
    """Whether a version of the protocol is of the era without sessions."""
    return version in NEWER


def as_object(value: object) -> Mapping[str, Any]:
    """Take a value for the object that it should be; anything else is an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def roots_of(directory: str) -> Answer:
    """Say which directory it is all about, as a client says it of its own."""
    path = Path(directory)
    return {"roots": [{"uri": path.as_uri(), "name": path.name}]}


def without_envelope(params: Mapping[str, Any] | None) -> Params:
    """Take away what a request of 2026 says of its sender, which is for us alone."""
    if not params:
        return {}
    meta = as_object(params.get("_meta"))
    if _ENVELOPE.isdisjoint(meta):
        return params
    kept = {name: value for name, value in meta.items() if name not in _ENVELOPE}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": kept} if kept else rest


def for_2026(answer: Answer, method: str, server: Mapping[str, Any]) -> Answer:
    """Complete an answer with what the era without sessions asks for."""
    shaped = {"resultType": "complete", **answer}
    if method in _CACHED and shaped["resultType"] == "complete":
        shaped = {**_FRESH, **shaped}
    meta = shaped.get("_meta")
    shaped["_meta"] = {**(meta if isinstance(meta, dict) else {}), SERVER_KEY: server}
    return shaped


def for_older(answer: Answer) -> Answer:
    """Take away what older clients never heard of."""
    if not any(name in answer for name in _OF_2026):
        return answer
    return {name: value for name, value in answer.items() if name not in _OF_2026}


def code_for(code: int, *, is_modern: bool) -> int:
    """Spell the code of an error: that a resource does not exist had one of its own until 2026."""
    return INVALID_PARAMS if is_modern and code == NO_RESOURCE else code


def is_heard(level: object, least: str | None) -> bool:
    """Whether a log message of a level is one of those that were asked for."""
    if least not in LEVELS or level not in LEVELS:
        return False
    return LEVELS.index(level) >= LEVELS.index(least)
