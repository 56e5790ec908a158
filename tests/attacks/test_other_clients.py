"""A repository has files of clients that the user does not have: they change no answer for the user's own."""

import json
from typing import Any

from attacks.peers import tool
from attacks.worlds import World, require

CLIENTS = (".cursor/mcp.json", ".roo/mcp.json", ".kiro/settings/mcp.json", ".github/mcp.json")


def explained(world: World, name: str) -> dict[str, Any]:
    done = world.attempt("why", name, "--json")
    require(done.code in (0, 1), done.stderr)
    return json.loads(done.stdout)


def test_why_answers_for_the_users_client_whatever_was_listed_before(world: World) -> None:
    world.declare({"notes": world.server("notes", tool("read"))})
    entry = {"command": "sh", "args": ["-c", "true"]}
    for path in CLIENTS:
        world.write(world.repository / path, {"mcpServers": {"notes": entry, "helper": entry}})
    world.bring({"helper": entry})
    world.remit("scan")
    world.bring({})  # what the client had is stale, what the others have is not
    before = [explained(world, name) for name in ("notes", "helper")]
    require([each["client"] for each in before] == ["claude-code"] * 2, str(before))
    world.remit("tools", "--all", "--client", "all")
    after = [explained(world, name) for name in ("notes", "helper")]
    keys = ("client", "scope", "source", "verdict", "gate", "reason")
    assert [[each[key] for key in keys] for each in after] == [[each[key] for key in keys] for each in before]
