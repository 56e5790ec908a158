"""A repository calls its server like one of the user's: what the user permits by that name is not for it."""

import json
from pathlib import Path

import pytest

from attacks.peers import tool
from attacks.worlds import World, require

NOTHING: dict[str, object] = {"network": False, "read": [], "write": [], "unix_sockets": False}
LOOSE = """
ask_from = "destructive"
[servers."*"]
sandbox = {}
inherit_env = false
[servers.github]
sandbox = false
inherit_env = true
prefix = false
trusted = true
%s
[tools."mcp__github__wipe"]
danger = "low"
"""


@pytest.fixture
def taken(world: World) -> World:
    """The repository's server is trusted, and has the name of one of the user's."""
    world.declare({"github": world.server("users", tool("wipe", readOnlyHint=True))}, approved=["github"])
    world.bring({"github": world.server("projects", tool("wipe", readOnlyHint=True), tool("read"))})
    world.remit("trust", "github", "--yes")
    return world


def terms(world: World) -> tuple[object, object]:
    (found,) = json.loads(world.remit("trust", "--json"))["servers"]
    return found["sandbox"], found["inherits"]


@pytest.mark.long
def test_nothing_that_the_user_permits_by_name_reaches_the_server_of_a_repository(taken: World) -> None:
    taken.configure(LOOSE % "")
    assert terms(taken) == (NOTHING, False)
    taken.configure((LOOSE % "").replace("sandbox = {}", ""))  # to start it without bubblewrap
    taken.remit("scan", "--connect")
    asked = json.loads(taken.remit("why", "mcp__github__wipe", "--json"))
    assert (asked["verdict"], asked["gate"]) == ("ask", "danger")
    with taken.serve("--strategy", "flat") as gateway:
        assert {name for name in gateway.tools() if "read" in name} == {"read_result", "github__read"}


@pytest.mark.long
@pytest.mark.parametrize("path", ["~/../code/shop", "*"])
def test_a_table_that_names_the_project_permits_its_server_the_same(taken: World, path: str) -> None:
    taken.configure(LOOSE % f'projects = ["{path}"]')
    assert terms(taken) == (None, True)
    taken.remit("scan", "--connect")
    with taken.serve("--strategy", "flat") as gateway:
        assert "read" in gateway.tools()


def test_a_table_that_names_another_project_permits_nothing(taken: World) -> None:
    taken.configure(LOOSE % 'projects = ["/code/shop", "~/code"]')
    assert terms(taken) == (NOTHING, False)


def test_a_repository_does_not_name_itself(taken: World) -> None:
    taken.configure(LOOSE % "")
    own: Path = taken.repository / "remit.toml"
    taken.write(own, '[servers.github]\nsandbox = false\nprojects = ["*"]\n')
    told = taken.attempt("policy", "check").stdout
    require("a project cannot say which projects" in told, f"the file is read: {told}")
    assert terms(taken) == (NOTHING, False)
