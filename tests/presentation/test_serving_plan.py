"""How an endpoint presents tools, by what files say."""

from typing import Any

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile, ServerOptions
from remit.configuration.file_parser import read
from remit.configuration.layers import combine
from remit.decision.tool_names import GATEWAY_TOOLS, READ_RESULT
from remit.decision.tools import Tool
from remit.presentation.results.result_limit import NO_LIMIT, ResultLimit
from remit.presentation.serving_plan import EndpointChoice, ServingPlan, make_plan
from support.builders import server

NOBODY = EndpointChoice()
MACHINE = ConfigurationFile(ConfigurationLayer.MACHINE, "/home/ada/remit.toml")
PROJECT = ConfigurationFile(ConfigurationLayer.PROJECT, "/code/shop/remit.toml", "/code/shop")


def planned(*said: tuple[ConfigurationFile, dict[str, Any]], chosen: EndpointChoice = NOBODY) -> ServingPlan:
    contents: list[LoadedFile] = []
    for file, content in said:
        found, mistakes = read(content)
        assert mistakes == []
        contents.append(LoadedFile(file, found))
    return make_plan(combine(contents, {}), chosen)


def tool(name: str) -> Tool:
    return server(name.split("__")[1])._replace(name=name)


def test_without_a_word_all_is_as_usual() -> None:
    usual = planned()
    assert (usual.strategy, usual.token_budget, usual.own_tools) == ("auto", 6_000, GATEWAY_TOOLS)
    assert usual.run("git", None, is_projects=False) == ServerOptions()
    assert usual.namespace(tool("mcp__my.server__x")._replace(server="my.server")) == "my_server"


def test_what_is_said_nearer_counts_and_what_is_asked_for_most() -> None:
    said = [
        (MACHINE, {"strategy": "state", "token_budget": 1}),
        (
            PROJECT,
            {
                "agents": {"rev*": {"strategy": "search", "token_budget": 2}},
                "rooms": {"git": {"token_budget": 3}},
            },
        ),
    ]
    assert planned(*said)[:2] == ("state", 1)
    assert planned(*said, chosen=EndpointChoice(agent="reviewer"))[:2] == ("search", 2)
    assert planned(*said, chosen=EndpointChoice(agent="reviewer", room="git"))[:2] == ("search", 3)
    assert planned(*said, chosen=EndpointChoice(agent="other", strategy="manifest"))[:2] == ("manifest", 1)


def test_a_project_chooses_flat_for_nobody() -> None:
    content = {
        "strategy": "flat",
        "agents": {"a": {"strategy": "flat"}},
        "rooms": {"r": {"strategy": "flat"}},
    }
    for chosen in (EndpointChoice(), EndpointChoice(agent="a"), EndpointChoice(room="r")):
        assert planned((PROJECT, content), chosen=chosen).strategy == "auto"
        assert planned((MACHINE, content), chosen=chosen).strategy == "flat"


def test_in_a_room_there_are_no_rooms() -> None:
    content: dict[str, Any] = {"strategy": "rooms", "rooms": {"git": {}}}
    assert planned((MACHINE, content), chosen=EndpointChoice(room="git")).strategy == "state"
    assert planned((MACHINE, content)).strategy == "rooms"


def test_own_tools_are_those_that_are_named() -> None:
    assert planned((PROJECT, {"own_tools": ["why_tool", "call_tool"]})).own_tools == ("call_tool", "why_tool")
    assert planned((PROJECT, {"own_tools": []})).own_tools == ()


def test_pins_of_all_files_count() -> None:
    both = planned((MACHINE, {"pinned": ["mcp__git__*"]}), (PROJECT, {"pinned": ["web__fetch"]}))
    names = ("mcp__git__x", "mcp__web__fetch", "mcp__web__other")
    assert [both.is_pinned(tool(name)) for name in names] == [True, True, False]


def test_the_namespace_of_the_longest_pattern_counts_and_then_the_nearest() -> None:
    spaces = planned(
        (MACHINE, {"tools": {"mcp__git__*": {"namespace": "far"}, "mcp__git__log": {"namespace": "one"}}}),
        (PROJECT, {"tools": {"git__*": {"namespace": "near"}, "*": {"approval": True}}}),
    )
    assert spaces.namespace(tool("mcp__git__log")) == "one"
    assert spaces.namespace(tool("mcp__git__push")) == "near"
    assert spaces.namespace(tool("mcp__web__x")) == "web"


def test_a_tool_may_be_in_several_rooms_and_the_nearest_meaning_of_a_room_counts() -> None:
    rooms = planned(
        (MACHINE, {"rooms": {"git": {"tools": ["nothing"]}, "all": {"tools": ["*"]}}}),
        (PROJECT, {"rooms": {"git": {"tools": ["mcp__git__*"]}}}),
    )
    assert [room.name for room in rooms.rooms_of(tool("mcp__git__x"))] == ["git", "all"]


