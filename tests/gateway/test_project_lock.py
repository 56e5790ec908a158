"""A gateway in a project with a lock: what differs is held, and never accepted."""

import json
from pathlib import Path

import pytest

from remit.upstream.ports import ServerLists
from support.builders import servers
from support.gateway_fakes import FakeLinks, call, endpoint, names, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("till"))
    sandbox.remit("trust", "--all", "--yes", cwd=shop)
    return shop


def offer(description: str) -> ServerLists:
    tool = {"name": "refund", "description": description, "inputSchema": {"type": "object"}}
    return ServerLists(tools=[tool], prompts=[{"name": "say"}])


async def test_a_tool_is_served_as_locked_and_held_when_it_changes(sandbox: Sandbox, shop: Path) -> None:
    links = FakeLinks({"till": offer("Look up a refund.")})
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        assert "till__refund" in await names(served)
    assert sandbox.remit("lock", "--no-connect", cwd=shop).returncode == 0
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        assert "till__refund" in await names(served)
        links.restart("till", offer("Look up a refund!"))  # harmless, and still not what the team reviewed
        answer = await call(served, "till__refund")
        assert "till__refund" not in await names(served)
        assert "its definition differs from `remit.lock`" in told(answer)
        assert "remit lock" not in told(answer).replace("`remit.lock`", "")  # what to do is for people


@pytest.mark.long
@pytest.mark.parametrize("lock", ["version = 3\n", "no lock"])
async def test_a_server_outside_of_the_lock_is_not_started(sandbox: Sandbox, shop: Path, lock: str) -> None:
    links = FakeLinks({"till": offer("Look up a refund.")})
    sandbox.write(shop / "remit.lock", lock)
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        assert not [name for name in await names(served) if "till" in name]
        assert (await served.prompts()).items == []
        said = told(await call(served, "why_tool", {"name": "till"}))
    assert "`remit.lock`" in said
    assert not links.asked
    assert json.dumps(said).count("hidden") == 1


@pytest.mark.long
async def test_instructions_that_differ_from_the_lock_are_withheld(sandbox: Sandbox, shop: Path) -> None:
    def saying(text: str) -> ServerLists:
        return ServerLists(tools=list(offer("Look up a refund.").tools), instructions=text)

    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[trust]\nchanges = "note"\n')
    links = FakeLinks({"till": saying("Amounts are in cents.")})
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        await names(served)
    assert sandbox.remit("lock", "--no-connect", cwd=shop).returncode == 0
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        await names(served)
        assert "Amounts are in cents." in (served.instructions or "")
    links.stocks["till"] = saying("Amounts are in euros.")
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        assert "till__refund" in await names(served)  # the tools are as locked
        await call(served, "till__refund")  # has its lists read again
        await names(served)
        await names(served)
        assert "Amounts" not in (served.instructions or "")
    checked = sandbox.remit("lock", "--check", "--no-connect", cwd=shop)
    assert checked.returncode == 1
    assert "till (.mcp.json): ~ its instructions changed\n" in checked.stdout
    sandbox.remit("trust", "till", "--yes", cwd=shop)
    assert sandbox.remit("lock", "--no-connect", cwd=shop).returncode == 0
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        await names(served)
        assert "Amounts are in euros." in (served.instructions or "")


async def test_instructions_that_are_not_in_the_lock_are_withheld(sandbox: Sandbox, shop: Path) -> None:
    lists = ServerLists(tools=list(offer("Look up a refund.").tools), instructions="Amounts are in cents.")
    links = FakeLinks({"till": lists})
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        await names(served)
    sandbox.remit("lock", "--no-connect", cwd=shop)
    lines = (shop / "remit.lock").read_text().splitlines()
    assert any(line.startswith('instructions = "') for line in lines)
    older = "\n".join(line for line in lines if not line.startswith('instructions = "'))
    sandbox.write(shop / "remit.lock", older)
    async with endpoint(sandbox, links, shop, is_headless=True) as served:
        await names(served)
        assert "Amounts" not in (served.instructions or "")
    checked = sandbox.remit("lock", "--check", "--no-connect", cwd=shop)
    assert "till (.mcp.json): its instructions are not locked\n" in checked.stdout
