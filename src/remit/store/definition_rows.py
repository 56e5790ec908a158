"""Stores definitions once by content, with their pins and the danger that they describe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from remit.decision.danger import by_annotations
from remit.decision.definitions.described_danger import by_definition
from remit.decision.tools import Definition
from remit.store.database import Database, Value
from remit.store.row_values import DEFINITION_COLUMNS
from remit.text.token_estimate import definition_tokens
from remit.trust.definition_pin import pin_of


class PreparedDefinition:
    """A definition with the digest of its content, and the rest of its row once that is needed."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        content = _content(definition)
        # Some servers change the order of keys each time; the first stored version stays.
        told = {**content, "raw": None if definition.raw is None else json.loads(definition.raw)}
        self.digest = sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    @cached_property
    def pin(self) -> str:
        """The digest of what matters in the definition."""
        return pin_of(self.definition)

    @cached_property
    def row(self) -> Mapping[str, Value]:
        """The values of the row, which take most of the time to store it."""
        definition = self.definition
        return {
            "digest": self.digest,
            "danger": by_annotations(definition.annotations),
            "described": _written(definition),
            "pin": self.pin,
            "tokens": definition_tokens(definition.name, definition.description, definition.input_schema),
            **_content(definition),
        }


class StoredDefinition(NamedTuple):
    """The row of a definition, and its pin."""

    id: int
    pin: str


def define(database: Database, definition: Definition) -> int:
    """Find or add the row of a definition, which is stored once by content."""
    prepared = PreparedDefinition(definition)
    return store_definitions(database, [prepared])[prepared.digest].id


def find_definitions(
    database: Database, prepared: Iterable[PreparedDefinition]
) -> dict[str, StoredDefinition]:
    """Find the rows of definitions by digest, without new ones."""
    digests = [each.digest for each in prepared]
    found = database.rows("known_definitions", digests=json.dumps(digests)) if digests else []
    return {digest: StoredDefinition(id, pin) for digest, id, pin in found}


def store_definitions(
    database: Database, prepared: Sequence[PreparedDefinition]
) -> dict[str, StoredDefinition]:
    """Find or add the rows of definitions, and return them by digest."""
    known = find_definitions(database, prepared)
    new = {each.digest: each for each in prepared if each.digest not in known}
    database.run_each("define", [each.row for each in new.values()])
    return known | find_definitions(database, new.values())


def _content(definition: Definition) -> dict[str, str | None]:
    return {name: getattr(definition, name) for name in DEFINITION_COLUMNS}


def _written(definition: Definition) -> str | None:
    """Serialize the danger that a server's tool describes; only its server's list has a raw form."""
    rating = None if definition.raw is None else by_definition(definition)
    return None if rating is None else json.dumps(rating)
