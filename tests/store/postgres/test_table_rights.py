"""What the password of a gateway's database user gives: nothing that runs a command or lets a caller in."""

from collections.abc import Generator
from typing import Any

import pytest

from remit.errors import StoreRightsError
from support.postgres import Databases, needs_postgres
from support.sandbox import Sandbox
from support.teams import add_teams

pytestmark = needs_postgres
DEFINERS = {"prepare_audit", "revise", "number_audit", "merge_revisions", "refresh_statistics"}
OF_COLUMNS = ("select", "insert", "update")


@pytest.fixture(scope="module")
def store(databases: Databases) -> Generator[Any]:
    """A connection of the owner, in a database with a team, a token and a trusted server."""
    import psycopg

    address = databases.create()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("set search_path to remit, public; set remit.everything = 'on'")
        connection.execute(ROWS)
        yield connection
    databases.drop(address)


ROWS = """
insert into projects values ('t', 'team:payments', 1), ('p', 'team:payments/api', 1);
insert into projects values ('h', '/h', 1), ('i', '/i', 1);
insert into teams values ('t', 'payments', 'mode = "plan"', 1);
insert into team_projects values ('p', 't', 'api', 1);
insert into team_servers values ('t', 'till', '{"command": "till"}', 1);
insert into tokens values ('ada', 'd', '[]', '[]', 1, 'user');
insert into tools
    (client, kind, scope, project_hash, dir, server, name, source, authority, discovered_at, updated_at)
values ('c', 'mcp_server', 'project', 'h', '/h', 's', 's', '/h/.mcp.json', 3, 1, 1);
insert into trust select id, 'digest', 1, null from tools;
insert into configuration_trust values ('h', '/h/remit.toml', 'state', 'digest', 1);
insert into audit_anchors values ('h', 'chain', 1, 1);
insert into revisions values ('tokens', 0, 7);
"""


def tables(store: Any) -> set[str]:
    listed = (
        "select relname from pg_class where relnamespace = 'remit'::regnamespace and relkind in ('r', 'p')"
    )
    return {name for (name,) in store.execute(f"{listed} and not relispartition")}


def test_every_table_has_decided_rights(store: Any) -> None:
    from remit.store.postgres import table_rights

    for role, rights in table_rights.RIGHTS.items():
        assert tables(store) == {*rights}, f"decide in `table_rights` what {role} may do with it"


def test_the_roles_have_these_rights_and_no_others(store: Any) -> None:
    from remit.store.postgres import table_rights

    for role, rights in table_rights.RIGHTS.items():
        for table, right in rights.items():
            columns: set[str] = {
                name
                for (name,) in store.execute(
                    "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0", [table]
                )
            }
            limits = {"insert": right.insert, "update": right.update}
            for privilege in OF_COLUMNS:
                held = {
                    column
                    for column in columns
                    if store.execute(
                        "select has_column_privilege(%s, %s, %s, %s)", [role, table, column, privilege]
                    ).fetchall()
                    == [(True,)]
                }
                wanted = {*(limits.get(privilege) or columns)}
                assert held == (wanted if privilege in right.privileges else set()), (role, table, privilege)
            other = "select has_table_privilege(%s, %s, %s)"
            for privilege in ("delete", "truncate", "references", "trigger"):
                found = store.execute(other, [role, table, privilege]).fetchall()
                assert found == [(privilege in right.privileges,)], (role, table, privilege)
        assert [*table_rights.excess(store, role)] == []


def test_everyone_else_has_no_rights_at_all(store: Any) -> None:
    given = """
        select relname::text from pg_class, aclexplode(relacl) a
        where relnamespace = 'remit'::regnamespace and a.grantee = 0
        union all
        select proname from pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) a
        where pronamespace = 'remit'::regnamespace and a.grantee = 0
        union all
        select nspname from pg_namespace, aclexplode(nspacl) a where nspname = 'remit' and a.grantee = 0
        union all
        select defaclobjtype::text from pg_default_acl where defaclnamespace = 'remit'::regnamespace
    """
    assert store.execute(given).fetchall() == []