def test_only_the_user_and_an_administrator_say_how_servers_are_run() -> None:
    managed = ConfigurationFile(ConfigurationLayer.MANAGED, "/etc/remit/remit.toml")
    run = planned(
        (
            MACHINE,
            {"servers": {"git": {"prefix": False, "deadline": 5, "block": ["x"]}, "web": {"block": ["y"]}}},
        ),
        (PROJECT, {"servers": {"git": {"sessions": "shared"}}}),
        (managed, {"servers": {"g*": {"inherit_env": False, "deadline": 9}}}),
    )
    assert run.run("git", None, is_projects=False) == ServerOptions(
        prefix=False, inherit_env=False, deadline=9.0
    )
    assert run.run("web", None, is_projects=False) == ServerOptions()
    labelled = planned((MACHINE, {"servers": {"plugin:acme:git": {"inherit_env": ["A"]}}}))
    assert labelled.run("git", "acme", is_projects=False).inherit_env == ("A",)
    assert labelled.run("git", None, is_projects=False) == ServerOptions()


def test_a_name_permits_a_projects_server_nothing() -> None:
    table = {"prefix": False, "inherit_env": True, "deadline": 9, "sessions": "own"}
    by_name = planned((MACHINE, {"servers": {"git": table}}))
    assert by_name.run("git", None, is_projects=True) == ServerOptions(sessions="own", deadline=9.0)
    assert by_name.is_prefixed(server("git")._replace(is_trusted=True))
    assert not by_name.is_prefixed(server("git"))
    strict = planned((MACHINE, {"servers": {"*": {"inherit_env": False, "prefix": True}, "git": table}}))
    assert strict.run("git", None, is_projects=True)[:3] == (True, "own", False)
    named = planned((MACHINE, {"servers": {"git": {**table, "projects": ["/code/shop"]}}}))
    assert named.run("git", None, is_projects=True) == named.run("git", None, is_projects=False)


def test_the_budget_of_a_result_is_the_most_specific_one() -> None:
    usual = planned()
    assert usual.result_limit(tool("mcp__git__log"), {}) == ResultLimit(tokens=10_000)
    declared = {"_meta": {"anthropic/maxResultSizeChars": 50_000}}
    assert usual.result_limit(tool("mcp__git__log"), declared) == ResultLimit(characters=50_000)
    plan = planned(
        (MACHINE, {"result_budget": 2_000, "servers": {"g*": {"result_budget": 3_000}, "db": {}}}),
        (
            PROJECT,
            {
                "servers": {"git": {"result_budget": 4_000}},
                "tools": {
                    "mcp__git__*": {"namespace": "git"},
                    "mcp__git__log*": {"result_budget": 5_000},
                    "mcp__git__log": {"result_budget": "off"},
                },
            },
        ),
    )
    limits = {
        name: plan.result_limit(tool(f"mcp__{name}")._replace(server=name.split("__")[0]), declared)
        for name in ("git__log", "git__logs", "git__push", "gh__list", "web__get")
    }
    assert limits == {
        "git__log": NO_LIMIT,
        "git__logs": ResultLimit(tokens=5_000),
        "git__push": ResultLimit(tokens=4_000),
        "gh__list": ResultLimit(tokens=3_000),
        "web__get": ResultLimit(characters=50_000),
    }


def test_without_a_budget_or_a_way_to_read_on_results_have_no_limit() -> None:
    declared = {"_meta": {"anthropic/maxResultSizeChars": 50_000}}
    off = planned((MACHINE, {"result_budget": 0}))
    assert off.result_limit(tool("mcp__git__log"), declared) == NO_LIMIT
    assert READ_RESULT not in off.own_tools
    assert (
        READ_RESULT
        in planned((MACHINE, {"result_budget": 0, "servers": {"x": {"result_budget": 900}}})).own_tools
    )
    unread = planned((MACHINE, {"own_tools": ["why_tool"]}))
    assert unread.result_limit(tool("mcp__git__log"), {}) == NO_LIMIT
    page = {"_meta": {"ui": {"resourceUri": "ui://log"}}}
    assert planned().result_limit(tool("mcp__git__log"), page) == NO_LIMIT


def test_a_client_that_searches_by_itself_gets_unused_tools_only_with_a_budget() -> None:
    searching = EndpointChoice(client_searches=True)
    assert planned().lists_unused
    assert not planned(chosen=searching).lists_unused
    assert planned((MACHINE, {"token_budget": 6_000}), chosen=searching).lists_unused


def test_a_client_that_searches_by_itself_gets_remits_extra_tools_only_if_a_file_names_them() -> None:
    searching = EndpointChoice(client_searches=True)
    assert planned().lists_extras
    assert not planned(chosen=searching).lists_extras
    assert planned((MACHINE, {"own_tools": ["why_tool"]}), chosen=searching).lists_extras


def test_a_rule_about_credentials_also_holds_for_a_projects_server_of_that_name() -> None:
    """It only narrows: without it, the server could be used with the machine's."""
    plan = planned((MACHINE, {"servers": {"git": {"credentials": "principal"}}}))
    assert plan.run("git", None, is_projects=True).credentials == "principal"
    plan = planned((MACHINE, {"servers": {"git": {"credentials": "machine"}}}))
    assert plan.run("git", None, is_projects=True).credentials is None
    assert plan.run("git", None, is_projects=False).credentials == "machine"
