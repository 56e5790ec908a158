"""A server that the user approved in Claude Code's own dialog: its absence must not go unmentioned."""

import json

from attacks.peers import tool
from attacks.worlds import World, require


def approve_after_install(world: World) -> None:
    """Install Remit, then approve a repository's server in the client, which is all that a user knows of."""
    world.declare({"git": world.server("own", tool("log"))})
    world.install()
    world.bring({"cashbox": world.server("cashbox", tool("open"))})
    world.approve("cashbox")
    require(list(world.started()) == ["remit"], "Claude Code does not start the gateway, and it alone")


def test_a_session_is_told_of_an_approved_server_that_is_not_trusted(world: World) -> None:
    approve_after_install(world)
    answer = world.start_session()
    said = answer["hookSpecificOutput"]["additionalContext"]
    require("git" in said, "the user's server is not in the context")
    assert "`cashbox` is not trusted in Remit" in said
    assert "remit trust" not in said  # which a model could run
    assert "`remit trust cashbox`" in answer["systemMessage"]


def test_doctor_names_an_approved_server_that_is_not_trusted(world: World) -> None:
    approve_after_install(world)
    assert "cashbox" in world.doctor()


def test_context_and_status_name_an_approved_server_that_is_not_trusted(world: World) -> None:
    approve_after_install(world)
    for command in ("context", "status"):
        assert "run `remit trust cashbox`" in world.advice(command)


def test_a_trusted_server_is_no_longer_reported(world: World) -> None:
    approve_after_install(world)
    world.remit("trust", "cashbox", "--yes")
    assert "cashbox` is approved" not in json.dumps(world.start_session())
    assert "cashbox" not in world.advice("status")


def test_a_server_that_cannot_start_is_told_of_although_no_gateway_runs(world: World) -> None:
    world.write(world.home / ".claude.json", {"mcpServers": {"till": {"command": str(world.root / "gone")}}})
    world.install()
    said = "the server `till` cannot be used"
    assert said in world.advice("status")
    assert said in world.start_session()["systemMessage"]
    fails = {"command": "/bin/sh", "args": ["-c", "exit 3"]}
    state = json.loads((world.home / ".claude.json").read_text(encoding="utf-8"))
    world.write(world.home / ".claude.json", {"mcpServers": {**state["mcpServers"], "till": fails}})
    require(said not in world.advice("status"), "the server is known to fail before it was tried")
    world.attempt("scan", "--connect")
    assert said in world.advice("status")
