"""Checks a store in PostgreSQL: its schema, its role, and row-level security on every table."""

from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import errors, sql

from remit.store.maintenance.soundness import StoreCheck, check_rows
from remit.store.maintenance.table_model import OUTLIVING, tables
from remit.store.postgres import postgres_schema, table_rights
from remit.store.postgres.postgres_access import PostgresAccess, connect, read_postgres, require_current
from remit.store.postgres.postgres_address import shown

OPEN = ("schema_version", "copies", "revisions", "memory_model", "deliveries", "tokens")  # of no project
_ATTRIBUTES = {
    "rolsuper": "is a superuser",
    "rolbypassrls": "has BYPASSRLS",
    "rolcreaterole": "may create roles",
    "rolcreatedb": "may create databases",
    "rolcanlogin": "can log in by itself",
}

Connection = psycopg.Connection[Any]


def check_postgres(address: str) -> list[StoreCheck]:
    """Check a store without changing it.

    Raises:
        StoreError: it cannot be read at all.
    """
    connection = connect(address)
    try:
        version = require_current(connection, shown(address))
        found = [
            StoreCheck("schema", f"version {version}", [*_missing(connection)]),
            _check_roles(connection),
            _check_security(connection),
            _check_appending(connection),
            _check_closed(connection),
        ]
    finally:
        connection.close()
    access = read_postgres(address)
    try:
        found += [*_check_copy(access), *check_rows(access, OUTLIVING)]
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.InsufficientPrivilege) as error:
        found.append(StoreCheck("rows", "", [f"cannot be read: {(str(error).splitlines() or [''])[0]}"]))
    finally:
        access.close()
    return found


def _missing(connection: Connection) -> Iterator[str]:
    """List tables and columns that the schema should have."""
    listed = "select table_name, column_name from information_schema.columns where table_schema = %s"
    known = {tuple(row) for row in connection.execute(listed, [table_rights.SCHEMA]).fetchall()}
    for table in tables():
        lost = [column for column in table.columns if (table.name, column) not in known]
        if len(lost) == len(table.columns):
            yield f"the table `{table.name}` is missing"
        elif lost:
            yield f"`{table.name}` has no column {', '.join(lost)}"


def _check_roles(connection: Connection) -> StoreCheck:
    """Check that gateways can only read what administrators define, and that neither may do more."""
    roles = table_rights.ROLES
    problems = [problem for role in roles for problem in _role_problems(connection, role)]
    return StoreCheck("roles", f"{' and '.join(roles)} have their rights, and no others", problems)


def _role_problems(connection: Connection, role: str) -> Iterator[str]:
    columns = sql.SQL(", ").join(map(sql.Identifier, _ATTRIBUTES))
    found = connection.execute(
        sql.SQL("select {} from pg_roles where rolname = {}").format(columns, role)
    ).fetchall()
    if not found:
        yield f"the role `{role}` does not exist"
        return
    for words, is_set in zip(_ATTRIBUTES.values(), found[0], strict=True):
        if is_set:
            yield f"`{role}` {words}"
    owned = (
        "select relname from pg_class where relnamespace = %s::regnamespace and relkind in ('r', 'p') "
        "and pg_has_role(%s, relowner, 'member')"
    )
    names = [name for (name,) in connection.execute(owned, [table_rights.SCHEMA, role]).fetchall()]
    if names:
        yield f"`{role}` owns {len(names)} tables, such as `{names[0]}`"
    if not any(found[0]):  # a superuser may do everything
        yield from table_rights.excess(connection, role)


def _check_security(connection: Connection) -> StoreCheck:
    listed = (
        "select c.relname, c.relrowsecurity, c.relforcerowsecurity, "
        "exists (select 1 from pg_policy p where p.polrelid = c.oid) from pg_class c "
        "where c.relnamespace = %s::regnamespace and c.relkind in ('r', 'p') order by 1"
    )
    problems: list[str] = []
    rows = connection.execute(listed, [table_rights.SCHEMA]).fetchall()
    guarded = [row for row in rows if row[0] not in OPEN]
    for name, is_enabled, is_forced, has_policy in guarded:
        if not is_enabled:
            problems.append(f"it is disabled on `{name}`")
        elif not is_forced:
            problems.append(f"it is not forced on `{name}`, so its owner sees all rows")
        elif not has_policy:
            problems.append(f"`{name}` has no policy, so nothing is visible in it")
    result = f"enabled and forced on {len(guarded)} tables, each with a policy"
    return StoreCheck("row-level security", result, problems)


def _check_appending(connection: Connection) -> StoreCheck:
    """Check that the role can only append to the audit log, and reaches its partitions in no other way."""
    rights = (
        "select has_table_privilege(%(role)s, %(table)s, 'update, delete, truncate')"  # any of them
        " or has_any_column_privilege(%(role)s, %(table)s, 'update')"
    )
    months = postgres_schema.partitions(connection)
    problems: list[str] = []
    for name in (*OUTLIVING, *months):
        wanted = {"role": table_rights.RUNTIME, "table": f"{table_rights.SCHEMA}.{name}"}
        if connection.execute(rights, wanted).fetchall() == [(True,)]:
            problems.append(f"`{table_rights.RUNTIME}` may change or delete rows of `{name}`")
    return StoreCheck("audit log", f"append-only, in {len(months)} partitions", problems)


def _check_closed(connection: Connection) -> StoreCheck:
    """Look at every table without saying for whom: nothing may be visible."""
    hidden = {*OPEN, *postgres_schema.partitions(connection)}
    names = [
        name
        for (name,) in connection.execute(
            "select tablename from pg_tables where schemaname = %s order by 1", [table_rights.SCHEMA]
        ).fetchall()
        if name not in hidden
    ]
    connection.execute(sql.SQL("set role {}").format(sql.Identifier(table_rights.RUNTIME)))
    problems = [problem for name in names for problem in _visible(connection, name)]
    return StoreCheck("isolation", "nothing is visible without a project", problems)


def _visible(connection: Connection, name: str) -> Iterator[str]:
    query = sql.SQL("select exists (select 1 from {})").format(sql.Identifier(name))
    try:
        if connection.execute(query).fetchall() == [(True,)]:
            yield f"rows of `{name}` are visible without a project"
    except errors.InsufficientPrivilege as error:
        yield (str(error).splitlines() or [""])[0]


def _check_copy(access: PostgresAccess) -> Iterator[StoreCheck]:
    source = access.copied_from()
    if source is not None:
        problem = f"a copy of `{source}` into this store is not finished: run `remit store copy` again"
        yield StoreCheck("copy", "finished", [problem])
