from pathlib import Path

import pytest

from remit.clients.claude_code import CLIENT, parse_project_file, parse_state_file
from remit.clients.parsing.client_reader import ConfigFile, ParsedFile, read_client
from remit.decision.declarations import ClientReading
from remit.decision.projects import View
from remit.decision.scopes import Scope
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support.builders import SHOP, servers
from support.sandbox import Sandbox

PROJECT = ConfigFile(path="/code/shop/.mcp.json", parse=parse_project_file)
STATE = ConfigFile(path="/home/ada/.claude.json", parse=parse_state_file)


def read(sandbox: Sandbox, directory: Path) -> ClientReading:
    machine = Machine(home=str(sandbox.home), variables=sandbox.variables, root=str(sandbox.root / "machine"))
    return read_client(CLIENT, View(CLIENT.name, locate(str(directory))), machine, now_ns=0)


def found(reading: ClientReading) -> list[str]:
    return [f"{item.scope} {item.server}" for item in reading.declarations]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x"},
        {"type": "stdio", "command": "x", "args": ["-y"], "env": {"A": "1"}},
        {"command": "x", "url": "http://also"},
        {"command": "x", "disabled": True, "unknown": 1},
        {"type": "http", "url": "https://mcp.test/"},
        {"type": "streamable-http", "url": "https://mcp.test/", "headers": {"A": "1"}},
        {"type": "sse", "url": "not a url"},
        {"type": "ws", "url": ""},
    ],
)
def test_an_entry_that_the_real_client_accepts_is_declared(entry: dict[str, object]) -> None:
    parsed = PROJECT.parsed({"mcpServers": {"git": entry}}, SHOP)
    assert [item.name for item in parsed.declarations] == ["mcp__git__*"]
    assert parsed.problems == []


@pytest.mark.parametrize(
    ("oauth", "known"),
    [
        ({"clientId": "shop", "callbackPort": 8080}, ("shop", 8080)),
        ({"clientId": "shop"}, ("shop", 0)),
        ({"clientId": "shop", "callbackPort": "8080"}, ("shop", 0)),
        ({"clientId": ""}, None),
        ({"callbackPort": 8080}, None),
        ("shop", None),
        (None, None),
    ],
)
def test_what_a_server_knows_its_clients_by_is_read(oauth: object, known: object) -> None:
    entry = {"type": "http", "url": "https://mcp.test/", "oauth": oauth}
    (declared,) = PROJECT.parsed({"mcpServers": {"git": entry}}, SHOP).declarations
    assert declared.launch is not None
    assert declared.launch.registered == known


@pytest.mark.parametrize(
    ("name", "entry", "reason"),
    [
        ("git", {"url": "https://mcp.test/"}, '`url` without a remote `type`; add "type": "http"'),
        ("git", {"type": "STDIO", "command": "x"}, "type: not one of"),
        ("git", {"type": None, "command": "x"}, "type: expected text, found null"),
        ("git", {"command": ""}, "command: must not be empty"),
        ("git", {}, "`command` is missing"),
        ("git", {"command": "x", "args": "y"}, "args: expected a list, found text"),
        ("git", {"command": "x", "args": [1]}, "args[0]: expected text, found a number"),
        ("git", {"command": "x", "env": {"A": True}}, "env, item 1: expected text, found true or false"),
        ("git", {"type": "http", "url": "u", "headers": []}, "headers: expected an object, found a list"),
        ("git", [], "expected an object, found a list"),
        ("git", "x", "expected an object, found text"),
        ("git", {"command": {}}, "command: expected text, found an object"),
        ("workspace", {"command": "x"}, "the name is reserved by the client"),
        ("__proto__", {"command": "x"}, "the name is reserved by the client"),
    ],
)
def test_a_bad_entry_is_skipped_alone_and_named(name: str, entry: object, reason: str) -> None:
    parsed = PROJECT.parsed({"mcpServers": {name: entry, "good": {"command": "x"}}}, SHOP)
    assert [item.server for item in parsed.declarations] == ["good"]
    assert [problem.place for problem in parsed.problems] == [f"mcpServers.{name}"]
    assert parsed.problems[0].reason.startswith(reason)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"ledger": {"command": "x"}}, "`mcpServers` is missing"),
        ([], "expected an object, found a list"),
        ({"mcpServers": []}, "mcpServers: expected an object, found a list"),
        ({"mcpServers": None}, "mcpServers: expected an object, found null"),
    ],
)
def test_a_project_file_without_a_map_of_servers_declares_nothing_and_says_why(
    content: object, reason: str
) -> None:
    parsed = PROJECT.parsed(content, SHOP)
    assert (parsed.declarations, [problem.reason for problem in parsed.problems]) == ([], [reason])


def test_no_secret_of_an_entry_is_kept() -> None:
    entry = {"command": "x", "args": ["--key=hush"], "env": {"TOKEN": "hush"}}
    remote = {"type": "http", "url": "https://u:hush@mcp.test/", "headers": {"Authorization": "hush"}}
    assert "hush" not in repr(PROJECT.parsed({"mcpServers": {"a": entry, "b": remote}}, SHOP))


