"""What `remit status` and `remit doctor` say about the store."""

from typing import NamedTuple

from remit.configuration.store_place import is_address
from remit.errors import RemitError, StoreError
from remit.store.open_store import open_database, require_driver


class StoreFacts(NamedTuple):
    """A store, and whether it can be used."""

    place: str  # without user and password
    kind: str  # `sqlite` or `postgresql`
    source: str  # the file or variable that names it; empty: the default
    schema: int | None = None  # the version of its schema; None: it cannot be used
    role: str | None = None  # the role in PostgreSQL that queries run as
    problem: RemitError | None = None


def shown_place(place: str) -> str:
    """Write a place for people: a path, or an address without user and password."""
    if not is_address(place):
        return place
    try:
        require_driver()
    except StoreError:
        return "postgresql://"
    from remit.store.postgres.postgres_address import shown

    return shown(place)


def store_facts(place: str, source: str) -> StoreFacts:
    """Open a store for a moment, and tell about it."""
    facts = StoreFacts(shown_place(place), "postgresql" if is_address(place) else "sqlite", source)
    try:
        database = open_database(place)
    except StoreError as error:
        return facts._replace(problem=error)
    try:
        schema, role = database.rows("schema_facts")[0]
    finally:
        database.close()
    return facts._replace(schema=schema, role=role)
