"""Reads what a server lists, piece by piece: what cannot be used is put aside, the rest stays."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from remit.decision.tool_names import storable
from remit.upstream.ports import ServerLists
from remit.upstream.tool_reader import MAX_DEFINITION, read_tools
from remit.upstream.upstream_model import Offer, ServerExtras, Upstream

_MOST = 10_000  # of each part


def read_offer(stock: ServerLists, upstream: Upstream) -> Offer:
    """Read all that a server lists."""
    tools = read_tools(stock.tools, upstream)
    return Offer(
        tools=tools.tools,
        quarantined=tools.quarantined,
        protocol_version=stock.protocol_version,
        server_version=stock.server_version,
        extras=ServerExtras(
            resources=_usable(stock.resources, "uri"),
            templates=_usable(stock.templates, "uriTemplate"),
            prompts=_usable(stock.prompts, "name"),
            capabilities=dict(stock.capabilities),
            instructions=None if stock.instructions is None else storable(stock.instructions),
        ),
    )


def _usable(items: Iterable[object], key: str) -> list[dict[str, Any]]:
    """Choose what can be told of: objects of bearable size, each with a name of its own."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, Mapping):
            continue
        fields = cast("dict[str, Any]", item)
        name = fields.get(key)
        if isinstance(name, str) and name and _is_bearable(fields):
            found.setdefault(name, fields)
        if len(found) >= _MOST:
            break
    return list(found.values())


def _is_bearable(fields: dict[str, Any]) -> bool:
    try:
        text = json.dumps(fields, allow_nan=False)
    except ValueError:
        return False
    return len(text) <= MAX_DEFINITION
