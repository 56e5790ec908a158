import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remit.configuration.project_lock_file import lock_text, read_lock, read_lock_texts
from remit.decision.definitions.project_lock import LockedPackage, LockedServer, ProjectLock
from remit.decision.kinds import Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from support.builders import server
from support.sandbox import Sandbox

LOCK = ProjectLock(
    root="/code/shop",
    servers={
        (".mcp.json", "git"): LockedServer("2:a", None, {"mcp__git__log": "p1"}),
        (".mcp.json", "web"): LockedServer("2:b", LockedPackage("npm", "web", "1.0.0")),
        ("api/.mcp.json", "odd name"): LockedServer("2:c", None, {}, "p9", "no network; reads ."),
        ("plugin quill", "spell"): LockedServer("2:d", None, {"mcp__plugin_quill_spell__check": "p1"}),
    },
    visible={"claude-code": {"main": {"mcp__git__log": "visible, low"}, "scout": {}}},
)
SIGNS = some.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = some.text(SIGNS, min_size=1, max_size=20)


def test_a_lock_reads_as_it_was_written() -> None:
    text = lock_text(LOCK)
    content, mistakes = read_lock(tomllib.loads(text))
    assert mistakes == []
    assert content.lock == LOCK._replace(root="")
    assert (
        lock_text(LOCK._replace(servers=dict(sorted(LOCK.servers.items(), reverse=True)))) == text
    )  # one order


def test_what_people_read_of_a_lock_has_a_line_for_each_text() -> None:
    texts = {(".mcp.json", "git"): {"mcp__git__log": ("description: Shows “it”.", "parameter n (integer)")}}
    text = lock_text(LOCK, texts)
    assert 'mcp__git__log = [\n    "description: Shows “it”.",\n    "parameter n (integer)",\n]\n' in text
    assert read_lock_texts(text)[".mcp.json", "git"] == texts[".mcp.json", "git"]
    assert read_lock(tomllib.loads(text))[0].lock == LOCK._replace(root="")  # no decision uses them
    assert read_lock_texts("[") == {}


@given(TEXTS, TEXTS, TEXTS)
def test_any_name_can_be_locked(source: str, name: str, tool_name: str) -> None:
    servers = {(source, name): LockedServer("e", None, {tool_name: "p"})}
    lock = ProjectLock(servers=servers, visible={name: {"main": {tool_name: "ask, low"}}})
    content, mistakes = read_lock(tomllib.loads(lock_text(lock)))
    assert (content.lock, mistakes) == (lock, [])


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"version": 1},
        {"version": 9},
        {"version": 3, "more": {}},
        {"version": 3, "servers": []},
        {"version": 3, "servers": {"f": {"git": {"entry": 1}}}},
        {"version": 3, "servers": {"f": {"git": {"entry": "x", "tools": {"a": []}}}}},
        {"version": 3, "servers": {"f": {"git": {"entry": "x", "package": {"url": "x"}}}}},
        {"version": 3, "visible": {"claude-code": {"main": ["mcp__git__log"]}}},
    ],
)
def test_what_is_no_lock_is_a_mistake(content: dict[str, Any]) -> None:
    assert read_lock(content)[1]


def tool(name: str, label: str = "git") -> Tool:
    found = server(label)
    return found._replace(name=f"mcp__{label}__{name}", kind=Kind.MCP_TOOL)


def locked(found: Tool, **others: Any) -> str | None:
    return LOCK.objection(found._replace(source="/code/shop/.mcp.json", scope=Scope.PROJECT, **others))


def test_a_tool_that_differs_from_the_lock_is_held() -> None:
    log = tool("log")
    assert locked(log, entry="2:a", pin="p1") is None
    assert locked(log, entry="2:a", pin="p2") == "its definition differs from `remit.lock`"
    assert locked(log, entry="2:x", pin="p1") == "the entry of its server differs from `remit.lock`"
    assert locked(tool("push"), entry="2:a", pin="p1") == "it is not in `remit.lock`"
    assert locked(tool("push"), entry="2:a", pin=None) is None  # not listed yet
    assert locked(tool("get", "web"), entry="2:b", pin="any") is None  # the lock does not know its tools
    assert locked(tool("x", "new"), entry="2:a", pin="p") == "its server is not in `remit.lock`"
    assert locked(server("git"), entry="2:a") is None
    assert locked(server("git"), entry="2:x") is not None