def test_a_changed_secret_is_no_change_but_a_changed_command_is() -> None:
    def digest(**entry: object) -> str | None:
        return PROJECT.parsed({"mcpServers": {"a": entry}}, SHOP).declarations[0].digest

    old, new = "tk_8f3kQz71LmP0aXw2", "tk_Zr5vB9cN4yT6hJd1"
    assert digest(command="x", env={"TOKEN": old}) == digest(command="x", env={"TOKEN": new})
    assert digest(command="x", env={"TOKEN": old}) != digest(command="x", env={"TOKEN": "${OTHER}"})
    assert digest(command="x", env={"TOKEN": old}) != digest(command="x", env={"TOKEN": "./run.sh"})
    assert digest(command="x", env={"TOKEN": old}) != digest(command="x", env={"KEY": old})
    assert digest(command="x", env={"PERL5DB": "old"}) != digest(command="x", env={"PERL5DB": "new"})
    assert digest(command="x") != digest(command="y")


def test_the_state_file_holds_user_servers_and_this_projects_local_ones_only() -> None:
    projects = {"/code/shop": servers("ledger"), "/code/blog": servers("ghost")}
    parsed = STATE.parsed({**servers("wiki"), "projects": projects}, SHOP)
    assert [(item.scope, item.server) for item in parsed.declarations] == [
        (Scope.GLOBAL, "wiki"),
        (Scope.LOCAL, "ledger"),
    ]


def switched_off(parsed: ParsedFile) -> list[tuple[str, str]]:
    return [(rule.effect, rule.subject) for rule in parsed.rules]


def test_the_state_file_says_what_is_switched_off_here() -> None:
    project = {"disabledMcpServers": ["tides"], "disabledMcpjsonServers": ["a.b"]}
    parsed = STATE.parsed({"projects": {"/code/shop": project}}, SHOP)
    assert sorted(switched_off(parsed)) == [("disables", "tides"), ("rejects", "a_b")]


def test_a_bad_item_of_a_list_costs_only_itself() -> None:
    project = {"disabledMcpServers": ["tides", 3, None, "wiki"]}
    parsed = STATE.parsed({"projects": {"/code/shop": project}}, SHOP)
    assert switched_off(parsed) == [("disables", "tides"), ("disables", "wiki")]
    assert len(parsed.problems) == 2


def test_each_part_of_the_state_file_is_read_for_itself() -> None:
    project = {"mcpServers": 7, "disabledMcpServers": "tides", "disabledMcpjsonServers": ["git"]}
    parsed = STATE.parsed({"mcpServers": [], "projects": {"/code/shop": project}}, SHOP)
    assert switched_off(parsed) == [("rejects", "git")]
    assert [(problem.place, problem.reason) for problem in parsed.problems] == [
        ("", "mcpServers: expected an object, found a list"),
        ('projects["/code/shop"]', "mcpServers: expected an object, found a number"),
        ('projects["/code/shop"]', "disabledMcpServers: expected a list, found text"),
    ]


@pytest.mark.parametrize("content", [[], "text", 7, {"projects": []}, {"projects": {"/code/shop": []}}])
def test_a_state_file_of_another_shape_declares_nothing_and_says_so(content: object) -> None:
    parsed = STATE.parsed(content, SHOP)
    assert (parsed.declarations, parsed.rules, len(parsed.problems)) == ([], [], 1)


def test_project_files_are_found_here_and_in_every_directory_above(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("top"))
    sandbox.write(shop / "packages/api/.mcp.json", servers("api"))
    sandbox.write(shop / "packages/web/.mcp.json", servers("web"))
    sandbox.write(shop.parent / ".mcp.json", servers("above"))
    assert found(read(sandbox, shop / "packages/api")) == ["project api", "project top", "project above"]
    assert found(read(sandbox, shop)) == ["project top", "project above"]


def test_the_config_directory_variable_moves_the_state_file(sandbox: Sandbox) -> None:
    sandbox.write_state("default")
    sandbox.write(sandbox.root / "other/.claude.json", servers("moved"))
    sandbox.variables["CLAUDE_CONFIG_DIR"] = str(sandbox.root / "other")
    assert found(read(sandbox, sandbox.project("shop"))) == ["global moved"]


def test_local_servers_are_keyed_by_the_project_and_seen_from_its_subdirectories(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    (shop / "src").mkdir()
    sandbox.write_state(local={shop: servers("ledger"), shop / "src": servers("ghost")})
    assert found(read(sandbox, shop / "src")) == ["local ledger"]


def test_a_broken_file_costs_only_itself(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write_state("wiki")
    broken = sandbox.write(shop / ".mcp.json", '{"mcpServers": {')
    reading = read(sandbox, shop)
    assert found(reading) == ["global wiki"]
    assert reading.unreadable == {str(broken)}
    assert [(problem.source, problem.place) for problem in reading.problems] == [
        (str(broken), "line 1 column 17")
    ]


def test_a_name_that_no_database_can_hold_is_made_one_that_can(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", '{"mcpServers": {"sur\\ud800": {"command": "x"}, "\\ud800": []}}')
    reading = read(sandbox, shop)
    assert [(item.name, item.server) for item in reading.declarations] == [("mcp__sur___*", "sur\ufffd")]
    assert reading.problems[0].place == "mcpServers.\ufffd"


def test_names_that_fall_together_are_one_server(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(
        shop / ".mcp.json", '{"mcpServers": {"\\ud800": {"command": "x"}, "\\ud801": {"command": "y"}}}'
    )
    registry = sandbox.registry()
    assert len(registry.tools(registry.at(str(shop)))) == 1


def test_every_file_that_was_looked_for_is_an_input_even_when_absent(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    inputs = read(sandbox, shop).inputs
    assert {str(shop / ".mcp.json"), "/.mcp.json", str(sandbox.home / ".claude.json")} <= inputs.keys()
    assert {"~", "$CLAUDE_CONFIG_DIR"} <= inputs.keys()
