"""Keeps definitions, once by content."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING

from remit.decision.danger import by_annotations
from remit.decision.tools import Definition
from remit.text.token_estimate import definition_tokens

if TYPE_CHECKING:
    from remit.store.database import Database

# Not `asdict`, which copies deeply: a first scan defines hundreds of commands and skills.
_FIELDS = tuple(field.name for field in fields(Definition))


def define(database: Database, definition: Definition) -> int:
    """Find or make the row of a definition."""
    content = {name: getattr(definition, name) for name in _FIELDS}
    # Some servers write their keys in another order each time: what was kept first stays.
    told = {**content, "raw": None if definition.raw is None else json.loads(definition.raw)}
    digest = sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    danger = by_annotations(definition.annotations)
    tokens = definition_tokens(definition.name, definition.description, definition.input_schema)
    return database.rows("define", digest=digest, danger=danger, tokens=tokens, **content)[0][0]
