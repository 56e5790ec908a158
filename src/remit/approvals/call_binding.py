"""Binds an approval to one call: the exact caller, tool, definition and arguments."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import NamedTuple

from remit.decision.tools import Definition
from remit.errors import ApprovalError


class Binding(NamedTuple):
    """The call that an approval is for: the caller, the tool's definition and the exact arguments."""

    principal: str
    tool: str
    definition: str  # digest, or the version of a tool of Remit's own
    arguments: str  # digest


def bind(
    principal: str, tool: str, definition: Definition | str | None, arguments: Mapping[str, object]
) -> Binding:
    """Bind an approval to a call; a tool of Remit's own has a version in place of a definition.

    Raises:
        ApprovalError: the arguments are not valid JSON.
    """
    is_version = isinstance(definition, str)
    defined = definition if is_version else _digest_of_definition(definition)
    return Binding(principal, tool, defined, digest_of_arguments(arguments))


def digest_of_arguments(arguments: Mapping[str, object]) -> str:
    """Return the digest of a call's arguments, independent of key order.

    Raises:
        ApprovalError: the arguments are not valid JSON.
    """
    try:
        text = json.dumps(dict(arguments), sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise ApprovalError("the arguments are not valid JSON") from None
    return sha256(text.encode()).hexdigest()


def _digest_of_definition(definition: Definition | None) -> str:
    content = {} if definition is None else asdict(definition)
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
