"""What a model is told when a call is refused: the reason, and not the way around it."""

import re

import pytest

from attacks.peers import tool
from attacks.worlds import World, require

CONFIGURATION = """
block = ["Bash"]
[states.container]
file = "Dockerfile"
[tools."mcp__docker__build"]
states = ["container"]
"""
WAYS_AROUND = re.compile(
    r"unlock|to change it|remit\.toml|take `|(?:make|create|add|touch) `?Dockerfile", re.I
)


def configure(world: World) -> None:
    world.declare({"docker": world.server("own", tool("build"), tool("look"))})
    world.configure(CONFIGURATION)
    told = world.remit("why", "mcp__docker__build")
    require("Dockerfile" in told, "a person is not told what would unlock the tool")


def test_a_refusal_by_the_hook_does_not_say_how_to_undo_it(world: World) -> None:
    configure(world)
    names = ("Bash", "mcp__docker__build")
    answers = [world.hook("PreToolUse", tool_name=name, tool_input={}) for name in names]
    require(all(said.get("permissionDecision") == "deny" for said in answers), "a call is not refused")
    refused = [said["permissionDecisionReason"] for said in answers]
    require("Bash" in refused[0], "the refusal does not name the tool")
    require("container" in refused[1], "the refusal does not name the state that is missing")
    assert [WAYS_AROUND.findall(said) for said in refused] == [[], []]


@pytest.mark.long
def test_a_refusal_by_the_gateway_does_not_say_how_to_undo_it(world: World) -> None:
    configure(world)
    with world.serve() as gateway:
        require("answered by own" in gateway.call("docker__look"), "the server does not answer")
        refused = [
            gateway.call("docker__build"),
            gateway.call("call_tool", name="docker__build"),
            gateway.call("why_tool", name="docker__build"),
            gateway.call("discover_tools", query="build", include_hidden=True),
        ]
    require(all("container" in said for said in refused), "an answer does not name the state that is missing")
    assert [WAYS_AROUND.findall(said) for said in refused] == [[], [], [], []]
