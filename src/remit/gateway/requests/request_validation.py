"""The form that requests have to have, as far as the gateway itself looks into them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from remit.protocol.constants import INVALID_PARAMS, LEVELS, METHOD_NOT_FOUND
from remit.upstream.ports import JsonRpcError, Params


class _Field(NamedTuple):
    name: str
    type: type[Any]
    is_needed: bool = True


_URI = (_Field("uri", str),)
_CURSOR = (_Field("cursor", str, is_needed=False),)
_FIELDS: Mapping[str, tuple[_Field, ...]] = {
    "tools/list": _CURSOR,
    "resources/list": _CURSOR,
    "resources/templates/list": _CURSOR,
    "prompts/list": _CURSOR,
    "tools/call": (_Field("name", str), _Field("arguments", dict, is_needed=False)),
    "prompts/get": (_Field("name", str), _Field("arguments", dict, is_needed=False)),
    "resources/read": _URI,
    "resources/subscribe": _URI,
    "resources/unsubscribe": _URI,
    "completion/complete": (_Field("ref", dict), _Field("argument", dict)),
    "logging/setLevel": (_Field("level", str),),
    "subscriptions/listen": (_Field("notifications", dict),),
}
_OLDER_ALONE = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel", "ping"})
_NEWER_ALONE = frozenset({"subscriptions/listen", "server/discover"})


def validate_request(method: str, params: Params, *, is_newer: bool) -> None:
    """Refuse what an era does not have, or not in this form.

    Raises:
        JsonRpcError: that is so.
    """
    if method in (_OLDER_ALONE if is_newer else _NEWER_ALONE):
        raise JsonRpcError(METHOD_NOT_FOUND, "Method not found", method)
    for field in _FIELDS.get(method, ()):
        value = params.get(field.name)
        if not isinstance(value, field.type) and (value is not None or field.is_needed):
            raise JsonRpcError(INVALID_PARAMS, f"`{field.name}` is missing, or not what it should be")
    if method == "logging/setLevel" and params["level"] not in LEVELS:
        raise JsonRpcError(INVALID_PARAMS, f"`level` is one of {', '.join(LEVELS)}")
