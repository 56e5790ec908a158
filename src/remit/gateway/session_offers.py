"""The tools that servers offer to clients of different capabilities.

A server may offer more to a client that can answer questions or show pages. The endpoint lists what any of
its clients is offered, so a list does not depend on who called last. A session is not shown, and cannot call,
what its server does not offer to it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from remit.decision.declarations import Key
from remit.text.json_values import as_object
from remit.upstream.ports import ServerLists, canonical_capabilities

ToolsByName = Mapping[str, Any]


class SessionOffers:
    """The lists of each server, by the capabilities of the session that got them."""

    def __init__(self) -> None:
        self._found: dict[Key, dict[str, ToolsByName]] = {}
        self._complete: set[Key] = set()  # servers that were asked with all capabilities

    def combined(self, key: Key, found: ServerLists) -> ServerLists:
        """Note a list, and return it with the tools that the server offers to other capabilities.

        A tool that is gone from the list of the same capabilities is gone for all. The result is partial as
        long as the server was not asked with all capabilities.
        """
        if not found.is_partial:
            self._complete.add(key)
        found = found._replace(is_partial=key not in self._complete)
        offers, new = self._found.setdefault(key, {}), _by_name(found.tools)
        gone = offers.get(found.offered_to, {}).keys() - new.keys()
        for capabilities, offer in offers.items():
            offers[capabilities] = {name: each for name, each in offer.items() if name not in gone}
        offers[found.offered_to] = new
        others = {name: each for offer in offers.values() for name, each in offer.items()}
        more = [each for name, each in others.items() if name not in new]
        return found._replace(tools=[*found.tools, *more]) if more else found

    def lacks(self, key: Key, capabilities: Mapping[str, Any], name: str) -> bool:
        """Check whether a server is known not to offer a tool to clients with these capabilities."""
        offers = self._found.get(key, {})
        if len(offers) < 2:  # all are offered the same, as far as is known
            return False
        offer = offers.get(canonical_capabilities(capabilities))
        return offer is not None and name not in offer


def _by_name(tools: Iterable[Any]) -> ToolsByName:
    named = ((as_object(each).get("name"), each) for each in tools)
    return {name: each for name, each in named if isinstance(name, str)}
