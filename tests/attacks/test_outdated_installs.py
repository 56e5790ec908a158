"""An install of an earlier version, which a repository can replace: the user hears of it before a session."""

import json
from typing import Any, cast

import pytest

from attacks.peers import tool
from attacks.worlds import World, require

ENV = "/usr/bin/env"
REASON = "an earlier version of Remit made the install in claude-code"
COMMAND = "remit install claude-code"


def unwrapped(value: object) -> Any:
    """Write commands as before they started with `env`."""
    if isinstance(value, dict):
        found = {key: unwrapped(each) for key, each in cast("dict[str, object]", value).items()}
        if found.get("command") == ENV:
            found["command"], *found["args"] = _without_env(found["args"])
        return found
    if isinstance(value, list):
        items = [unwrapped(each) for each in cast("list[object]", value)]
        return _without_env(items[1:]) if items[:1] == [ENV] else items
    return value


def _without_env(words: list[Any]) -> list[Any]:
    return words[next(at for at, word in enumerate(words) if str(word).startswith("/")) :]


def install_of_before(world: World) -> None:
    world.declare({"git": world.server("git", tool("push"))})
    world.install()
    for path in world.home.rglob("*.json"):
        before = json.loads(path.read_text())
        world.write(path, unwrapped(before))
    entry = json.loads((world.home / ".claude.json").read_text())["mcpServers"]["remit"]
    require(entry["command"] != ENV and "-I" in entry["args"], f"the entry is an old one: {entry}")


@pytest.mark.long
def test_bare_remit_and_status_name_the_command(world: World) -> None:
    install_of_before(world)
    told = " ".join(world.remit().split())
    assert REASON in told
    assert f"Next {COMMAND}" in told
    said = world.advice("status")
    assert said.count(REASON) == 1
    assert f"hint: run `{COMMAND}`" in said
    world.install()
    assert REASON not in world.advice("status") + " ".join(world.remit().split())


def test_the_old_hook_tells_the_user_at_session_start_and_not_the_model(world: World) -> None:
    install_of_before(world)
    answer = world.start_session()
    assert answer["systemMessage"].count(REASON) == 1
    assert COMMAND in answer["systemMessage"]
    assert REASON not in json.dumps(answer.get("hookSpecificOutput", {}))
