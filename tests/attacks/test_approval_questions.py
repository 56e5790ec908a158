"""A call is disguised: a person must be shown exactly what runs, whole, before approving it."""

import json

import pytest

from attacks.peers import Server, tool
from attacks.worlds import World, require

DISGUISED = {
    "path": "safe.txt\u202etxt.exe",
    "note": "x\u009b2K\u2028approved\u200b",
    "token": ["--force", "--delete"],
    "key": "rm -rf /",
}


def declare(world: World) -> Server:
    own = world.server("own", tool("push"))
    world.declare({"git": own})
    world.configure('[tools."mcp__git__push"]\napproval = true\n')
    return own


def test_a_question_shows_every_argument_and_every_character(world: World) -> None:
    own = declare(world)
    with world.serve(capabilities=["elicitation"]) as gateway:
        gateway.tools()
        gateway.call("git__push", **DISGUISED)
        (question,) = gateway.questions
    require(own.calls == ["push"], "the approved call was not made")
    shown = question["message"]
    for part in (r"\u202e", r"\u009b", r"\u2028", r"\u200b", "--force", "--delete", "rm -rf /"):
        assert part in shown
    assert not any(char in shown for char in "\u202e\u009b\u2028\u200b")


@pytest.mark.long
def test_what_does_not_fit_a_question_is_not_approved_by_it_but_shown_whole_elsewhere(world: World) -> None:
    own = declare(world)
    long = {"text": "word " * 6_000, "last": "--delete-everything"}
    with world.serve(capabilities=["elicitation"]) as gateway:
        gateway.tools()
        answer = gateway.call("git__push", **long)
        (question,) = gateway.questions
        (waiting,) = json.loads(world.remit("approve", "--json"))["approvals"]
        assert own.calls == []
        assert f"remit approve {waiting['id']}" in question["message"]
        assert waiting["id"] in answer
        assert json.loads(waiting["arguments"]) == long
        assert "--delete-everything" in world.remit("approve")
        world.remit("approve", "--yes", waiting["id"])
        gateway.call("git__push", **long)
    assert own.calls == ["push"]


def test_a_form_that_a_client_accepts_by_itself_approves_nothing(world: World) -> None:
    own = declare(world)
    with world.serve(capabilities=["elicitation"]) as gateway:
        gateway.tools()
        gateway.fills_in = False
        answer = gateway.call("git__push", text="x")
        require(len(gateway.questions) == 1, "the client was not asked")
    assert "approval_required" in answer
    assert own.calls == []


@pytest.mark.long
def test_arguments_are_private_and_gone_once_answered(world: World) -> None:
    declare(world)
    with world.serve() as gateway:
        gateway.tools()
        said = gateway.call("git__push", text="a-word-of-the-call")
    require("approval_required" in said, "the call is not held")
    files = [path for path in (world.home / ".local/share/remit").rglob("*") if path.is_file()]
    require(bool(files), "Remit keeps its data elsewhere")
    assert {path.stat().st_mode & 0o077 for path in files} == {0}
    (waiting,) = json.loads(world.remit("approve", "--json"))["approvals"]
    require("a-word-of-the-call" in waiting["arguments"], "the arguments are not shown")
    world.remit("approve", "--yes", waiting["id"])
    assert "a-word-of-the-call" not in world.remit("approve", "--json")
    assert not [
        path for path in files if path.suffix == ".log" and b"a-word-of-the-call" in path.read_bytes()
    ]
