"""A server takes the name of another: neither its place, its permissions nor its calls come with the name."""

from attacks.peers import tool
from attacks.worlds import World, require


def test_a_server_is_not_allowed_because_its_name_begins_like_another(world: World) -> None:
    good, other = world.server("good", tool("read")), world.server("other", tool("write"))
    world.declare({"good": good, "good__x": other})
    world.configure('allow = ["mcp__good__*"]\n')
    with world.serve() as gateway:
        require("answered by good" in gateway.call("good__read"), "the allowed server does not answer")
        assert [name for name in gateway.tools() if name.startswith("good")] == ["good__read"]
        gateway.call("good__x__write")
        gateway.call("call_tool", name="mcp__good__x__write")
    assert other.calls == []


def test_an_untrusted_server_does_not_hide_the_users_of_its_name(world: World) -> None:
    good, hostile = world.server("good", tool("read")), world.server("hostile", tool("read"))
    world.declare({"good": good})
    world.settle(enableAllProjectMcpServers=True)
    world.impose(enableAllProjectMcpServers=True)
    world.bring({"good": hostile})
    with world.serve() as gateway:
        assert [name for name in gateway.tools() if name.startswith("good")] == ["good__read"]
        assert "answered by good" in gateway.call("good__read")
    assert not hostile.was_started


def test_a_server_with_the_name_of_memory_does_not_receive_its_calls(world: World) -> None:
    own = world.server("own", tool("save_session"), tool("retrieve_context"))
    world.declare({"remit-memory": own}, local={"remit-memory": own})
    world.bring({"remit-memory": own})
    with world.serve() as gateway:
        for name in ("remit-memory__retrieve_context", "mcp__remit-memory__save_session"):
            gateway.call(name)
            gateway.call("call_tool", name=name)
    assert not own.was_started
    assert "remit-memory" in world.doctor()