def test_functions_of_the_owner_are_known_and_pin_their_search_path(store: Any) -> None:
    found = store.execute(
        "select proname, array_to_string(proconfig, ' ') from pg_proc "
        "where pronamespace = 'remit'::regnamespace and prosecdef"
    ).fetchall()
    assert {name for name, _ in found} == DEFINERS
    assert all("search_path=remit, pg_temp" in settings for _, settings in found)


def test_row_level_security_is_no_different_for_a_role(store: Any) -> None:
    found = store.execute("select distinct polroles::text, polpermissive from pg_policy").fetchall()
    assert found == [("{0}", True)]


ENTRY = (
    "insert into audit (chain, project_hash, called_at, endpoint, client, tool, verdict, outcome, "
    "duration_ms, bytes_in, bytes_out) values (%s, 'h', 1, '', '', '', '', '', 1, 1, 1)"
)
REFUSED = (
    # A command on every gateway, and its policy
    "insert into team_servers values ('t', 'evil', '{\"command\": \"sh\"}', 1)",
    'update team_servers set entry = \'{"command": "sh"}\'',
    "delete from team_servers",
    "update teams set policy = ''",
    "insert into teams values ('h', 'evil', '', 1)",
    "delete from teams",
    "update team_projects set team_id = 'h'",
    "insert into team_projects values ('h', 't', 'evil', 1)",
    "insert into trust select id, 'evil', 1, null from tools",
    "update trust set digest = 'evil'",
    "insert into trust select id, '', 1, null from tools on conflict (tool_id) do update set digest = ''",
    "update tools set project_hash = 'i', dir = '/i'",
    "update tools set name = 'evil', server = 'evil'",
    "insert into configuration_trust values ('h', '/h/remit.toml', 'evil', 'evil', 1)",
    "update configuration_trust set digest = 'evil'",
    # A caller of one's own
    "insert into tokens values ('eve', 'e', '[]', '[]', 1, 'admin')",
    "update tokens set role = 'admin'",
    "update tokens set digest = 'e'",
    "delete from tokens",
    # Around the rights on these tables
    "delete from projects where hash = 't'",
    "delete from projects where hash = 'p'",
    "update projects set hash = 'x' where hash = 't'",
    "update projects set path = 'team:payments/web' where hash = 'h'",
    "truncate projects cascade",
    "truncate tokens",
    "merge into tokens using (values (1)) v on true when matched then update set role = 'admin'",
    "copy tokens from program 'id'",
    "copy (select 1) to program 'id'",
    "alter table tokens disable row level security",
    "alter table teams owner to remit_runtime",
    "alter policy scope on tokens using (true)",
    "create policy evil on teams using (true)",
    "create trigger evil before update on projects for each row execute function count_use()",
    "create rule evil as on insert to projects do instead nothing",
    "create function remit.evil() returns integer language sql as 'select 1'",
    "create function public.ifnull(text, text) returns text language sql as 'select $1'",
    "create table remit.evil (id integer)",
    "create or replace function revise() returns trigger language plpgsql as 'begin return null; end'",
    "alter function revise() security invoker",
    "set session_replication_role = replica",
    "set session authorization postgres",
    "select add_audit_month('2020-01-01')",
    "select revise()",
    "lock table tokens in share mode",
    # The audit log, and what tells nodes about changes
    "select setval('audit_numbers', 9223372036854775807)",
    "select nextval('audit_numbers')",
    "alter sequence audit_numbers restart",
    ENTRY.replace("(", "(id, ", 1).replace("(%s", "(9223372036854775807, %s") % "''",
    ENTRY.replace("chain", "chain, recorded_at").replace("%s", "%s, 1") % "''",
    "update audit set chain = ''",
    "delete from audit",
    "delete from audit_rest",
    "insert into audit_anchors values ('i', '', 1, 1)",
    "update audit_anchors set chain = ''",
    "update revisions set number = 0",
    "delete from revisions",
    "insert into revisions values ('tokens', 1, -1)",
    "update schema_version set number = 99",
    "insert into copies values ('x')",
    "select setval(pg_get_serial_sequence('tools', 'id'), 9223372036854775807)",
    "update session_keys set key = ''",
)


