"""Creates the schema and the roles of a shared store; run by an owner of the database."""

from typing import Any, NamedTuple

import psycopg
from psycopg import errors, sql

from remit.errors import StoreTooNewError, StoreUnavailableError
from remit.store.maintenance.postgres_access import connect
from remit.store.postgres import postgres_schema
from remit.store.postgres.postgres_address import shown

_OWNER = "use the address of the owner of the database"


class StoreSetup(NamedTuple):
    """What was set up."""

    place: str
    before: int  # the version of the schema; 0: there was none
    schema: int
    role: str
    user: str | None  # who may use the store now


def set_up_store(address: str, user: str | None = None) -> StoreSetup:
    """Create or update the schema and the role that Remit works as, and grant the role to a user.

    Raises:
        StoreError: the user of the address may not, or the other user cannot be used.
    """
    place = shown(address)
    connection = connect(address)
    try:
        with connection.transaction():
            before = postgres_schema.version(connection)
            if before > postgres_schema.newest():
                raise StoreTooNewError(
                    f"`{place}` was created by a newer Remit (schema {before}, this knows "
                    f"{postgres_schema.newest()})",
                    hint="upgrade Remit",
                )
            if before:
                _require_owner(connection, place)
            postgres_schema.migrate(connection, place)
            if user is not None:
                _grant(connection, user, place)
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailableError(f"the user of `{place}` may not set it up", hint=_OWNER) from error
    finally:
        connection.close()
    return StoreSetup(place, before, postgres_schema.newest(), postgres_schema.ROLE, user)


def _require_owner(connection: "psycopg.Connection[Any]", place: str) -> None:
    owned = "select pg_has_role(current_user, nspowner, 'usage') from pg_namespace where nspname = %s"
    if connection.execute(owned, [postgres_schema.SCHEMA]).fetchall() != [(True,)]:
        raise StoreUnavailableError(f"the user of `{place}` does not own its store", hint=_OWNER)


def _grant(connection: "psycopg.Connection[Any]", user: str, place: str) -> None:
    """Let a user that can log in take the role that Remit works as."""
    known = "select rolcanlogin, rolsuper or rolbypassrls from pg_roles where rolname = %s"
    found = connection.execute(known, [user]).fetchall()
    if not found or not found[0][0]:
        raise StoreUnavailableError(
            f"`{place}` has no user `{user}` that can log in",
            hint=f'create it first: `create role "{user}" login password …`',
        )
    if found[0][1]:
        raise StoreUnavailableError(
            f"`{user}` bypasses row-level security",
            hint="name a user that is neither a superuser nor has BYPASSRLS",
        )
    role, name = sql.Identifier(postgres_schema.ROLE), sql.Identifier(user)
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("grant {} to {}").format(role, name))
    connection.execute(sql.SQL("grant connect on database {} to {}").format(database, name))