def test_a_lock_is_only_about_the_servers_of_its_project() -> None:
    assert LOCK.objection(tool("log")._replace(scope=Scope.GLOBAL)) is None
    assert locked(tool("log")._replace(kind=Kind.SKILL)) is None
    elsewhere = tool("log")._replace(scope=Scope.PROJECT, source="/code/.mcp.json")
    assert LOCK.objection(elsewhere) == "its server is not in `remit.lock`"


def test_a_server_of_the_projects_plugin_is_held_unless_its_definitions_are_locked() -> None:
    check = server("spell")._replace(
        name="mcp__plugin_quill_spell__check",
        kind=Kind.MCP_TOOL,
        scope=Scope.PLUGIN,
        plugin="quill",
        source="/home/ada/.claude/plugins/cache/orchard/quill/1.0.0/.mcp.json",
        entry="2:other",  # has a path of this machine
        pin="p1",
    )
    ours = check._replace(project_hash="here")
    assert LOCK.objection(ours) is None
    assert LOCK.objection(ours._replace(pin="p2")) == "its definition differs from `remit.lock`"
    for other in ("quill/.mcp.json", None):
        assert LOCK.objection(ours._replace(plugin=other)) == "its server is not in `remit.lock`"
    assert LOCK.objection(check._replace(plugin="other", project_hash=None)) is None  # the user's own


def test_instructions_that_are_not_locked_match_none() -> None:
    def locked_words(label: str) -> str | None:
        found = server(label)._replace(source="/code/shop/.mcp.json", scope=Scope.PROJECT)
        return LOCK.instructions_of(found)

    odd = server("odd name")._replace(source="/code/shop/api/.mcp.json", scope=Scope.PROJECT)
    assert LOCK.instructions_of(odd) == "p9"
    assert locked_words("git") == ""
    assert locked_words("web") is None  # it could not be listed
    assert locked_words("new") is None
    assert LOCK.instructions_of(odd._replace(scope=Scope.GLOBAL)) is None


def test_an_invalid_lock_holds_every_server_of_the_project() -> None:
    broken = LOCK._replace(problem="it is invalid")
    found = tool("log")._replace(scope=Scope.PROJECT, source="/code/shop/.mcp.json", entry="2:a", pin="p1")
    assert "held until it is fixed" in (broken.objection(found) or "")


@pytest.mark.parametrize("text", ["version = 1", "[", "servers = 1", "x" * 2**21, "version = 3\nx = 1"])
def test_a_lock_that_cannot_be_used_is_reported_and_never_replaced_by_an_older_one(
    sandbox: Sandbox, text: str
) -> None:
    shop = sandbox.project("shop")
    sandbox.write(shop / "remit.lock", "version = 3\n")
    with sandbox.registry() as registry:
        workspace = registry.at(str(shop)).workspace
        lock = registry.configuration.current(workspace).compiled.policy.lock
        assert lock is not None
        assert (lock.problem, lock.root) == (None, str(shop))
    sandbox.write(shop / "remit.lock", text)
    with sandbox.registry() as registry:
        lock = registry.configuration.current(workspace).compiled.policy.lock
        problems = registry.configuration.problems(workspace)
    assert lock is not None
    assert lock.problem == "it is invalid"
    assert "the servers of this project are held until it is fixed" in problems[0].reason
    if text == "version = 1":
        assert "has format 1, and this Remit reads format 3" in problems[0].reason
    (shop / "remit.lock").unlink()
    with sandbox.registry() as registry:
        assert registry.configuration.current(workspace).compiled.policy.lock is None
