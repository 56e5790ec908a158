"""Calls to a server that only one gateway may run, at a gateway that does not run it."""

from pathlib import Path

import anyio
import pytest

from remit.audit.audit_log import AuditOutcome, CallQuery
from remit.gateway.endpoint import LiveEndpoint
from remit.protocol.json_rpc import ElsewhereError, JsonRpcError
from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeCaller, FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio
SINGLE = '[servers.git]\nsessions = "single"\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", SINGLE)
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    notes = [{"uri": "note://a", "name": "a"}]
    stock = ServerLists(
        tools=[offered("status"), offered("push")], resources=notes, capabilities={"resources": {}}
    )
    return FakeLinks({"git": stock})


def outcomes(sandbox: Sandbox, shop: Path) -> list[str]:
    with sandbox.registry() as registry:
        return [each.outcome for each in registry.audit.find(CallQuery(), registry.at(str(shop))).entries]


async def read(served: LiveEndpoint, caller: FakeCaller) -> object:
    return await served.pass_on("resources/read", {"uri": "note://a"}, caller)


async def test_the_call_is_refused_with_the_reason_and_a_load_balancer_may_repeat_it(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    moving = FakeCaller(can_move=True)
    async with endpoint(sandbox, links, shop) as served:
        with anyio.fail_after(60):
            while not ((await names(served)) and (await served.resources()).items):
                await anyio.sleep(0.01)  # both are listed in the background
        links.elsewhere.add("git")
        refused = await call(served, "git__status")
        assert refused["isError"]
        assert told(refused) == "`git` runs at another gateway\nNext step: wait."
        with pytest.raises(ElsewhereError):
            await call(served, "git__status", caller=moving)
        with pytest.raises(ElsewhereError):
            await read(served, moving)
        with pytest.raises(JsonRpcError, match="runs at another gateway") as caught:
            await read(served, FakeCaller())
        assert not isinstance(caught.value, ElsewhereError)
    assert outcomes(sandbox, shop) == [AuditOutcome.REFUSED]  # no failure of the tool, and not the moved call


async def test_an_approval_is_not_spent_where_the_server_does_not_run(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        waits = await call(served, "git__push", {"path": "p"})
        with sandbox.registry() as registry:
            id = waits["structuredContent"]["approval"]
            registry.approvals.answer(id, registry.at(str(shop)), approve=True)
        links.elsewhere.add("git")
        assert "another gateway" in told(await call(served, "git__push", {"path": "p"}))
        links.elsewhere.clear()
        assert told(await call(served, "git__push", {"path": "p"})) == "git did push"


async def test_the_stored_tools_of_a_server_that_runs_elsewhere_stay_listed(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__push", "git__status"]
    links.elsewhere.add("git")
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__push", "git__status"]
        links.tell("git", "notifications/tools/list_changed")
        assert await names(served) == ["git__push", "git__status"]
    with sandbox.registry() as registry:
        listed = registry.tools(registry.at(str(shop)))
        assert {tool.failure for tool, _ in listed if tool.server == "git"} == {None}
