"""The metadata of MCP Apps (`io.modelcontextprotocol/ui`): the page of a tool, and who may call it.

A tool names its page in `_meta.ui.resourceUri`, and in `visibility` whether models or pages may call it.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from remit.decision import SEPARATOR
from remit.text import as_object

if TYPE_CHECKING:  # it imports this module
    from remit.gateway.view import Published

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


def names_of_pages(published: "Published") -> Mapping[str, str]:
    """Map the names by which pages call the tools of their own servers to the served names.

    A name of several servers leads nowhere, and neither does one that reads like another server's tool.
    """
    served = published.served
    paged = {served.owners[key] for key, item in served.items.items() if has_page(item)}
    names: dict[str, list[str]] = {}
    if paged:
        definitions = {
            tool.key: served.catalog.definitions[tool.definition or ""].tool
            for tool in served.catalog.tools
            if tool.key in served.items
        }
        for key, item in served.items.items():
            own = definitions.get(key)
            if own and SEPARATOR not in own and served.owners[key] in paged and is_for(item, "app"):
                names.setdefault(own, []).append(item["name"])
    return {own: called[0] for own, called in names.items() if len(called) == 1}