@pytest.fixture
def gateway(store: Any, databases: Databases) -> Generator[Any]:
    """A connection of the user that gateways log in as."""
    import psycopg

    store.execute("create role gateway login; grant remit_runtime to gateway")
    with psycopg.connect(databases.server.address(store.info.dbname, "gateway"), autocommit=True) as opened:
        opened.execute("set search_path to remit, public; set remit.everything = 'on'")
        yield opened
    store.execute("drop role gateway")


def test_a_gateways_user_cannot_give_itself_a_command_a_token_or_the_audit_log(
    store: Any, gateway: Any
) -> None:
    import psycopg

    listed = (
        "teams",
        "team_projects",
        "team_servers",
        "tokens",
        "trust",
        "configuration_trust",
        "audit_anchors",
    )
    watched = [f"table {name}" for name in listed]
    before = [store.execute(each).fetchall() for each in watched]
    others: list[tuple[str, str]] = []
    for statement in REFUSED:
        try:
            with gateway.transaction(force_rollback=True):
                gateway.execute(statement)
            others.append((statement, "allowed"))
        except psycopg.errors.InsufficientPrivilege:
            continue
        except psycopg.Error as error:
            others.append((statement, type(error).__name__))
    assert others == [
        (statement, "ForeignKeyViolation") for statement in REFUSED if "from projects" in statement
    ]
    gateway.execute("grant all on tokens to public")  # a warning, and nothing else
    assert before == [store.execute(each).fetchall() for each in watched]
    test_everyone_else_has_no_rights_at_all(store)


