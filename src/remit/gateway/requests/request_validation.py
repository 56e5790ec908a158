"""Validates the request members that Remit itself reads."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from remit.gateway.requests.downstream_eras import DOWNSTREAM_ERAS
from remit.protocol.constants import LOG_LEVELS
from remit.protocol.era import Era
from remit.protocol.json_rpc import ErrorCode, JsonRpcError, Params


class _Member(NamedTuple):
    name: str
    type: type[Any]
    is_required: bool = True


_URI = (_Member("uri", str),)
_CURSOR = (_Member("cursor", str, is_required=False),)
_MEMBERS: Mapping[str, tuple[_Member, ...]] = {
    "tools/list": _CURSOR,
    "resources/list": _CURSOR,
    "resources/templates/list": _CURSOR,
    "prompts/list": _CURSOR,
    "tools/call": (_Member("name", str), _Member("arguments", dict, is_required=False)),
    "prompts/get": (_Member("name", str), _Member("arguments", dict, is_required=False)),
    "resources/read": _URI,
    "resources/subscribe": _URI,
    "resources/unsubscribe": _URI,
    "completion/complete": (_Member("ref", dict), _Member("argument", dict)),
    "logging/setLevel": (_Member("level", str),),
    "subscriptions/listen": (_Member("notifications", dict),),
}


def validate_request(method: str, params: Params, era: Era) -> None:
    """Reject methods that an era does not have, and invalid parameters.

    Raises:
        JsonRpcError: the request is invalid.
    """
    if method in DOWNSTREAM_ERAS[era].missing_methods:
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found", method)
    for member in _MEMBERS.get(method, ()):
        value = params.get(member.name)
        if not isinstance(value, member.type) and (value is not None or member.is_required):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`{member.name}` is missing or invalid")
    if method == "logging/setLevel" and params["level"] not in LOG_LEVELS:
        raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`level` must be one of {', '.join(LOG_LEVELS)}")
