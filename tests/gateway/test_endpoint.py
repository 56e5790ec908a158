"""What an endpoint lists and calls: both by the same decisions."""

from pathlib import Path

import anyio
import pytest

from gateway_support import FakeLinks, call, endpoint, names, offered, text
from remit.exchange import AnsweredError, Stock
from support import Desk


@pytest.fixture
def shop(desk: Desk) -> Path:
    desk.write_state("git")
    return desk.project("shop")


def links() -> FakeLinks:
    return FakeLinks({"git": Stock(tools=[offered("status"), offered("delete_branch")])})


def test_the_tools_of_a_server_are_listed_and_called(desk: Desk, shop: Path) -> None:
    async def check() -> None:
        git = links()
        async with endpoint(desk, git, shop) as served:
            assert await names(served) == ["git__delete_branch", "git__status"]
            answer = await call(served, "git__status", {"path": "x"}, _meta={"progressToken": 1})
            assert text(answer) == "git did status"
            asked = git.asked[-1]
            assert asked.params == {
                "name": "status",
                "arguments": {"path": "x"},
                "_meta": {"progressToken": 1},
            }
            for name in ("mcp__git__status", "mcp__remit__git__status"):
                assert text(await call(served, name)) == "git did status"
            with pytest.raises(AnsweredError, match="Unknown tool: nothing"):
                await call(served, "nothing")

    anyio.run(check)
