"""The lists of servers, and definitions, stored once by content."""

import json
from collections.abc import Sequence

from remit.decision import Declaration, Definition, Offer, Workspace, by_annotations
from remit.store.database import Database, key_parameters, scope_parameters
from remit.text import as_object, definition_tokens


class ListingStore:
    """Stores the lists of servers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, declaration: Declaration, offer: Offer, workspace: Workspace, at: int) -> None:
        """Store a server's list; tools missing from a complete one are no longer listed."""
        with self._database.transaction(changes="catalog"):
            scope = scope_parameters(workspace)
            rows = self._database.rows("row_of_key", **key_parameters(declaration.key), **scope)
            if not rows:
                return
            server, digest = rows[0][0], declaration.digest
            if offer.failure is not None:  # keep the tools listed before
                self._database.rows(
                    "mark_failed", server_id=server, reason=offer.failure.reason, digest=digest
                )
                return
            ids = self._define(offer.tools)
            place = key_parameters(declaration.key) | {
                "plugin": declaration.plugin,
                "source": declaration.source,
            }
            self._database.run_each(
                "list_tool",
                [
                    {**place, "name": item.name, "server_id": server, "definition": ids[item.digest]}
                    for item in offer.tools
                ],
            )
            if not offer.is_partial:
                listed = json.dumps([item.name for item in offer.tools])
                self._database.rows("mark_unlisted", server_id=server, listed=listed)
            version = offer.protocol_version
            self._database.rows(
                "mark_listed", server_id=server, at=at, digest=digest, protocol_version=version
            )

    def _define(self, definitions: Sequence[Definition]) -> dict[str, int]:
        digests = json.dumps([definition.digest for definition in definitions])
        known = dict(self._database.rows("known_definitions", digests=digests))
        new = {item.digest: item for item in definitions if item.digest not in known}
        self._database.run_each("define", [_columns(definition) for definition in new.values()])
        return dict(self._database.rows("known_definitions", digests=digests))


def _columns(definition: Definition) -> dict[str, str | int | None]:
    raw = as_object(json.loads(definition.raw))
    schema = raw.get("inputSchema")
    written = None if schema is None else json.dumps(schema)
    return {
        **definition._asdict(),
        "danger": by_annotations(raw),
        "tokens": definition_tokens(definition.name, definition.description, written),
    }
