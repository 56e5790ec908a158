"""A server that the user approved in Claude Code's own dialog: its absence must not go unmentioned."""

import pytest

from attacks.peers import tool
from attacks.worlds import World, require


def approve_after_install(world: World) -> None:
    """Install Remit, then approve a repository's server in the client, which is all that a user knows of."""
    world.declare({"git": world.server("own", tool("log"))})
    world.install()
    world.bring({"cashbox": world.server("cashbox", tool("open"))})
    world.approve("cashbox")
    require(list(world.started()) == ["remit"], "Claude Code does not start the gateway, and it alone")


@pytest.mark.xfail(
    raises=AssertionError, strict=True, reason="finding 8: a session is not told of a server that needs trust"
)
def test_a_session_is_told_of_an_approved_server_that_is_not_trusted(world: World) -> None:
    approve_after_install(world)
    said = world.hook("SessionStart", source="startup").get("additionalContext", "")
    require("git" in said, "the user's server is not in the context")
    assert "cashbox" in said


@pytest.mark.xfail(
    raises=AssertionError,
    strict=True,
    reason="finding 8: `remit doctor` does not name a server that needs trust",
)
def test_doctor_names_an_approved_server_that_is_not_trusted(world: World) -> None:
    approve_after_install(world)
    assert "cashbox" in world.doctor()
