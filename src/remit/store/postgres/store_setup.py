"""Creates the schema and the roles of a shared store; run by an owner of the database."""

from typing import Any, NamedTuple

import psycopg
from psycopg import errors, sql

from remit.errors import StoreTooNewError, StoreUnavailableError
from remit.store.postgres import postgres_schema, table_rights
from remit.store.postgres.postgres_access import OWNER, connect, require_owner
from remit.store.postgres.postgres_address import shown


class StoreSetup(NamedTuple):
    """What was set up."""

    place: str
    before: int  # the version of the schema; 0: there was none
    schema: int
    role: str
    user: str | None  # who may use the store now
    admin: str | None = None  # who may administer it now


def set_up_store(address: str, user: str | None = None, admin: str | None = None) -> StoreSetup:
    """Create or update the schema and the roles that Remit works as, and grant them to users.

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
                require_owner(connection, place)
            postgres_schema.migrate(connection, place)
            if user is not None:
                _grant(connection, user, place, table_rights.RUNTIME)
            if admin is not None:
                for role in table_rights.ROLES:
                    _grant(connection, admin, place, role)
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailableError(f"the user of `{place}` may not set it up", hint=OWNER) from error
    finally:
        connection.close()
    return StoreSetup(place, before, postgres_schema.newest(), table_rights.RUNTIME, user, admin)


def _grant(connection: "psycopg.Connection[Any]", user: str, place: str, role: str) -> None:
    """Let a user that can log in take a role that Remit works as."""
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
    name, database = sql.Identifier(user), sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), name))
    connection.execute(sql.SQL("grant connect on database {} to {}").format(database, name))
