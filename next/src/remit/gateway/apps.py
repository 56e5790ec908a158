"""The metadata of MCP Apps (`io.modelcontextprotocol/ui`): the page of a tool, and who may call it.

A tool names its page in `_meta.ui.resourceUri`, and in `visibility` whether models or pages may call it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from remit.text import as_object

SCHEME = "ui://"
_UI = "ui"
_PAGE = "resourceUri"
_OLD_KEY = "ui/resourceUri"  # of early versions of the extension, which servers still send


def page_of(item: Mapping[str, Any]) -> str | None:
    """Return the address of a tool's page."""
    meta = as_object(item.get("_meta"))
    if _UI not in meta and _OLD_KEY not in meta:
        return None
    page = as_object(meta.get(_UI)).get(_PAGE, meta.get(_OLD_KEY))
    return page if isinstance(page, str) and page.startswith(SCHEME) else None


def has_page(item: Mapping[str, Any]) -> bool:
    """Return whether a tool has a page, or is meant for one."""
    meta = as_object(item.get("_meta"))
    return bool(as_object(meta.get(_UI))) or _OLD_KEY in meta


def is_for(item: Mapping[str, Any], whom: str) -> bool:
    """Return whether `model` or `app` may call a tool."""
    visibility = as_object(as_object(item.get("_meta")).get(_UI)).get("visibility")
    return not isinstance(visibility, list) or not visibility or whom in visibility


def readdressed(item: dict[str, Any], written: Callable[[str], str]) -> dict[str, Any]:
    """Return a tool or result with the served address of its page; the same object if it stays the same."""
    page = page_of(item)
    served = page if page is None else written(page)
    if served == page:
        return item
    meta = as_object(item.get("_meta"))
    ui = as_object(meta.get(_UI))
    named = {_UI: {**ui, _PAGE: served}} if _PAGE in ui else {}
    old = {_OLD_KEY: served} if _OLD_KEY in meta else {}
    return {**item, "_meta": {**meta, **named, **old}}
