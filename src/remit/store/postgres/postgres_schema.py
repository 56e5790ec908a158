"""Creates and migrates the schema in PostgreSQL, and the roles that Remit works as.

Whoever opens the database takes one of these roles, so that even an owner's or a superuser's address keeps to
the scope rule. `table_rights` has their rights.
"""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import errors, sql

from remit.errors import StoreCorruptError, StoreRightsError, StoreTooNewError, StoreUnavailableError
from remit.store.database import SQL, read_sql
from remit.store.postgres import table_rights
from remit.store.postgres.answering_connection import AnsweringConnection
from remit.store.postgres.table_rights import ADMIN, ROLES, RUNTIME, SCHEMA

_MIGRATIONS = os.path.join(SQL, "postgres", "migrations")
_LOCK = 0x52656D69  # taken by whoever migrates
_LEAST_VERSION = 160000
# The first line of a migration after which older gateways can go on.
_KNOWS = re.compile(r"-- Gateways that know schema (\d+) can go on\.\n")
_EXTENSION = "create extension vector schema public"
Connection = psycopg.Connection[Any]


def newest() -> int:
    """Return the version of the schema that this Remit knows."""
    return max(migrations())


def prepare(connection: AnsweringConnection, place: str, role: str = RUNTIME) -> None:
    """Bring the schema up to date if necessary, and take a role that Remit works as.

    Raises:
        StoreError: the database is too old, its schema is newer, or this user may not create it.
        StoreRightsError: this user may not take the role.
    """
    if connection.info.server_version < _LEAST_VERSION:
        raise StoreUnavailableError(
            f"`{place}` runs PostgreSQL {connection.info.server_version // 10000}",
            hint="Remit needs PostgreSQL 16 or newer",
        )
    connection.execute(sql.SQL("set search_path to {}, public").format(sql.Identifier(SCHEMA)))
    found = version(connection)
    if found > newest() and oldest(connection) > newest():
        raise StoreTooNewError(
            f"`{place}` was created by a newer Remit (schema {found}, this knows {newest()})",
            hint="upgrade Remit, or use another database",
        )
    if found < newest():
        with connection.any_silence():
            migrate(connection, place)
    try:
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
    except (errors.InsufficientPrivilege, errors.InvalidParameterValue) as error:
        raise missing_role(role, place) from error


def missing_role(role: str, place: str) -> StoreUnavailableError:
    """Return the error that a user may not take a role, with what to do about it."""
    if role == ADMIN:
        return StoreRightsError(
            f"the user of `{place}` may not administer the store: it needs the role `{ADMIN}`",
            hint="set `store_admin` in remit.toml or REMIT_STORE_ADMIN to the address of a user who may; "
            "the owner of the store adds one with `remit store init URL --admin NAME`",
        )
    return StoreRightsError(
        f"the user of `{place}` may not take the role `{role}`",
        hint="have its owner run `remit store init URL --user NAME`",
    )


def version(connection: Connection) -> int:
    """Return the version of the schema; 0 if there is none.

    Raises:
        StoreUnavailableError: this user may not use the store.
    """
    try:
        if connection.execute("select to_regclass('remit.schema_version')").fetchall() == [(None,)]:
            return 0
        found = connection.execute("select max(number) from remit.schema_version").fetchall()
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailableError(
            f"this user may not use the store in the database `{connection.info.dbname}`",
            hint="have its owner run `remit store init URL --user NAME`",
        ) from error
    return found[0][0] or 0


def oldest(connection: Connection) -> int:
    """Return the schema that a Remit must know to work on this one, which is newer than its own."""
    listed = "select max(coalesce(oldest, number)) from remit.schema_version"
    return connection.execute(listed).fetchall()[0][0]


def migrate(connection: Connection, place: str) -> None:
    """Create the role and the schema, or bring the schema up to date; others that try wait.

    Raises:
        StoreError: this user may not, or pgvector is missing.
    """
    try:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
            before = version(connection)
            if before == 0:
                _create(connection, place)
            _create_roles(connection, place)
            for number, path in migrations().items():
                if number > before:
                    text = read_sql(path)
                    connection.execute(text.encode())
                    connection.execute("insert into schema_version (number) values (%s)", [number])
                    if (known := knows(text)) is not None:
                        set_oldest = "update schema_version set oldest = %s where number = %s"
                        connection.execute(set_oldest, [known, number])
            table_rights.grant(connection)
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailableError(
            f"`{place}` has no schema of this version, and its user may not create it",
            hint="run `remit store init` with the address of an owner of the database",
        ) from error
    except errors.FeatureNotSupported as error:
        raise StoreUnavailableError(
            f"`{place}` has no pgvector", hint="install the extension `vector` on the database server"
        ) from error
    except (errors.DuplicateObject, errors.DuplicateTable) as error:
        raise StoreCorruptError(
            f"`{place}` has a schema `{SCHEMA}` of another program", hint="use another database"
        ) from error


def _create(connection: Connection, place: str) -> None:
    connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(SCHEMA)))
    if not connection.execute("select 1 from pg_extension where extname = 'vector'").fetchall():
        with _administrated(f"`{place}` has no pgvector, and its user may not create it", _EXTENSION):
            connection.execute("create extension vector schema public")
    connection.execute("create table schema_version (number integer primary key)")


def _create_roles(connection: Connection, place: str) -> None:
    """Create the roles, and let this user take them."""
    for name in ROLES:
        role = sql.Identifier(name)
        if not connection.execute("select 1 from pg_roles where rolname = %s", [name]).fetchall():
            # Roles are shared by all databases of the server, and another one may be created at this moment.
            with (
                _administrated(
                    f"the user of `{place}` may not create the role `{name}`", f"create role {name} nologin"
                ),
                suppress(errors.DuplicateObject, errors.UniqueViolation),
                connection.transaction(),
            ):
                connection.execute(sql.SQL("create role {} nologin nobypassrls").format(role))
        if connection.execute("select pg_has_role(current_user, %s, 'set')", [name]).fetchall() == [(False,)]:
            with _administrated(
                f"the user of `{place}` may not use the role `{name}`",
                f"grant {name} to OWNER with admin option",
            ):
                connection.execute(sql.SQL("grant {} to current_user").format(role))


@contextmanager
def _administrated(problem: str, statement: str) -> Generator[None]:
    """Name the statement that only an administrator of the server can run."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailableError(
            problem, hint=f"have an administrator of the server run `{statement}` in this database"
        ) from error


def partitions(connection: Connection) -> list[str]:
    """List the partitions of the audit log."""
    listed = (
        "select relname from pg_class where relnamespace = %s::regnamespace and relispartition "
        "and relkind = 'r' order by 1"
    )
    return [name for (name,) in connection.execute(listed, [SCHEMA]).fetchall()]


def knows(migration: str) -> int | None:
    """Return the schema that older gateways must know to go on after a migration; None: they cannot."""
    found = _KNOWS.match(migration)
    return None if found is None else int(found[1])


def migrations() -> dict[int, str]:
    """Map the numbers of the migrations to their files."""
    names = sorted(name for name in os.listdir(_MIGRATIONS) if name.endswith(".sql"))
    return {int(name[:4]): os.path.join(_MIGRATIONS, name) for name in names}
