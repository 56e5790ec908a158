"""Reviews what a server lists besides tools: resources, resource templates and prompts.

They have no pins. Their texts are inspected when a list is taken, and what inspection flags high, or is too
large to inspect, is withheld.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from remit.decision.definitions.definition_changes import ChangeVerdict
from remit.decision.tools import Definition
from remit.trust.change_judgement import ServerListReview
from remit.trust.held_definitions import WITHHELD, Item
from remit.trust.server_list_comparison import Sight, Sighting

_ADDRESSES = ("uri", "uriTemplate")
_MOST_KNOWN = 20_000
_known: dict[str, str | None] = {}  # reasons by digest: each new session lists the same items again


def with_reasons(
    lists: Mapping[str, Iterable[Item]], server: str | None, tools: Sequence[Definition]
) -> dict[str, list[Item]]:
    """Return lists in which each item to withhold has the reason."""
    plain = {part: [_without_reason(item) for item in items] for part, items in lists.items()}
    reasons = iter(_reasons([item for items in plain.values() for item in items], server, tools))
    return {part: [_with(next(reasons), item) for item in items] for part, items in plain.items()}


def _reasons(items: Sequence[Item], server: str | None, tools: Sequence[Definition]) -> list[str | None]:
    """Return why each item is withheld, or None."""
    written = [json.dumps([server, item], sort_keys=True).encode() for item in items]
    digests = [sha256(each).hexdigest() for each in written]
    found = {digest: _known[digest] for digest in digests if digest in _known}
    new = {
        digest: Sighting(Sight.FIRST, _definition(item, server))
        for digest, item in zip(digests, items, strict=True)
        if digest not in found
    }
    if new:
        review = ServerListReview([*tools, *(each.current for each in new.values())])
        review.judge_all(new.values())
        if len(_known) > _MOST_KNOWN:
            _known.clear()
        for digest, sighting in new.items():
            change = review.judge(sighting)
            found[digest] = None if change is None else change.detail
            if change is None or change.verdict is not ChangeVerdict.UNINSPECTED:
                _known[digest] = found[digest]
    return [found[digest] for digest in digests]


def _definition(item: Item, server: str | None) -> Definition:
    """Return an item as a definition; an address counts only if it is a sentence."""
    own = {key: item[key] for key in ("name", "title", "description") if isinstance(item.get(key), str)}
    others: dict[str, Any] = {
        key: value for key, value in item.items() if key not in own and key not in _ADDRESSES
    }
    address = unquote("".join(str(item.get(key, "")) for key in _ADDRESSES))
    if " " in address:
        others["address"] = address
    return Definition(
        name=own.get("name", ""),
        server=server,
        title=own.get("title"),
        description=own.get("description"),
        raw=json.dumps({"fields": others}),
    )


def _with(reason: str | None, item: Item) -> Item:
    return item if reason is None else {**item, WITHHELD: reason}


def _without_reason(item: Item) -> Item:
    return {key: value for key, value in item.items() if key != WITHHELD}
