"""Reads the lists of a server item by item, and drops the unusable ones."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from remit.decision.tool_names import storable
from remit.upstream.ports import ServerLists
from remit.upstream.tool_reader import MAX_DEFINITION, is_too_deep, read_tools
from remit.upstream.upstream_model import Offer, ServerExtras, Upstream

_MAX_ITEMS = 10_000  # per list


def read_offer(lists: ServerLists, upstream: Upstream) -> Offer:
    """Read all lists of a server."""
    tools = read_tools(lists.tools, upstream)
    return Offer(
        tools=tools.tools,
        quarantined=tools.quarantined,
        protocol_version=lists.protocol_version,
        server_version=lists.server_version,
        is_partial=lists.is_partial,
        extras=ServerExtras(
            resources=_usable(lists.resources, "uri"),
            templates=_usable(lists.templates, "uriTemplate"),
            prompts=_usable(lists.prompts, "name"),
            capabilities={} if is_too_deep(lists.capabilities) else dict(lists.capabilities),
            instructions=None if lists.instructions is None else storable(lists.instructions),
        ),
    )


def _usable(items: Iterable[object], key: str) -> list[dict[str, Any]]:
    """Keep objects of bounded size with distinct names."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, Mapping):
            continue
        fields = cast("dict[str, Any]", item)
        name = fields.get(key)
        if isinstance(name, str) and name and _is_bounded(fields):
            found.setdefault(name, fields)
        if len(found) >= _MAX_ITEMS:
            break
    return list(found.values())


def _is_bounded(fields: dict[str, Any]) -> bool:
    if is_too_deep(fields):
        return False
    try:
        text = json.dumps(fields, allow_nan=False)
    except ValueError:
        return False
    return len(text) <= MAX_DEFINITION
