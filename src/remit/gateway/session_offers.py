"""The tools that servers offer to clients of different capabilities.

A server may offer more to a client that can answer questions or show pages. The endpoint lists what any of
its clients is offered, so a list does not depend on who called last. A session is not shown, and cannot call,
what its server does not offer to it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from remit.decision.declarations import Key
from remit.protocol.json_rpc import as_object
from remit.upstream.ports import ServerLists, canonical_capabilities


class SessionOffers:
    """The lists of each server, by the capabilities of the session that got them."""

    def __init__(self) -> None:
        self._found: dict[Key, dict[str, Sequence[Any]]] = {}

    def combined(self, key: Key, found: ServerLists) -> ServerLists:
        """Note a list, and return it with the tools that the server offers to other capabilities.

        A tool that is gone from the list of the same capabilities is gone for all.
        """
        offers = self._found.setdefault(key, {})
        gone = _names(offers.get(found.offered_to, ())) - _names(found.tools)
        for capabilities, tools in offers.items():
            offers[capabilities] = [each for each in tools if _name(each) not in gone]
        offers[found.offered_to] = found.tools
        others = {_name(each): each for tools in offers.values() for each in tools}
        own = _names(found.tools)
        more = [each for name, each in others.items() if name not in own]
        return found._replace(tools=[*found.tools, *more]) if more else found

    def lacks(self, key: Key, capabilities: Mapping[str, Any], name: str) -> bool:
        """Check whether a server is known not to offer a tool to clients with these capabilities."""
        offers = self._found.get(key)
        tools = None if offers is None else offers.get(canonical_capabilities(capabilities))
        return tools is not None and name not in _names(tools)


def _names(tools: Iterable[Any]) -> set[object]:
    return {_name(each) for each in tools}


def _name(tool: Any) -> object:
    name = as_object(tool).get("name")
    return name if isinstance(name, str) else None