def test_a_gateways_user_can_take_no_other_role(gateway: Any) -> None:
    import psycopg

    for role in ("remit_admin", "postgres", "pg_read_server_files"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            gateway.execute(f"set role {role}")
    for statement in ("grant remit_admin to gateway", "alter role gateway createrole", "create role eve"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            gateway.execute(statement)


def test_entries_of_the_audit_log_are_numbered_in_order_by_the_database(gateway: Any) -> None:
    with gateway.transaction(force_rollback=True):
        for chain in "abc":
            gateway.execute(ENTRY, [chain])
        found = gateway.execute("select chain, id - first_value(id) over (order by id) from audit").fetchall()
    assert found == [("a", 0), ("b", 1), ("c", 2)]


@pytest.mark.parametrize("column", ["called_at", "duration_ms", "bytes_in", "bytes_out"])
@pytest.mark.parametrize("number", [-1, 2**63 - 1])
def test_a_gateways_user_cannot_log_a_call_with_impossible_numbers(
    gateway: Any, column: str, number: int
) -> None:
    import psycopg

    values = {"called_at": 1, "duration_ms": 1, "bytes_in": 1, "bytes_out": 1, column: number}
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        gateway.execute(
            "insert into audit (chain, project_hash, endpoint, client, tool, verdict, outcome, called_at, "
            "duration_ms, bytes_in, bytes_out) values ('', 'h', '', '', '', '', '', %(called_at)s, "
            "%(duration_ms)s, %(bytes_in)s, %(bytes_out)s)",
            values,
        )


@pytest.mark.long
def test_an_older_store_is_narrowed_by_a_migration(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from remit.store.open_store import open_database
    from remit.store.postgres import postgres_schema, table_rights
    from remit.store.postgres.store_setup import set_up_store

    address = databases.create_empty()
    known = postgres_schema.migrations()
    with monkeypatch.context() as patch:
        patch.setattr(postgres_schema, "migrations", lambda: {n: path for n, path in known.items() if n <= 6})
        assert set_up_store(address).schema == 6
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("set search_path to remit, public")
        connection.execute(
            "grant select, insert, update, delete on all tables in schema remit to remit_runtime"
        )
        connection.execute("grant usage, update on all sequences in schema remit to remit_runtime")
        connection.execute("grant execute on all functions in schema remit to public")
        assert "`remit_runtime` may insert `tokens`" in [*table_rights.excess(connection, "remit_runtime")]
        open_database(address).close()
        for role in table_rights.ROLES:
            assert [*table_rights.excess(connection, role)] == []
            temporary = "select has_database_privilege(%s, current_database(), 'temporary')"
            assert connection.execute(temporary, [role]).fetchall() == [(False,)]
    databases.drop(address)


@pytest.mark.long
def test_commands_that_administer_say_which_role_and_address_they_need(
    sandbox: Sandbox, databases: Databases
) -> None:
    import psycopg

    address = databases.create()
    add_teams(sandbox, address)
    name = address.rpartition("/")[2]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("create role app login; create role boss login")
    try:
        done = sandbox.remit("store", "init", address, "--user", "app", "--admin", "boss")
        assert "boss may administer it." in done.stdout, done.stderr
        assert "run the gateway as\nanother user, or set REMIT_HOME and REMIT_CONFIG" in done.stdout
        assert 'store_admin = "postgresql://boss@' in done.stdout
        sandbox.variables["REMIT_STORE"] = databases.server.address(name, "app")
        assert "till" in sandbox.remit("team", "list").stdout
        rules = str(sandbox.write(sandbox.root / "rules.toml", 'mode = "plan"\n'))
        changes = (
            ("team", "add", "sales"),
            ("team", "project", "add", "payments", "crm"),
            ("team", "server", "add", "payments", "wiki", "--", "wiki"),
            ("team", "policy", "set", "payments", rules),
            ("token", "add", "ada", "--project", "api"),
            ("token", "revoke", "ada"),
            ("team", "server", "remove", "payments", "wiki"),
            ("team", "project", "remove", "crm", "--yes"),
            ("team", "remove", "payments", "--yes"),
        )
        for words in changes:
            refused = sandbox.remit(*words)
            assert "may not administer the store: it needs the role `remit_admin`" in refused.stderr, words
            assert "REMIT_STORE_ADMIN" in refused.stderr
        sandbox.variables["REMIT_STORE_ADMIN"] = databases.server.address(name, "boss")
        for words in changes:
            done = sandbox.remit(*words)
            assert done.returncode == 0, (words, done.stderr)
    finally:
        databases.drop(address)
        with psycopg.connect(databases.server.address(), autocommit=True) as connection:
            connection.execute("drop role app; drop role boss")


def test_a_configuration_that_others_stored_is_not_used(sandbox: Sandbox, databases: Databases) -> None:
    """A state can run a command, so a gateway's database must not be able to declare one."""
    import psycopg

    address = databases.create()
    own = sandbox.home / ".config/remit/remit.toml"
    sandbox.write(own, "[states.calm]\npush = true\n")
    sandbox.variables["REMIT_STORE"] = address
    shop = str(sandbox.project("shop"))
    assert "calm" in sandbox.remit("states", "--project", shop).stdout
    with psycopg.connect(address) as connection:
        connection.execute("set search_path to remit, public; set remit.everything = 'on'")
        written = """update configuration_files set content = '{"states": {"evil": {"command": ["sh"]}}}'"""
        assert connection.execute(written + " where source = %s", [str(own)]).rowcount == 1
    listed = sandbox.remit("states", "--project", shop).stdout
    assert ("calm" in listed, "evil" in listed) == (True, False)
    databases.drop(address)


def test_a_right_that_is_missing_is_an_error_of_its_own(databases: Databases) -> None:
    from remit.store.postgres.postgres_database import PostgresDatabase

    address = databases.create()
    database = PostgresDatabase(address, patience=5)
    with pytest.raises(StoreRightsError, match="permission denied for table tokens"):
        database.rows("revoke_token", name="ada")
    with database.administrator() as administrator:
        assert administrator.rows("revoke_token", name="ada") == []
    database.close()
    databases.drop(address)
