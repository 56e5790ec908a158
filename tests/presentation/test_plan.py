"""How an endpoint presents tools, by what files say."""

from typing import Any

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile, ServerOptions
from remit.configuration.file_parser import read
from remit.configuration.layers import combine
from remit.decision.tool_names import GATEWAY_TOOLS
from remit.decision.tools import Tool
from remit.presentation.plan import EndpointChoice, ServingPlan, make_plan
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
    assert usual.run("git", None) == ServerOptions()
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
    assert run.run("git", None) == ServerOptions(prefix=False, inherit_env=False, deadline=9.0)
    assert run.run("web", None) == ServerOptions()
    labelled = planned((MACHINE, {"servers": {"plugin:acme:git": {"inherit_env": ["A"]}}}))
    assert labelled.run("git", "acme").inherit_env == ("A",)
    assert labelled.run("git", None) == ServerOptions()
