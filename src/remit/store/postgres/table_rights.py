"""The rights of the roles that Remit works as in PostgreSQL, table by table.

Gateways, hooks and most commands work as `remit_runtime`. It can only read what leads to a command that a
gateway starts, or to a caller that a gateway lets in: teams, tokens and trust. `remit_admin` can write these
too. Neither owns anything, creates anything or bypasses row-level security. A table that is not listed here
is closed to both.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

SCHEMA = "remit"
RUNTIME = "remit_runtime"
ADMIN = "remit_admin"
ROLES = (RUNTIME, ADMIN)
PRIVILEGES = ("select", "insert", "update", "delete")

Connection = psycopg.Connection[Any]


class TableRights(NamedTuple):
    """What a role may do with the rows of a table; columns limit an insert or update to these."""

    privileges: frozenset[str]
    insert: tuple[str, ...] = ()  # empty: all columns
    update: tuple[str, ...] = ()


_READ = TableRights(frozenset({"select"}))
_WRITE = TableRights(frozenset(PRIVILEGES))
_KEEP = TableRights(frozenset({"select", "insert", "delete"}))
# What identifies a tool stays, so trust in one cannot be moved to another.
_TOOL_FACTS = (
    *(
        "plugin",
        "profile",
        "server_id",
        "source",
        "authority",
        "endpoint",
        "digest",
        "is_remit",
        "own_status",
    ),
    *("definition_id", "is_unlisted", "listed_at", "listed_digest", "protocol_version", "failure"),
    *("failed_digest", "discovered_at", "updated_at", "document_id"),
)
# Without `id` and `recorded_at`, so nobody can choose the place or the month of an entry.
_CALL = (
    *("project_hash", "called_at", "endpoint", "client", "agent", "principal", "tool", "verdict", "gate"),
    *("outcome", "duration_ms", "bytes_in", "bytes_out", "chain"),
)
_WRITTEN_AT_RUNTIME = (
    *("approvals", "configuration_files", "configurations", "credentials", "definitions", "document_terms"),
    *("documents", "inputs", "judgements", "memory_edges", "memory_model", "memory_nodes", "memory_terms"),
    *("memory_texts", "memory_unread", "memory_vectors", "memory_without_terms", "memory_words"),
    *("observations", "pins", "problems", "prompted_calls", "pushed_states", "reported_calls", "resolutions"),
    *("rules", "sessions", "sightings", "suggestions", "traces", "usage_events", "usage_totals", "vectors"),
    *("views", "wares", "workflow_states"),
)
ADMINISTERED = ("configuration_trust", "team_projects", "team_servers", "teams", "tokens", "trust")
OWNED = ("audit_anchors", "copies", "revisions", "schema_version")  # written by the owner, or its triggers
_RUNTIME_RIGHTS: Mapping[str, TableRights] = {
    **dict.fromkeys(_WRITTEN_AT_RUNTIME, _WRITE),
    **dict.fromkeys((*ADMINISTERED, *OWNED), _READ),
    **dict.fromkeys(("bound_sessions", "deliveries", "ended_sessions", "session_keys"), _KEEP),
    "audit": TableRights(frozenset({"select", "insert"}), insert=_CALL),
    "projects": _WRITE._replace(update=("seen_at",)),
    "tools": _WRITE._replace(update=_TOOL_FACTS),
}
RIGHTS: Mapping[str, Mapping[str, TableRights]] = {
    RUNTIME: _RUNTIME_RIGHTS,
    ADMIN: {**_RUNTIME_RIGHTS, **dict.fromkeys(ADMINISTERED, _WRITE)},
}
_OF_THE_OWNER = ("add_audit_month",)  # functions; triggers need no right either


def grant(connection: Connection) -> None:
    """Give both roles exactly these rights, and nobody else any."""
    tables = {*_tables(connection)}
    for grantee in ("public", *ROLES):
        for kind in ("tables", "sequences", "functions"):
            _run(connection, f"revoke all on all {kind} in schema {{}} from {{}}", SCHEMA, grantee)
    _run(connection, "revoke all on schema {} from {}", SCHEMA, "public")
    _run(connection, "revoke temporary on database {} from {}", connection.info.dbname, "public")
    for role, rights in RIGHTS.items():
        _run(connection, "revoke all on schema {} from {}", SCHEMA, role)
        _run(connection, "grant usage on schema {} to {}", SCHEMA, role)
        for table in sorted(tables & {*rights}):
            for privilege in sorted(rights[table].privileges):
                _grant(connection, privilege, table, role)
    for function in _functions(connection):
        for role in ROLES:
            connection.execute(f"grant execute on function {function} to {role}".encode())


def excess(connection: Connection, role: str) -> Iterator[str]:
    """List what a role may do beyond its rights."""
    rights = RIGHTS[role]
    for table, column, privilege in connection.execute(_HELD, {"schema": SCHEMA, "role": role}).fetchall():
        own = rights.get(table)
        columns = () if own is None else {"insert": own.insert, "update": own.update}.get(privilege, ())
        if own is None or privilege not in own.privileges or (columns and column not in columns):
            yield f"`{role}` may {privilege} {f'`{column}` of `{table}`' if column else f'`{table}`'}"
    held = connection.execute(_OTHERS, {"schema": SCHEMA, "role": role}).fetchall()
    yield from (f"`{role}` may {words}" for (words,) in held)


def _grant(connection: Connection, privilege: str, table: str, role: str) -> None:
    rights = RIGHTS[role][table]
    columns = {"insert": rights.insert, "update": rights.update}.get(privilege, ())
    listed = f" ({', '.join(columns)})" if columns else ""
    _run(connection, f"grant {privilege}{listed} on {{}}.{{}} to {{}}", SCHEMA, table, role)


def _tables(connection: Connection) -> Iterator[str]:
    listed = "select relname from pg_class where relnamespace = %s::regnamespace and relkind in ('r', 'p')"
    yield from (name for (name,) in connection.execute(listed, [SCHEMA]).fetchall())


def _functions(connection: Connection) -> Iterator[str]:
    listed = (
        "select oid::regprocedure::text from pg_proc where pronamespace = %s::regnamespace "
        "and prorettype <> 'trigger'::regtype and proname <> all (%s)"
    )
    found = connection.execute(listed, [SCHEMA, [*_OF_THE_OWNER]]).fetchall()
    yield from (name for (name,) in found)


def _run(connection: Connection, statement: Any, *names: str) -> None:
    words = [sql.SQL(name) if name == "public" else sql.Identifier(name) for name in names]
    connection.execute(sql.SQL(statement).format(*words))


# A right on a table is listed once, and one on some columns by column. Those of PUBLIC count, too.
_HELD = """
select c.relname, null, lower(p.name)
from pg_class c
cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p (name)
where c.relnamespace = %(schema)s::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and has_table_privilege(%(role)s, c.oid, p.name) and not pg_has_role(%(role)s, c.relowner, 'member')
union all
select c.relname, a.attname, lower(p.name)
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p (name)
where c.relnamespace = %(schema)s::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not has_table_privilege(%(role)s, c.oid, p.name)
    and has_column_privilege(%(role)s, c.oid, a.attnum, p.name)
order by 1, 2, 3
"""
_OTHERS = """
select 'use the numbers of `' || c.relname || '`'
from pg_class c
where c.relnamespace = %(schema)s::regnamespace
    and case when c.relkind = 'S' then has_sequence_privilege(%(role)s, c.oid, 'usage, select, update') end
union all
select 'create objects in the schema `' || n.nspname || '`'
from pg_namespace n
where n.nspname in (%(schema)s::text, 'public') and has_schema_privilege(%(role)s, n.oid, 'create')
union all
select 'become `' || r.rolname || '`'
from pg_roles r
where r.rolname <> %(role)s and pg_has_role(%(role)s, r.oid, 'member')
union all
select 'call `' || p.proname || '`, which runs as its owner with any search_path'
from pg_proc p
where p.pronamespace = %(schema)s::regnamespace and p.prosecdef and p.proconfig is null
    and has_function_privilege(%(role)s, p.oid, 'execute')
order by 1
"""
