"""Servers that only one process may run: who runs them, and what the others answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from remit.errors import OwnedElsewhereError, StoreUnreachableError
from remit.upstream import ownership
from remit.upstream.live_servers import LiveServers
from remit.upstream.ownership import ServerLockFiles
from remit.upstream.ports import Health
from remit.upstream.transports.process import ProcessRecord
from remit.upstream.upstream_model import Sharing, Upstream
from remit.upstream.upstream_pool import UpstreamPool, open_upstream_pool
from support.upstream_pools import RecordingCaller, launch_resources, text_of, tool, two_era_launch, upstream

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "SETTLE", 0.0)


class LostLocks:
    """Locks that can be lost, and a store that can be down."""

    def __init__(self) -> None:
        self.lost: Callable[[], object] | None = None
        self.is_down = False

    def take(self, name: str, lost: Callable[[], object]) -> bool:  # noqa: ARG002
        if self.is_down:
            raise StoreUnreachableError("down")
        self.lost = lost
        return True

    def release(self, name: str) -> None:  # noqa: ARG002
        self.lost = None

    def close(self) -> None: ...


def single(**others: Any) -> Upstream:
    return upstream(two_era_launch("old"), sharing=Sharing.SINGLE, **others)


async def count(pool: UpstreamPool, server: Upstream, caller: RecordingCaller | None = None) -> int:
    answer = await pool.request(server, "tools/call", tool("count"), caller or RecordingCaller())
    return json.loads(text_of(answer))[0]


async def test_all_callers_share_one_process_whatever_they_can_do(tmp_path: Path) -> None:
    locks = ServerLockFiles(str(tmp_path))
    async with open_upstream_pool(launch_resources({}, locks=locks)) as pool:
        found = [
            await count(pool, single(), RecordingCaller("one")),
            await count(pool, single(), RecordingCaller("two", capabilities={"sampling": {}})),
        ]
        await pool.leave("one")
        found.append(await count(pool, single(), RecordingCaller("three")))
    assert found == [1, 2, 3]


async def test_another_process_answers_with_the_reason_until_the_first_one_ends(tmp_path: Path) -> None:
    first, second = ServerLockFiles(str(tmp_path)), ServerLockFiles(str(tmp_path))
    async with open_upstream_pool(launch_resources({}, locks=second)) as other:
        async with open_upstream_pool(launch_resources({}, locks=first)) as pool:
            await count(pool, single())
            with pytest.raises(OwnedElsewhereError, match="`speaking` runs at another gateway") as caught:
                await count(other, single())
            with pytest.raises(OwnedElsewhereError):
                await other.claim(single())
            assert caught.value.next_step
            assert [each.health for each in other.statuses()] == [Health.IDLE]  # no failure of the server
        first.close()
        assert await count(other, single()) == 1


async def test_a_changed_entry_starts_after_the_process_of_the_old_one_has_ended(tmp_path: Path) -> None:
    locks = ServerLockFiles(str(tmp_path))
    async with open_upstream_pool(launch_resources({}, locks=locks)) as pool:
        assert await count(pool, single()) == 1
        assert await count(pool, single(deadline=50.0)) == 1
        await pool.drop(frozenset({single().key}))
        assert ServerLockFiles(str(tmp_path)).take(single().lock or "", lambda: None)


async def test_a_process_that_cannot_prove_its_ownership_ends_the_server() -> None:
    locks = LostLocks()
    async with open_upstream_pool(launch_resources({}, locks=locks)) as pool:
        assert await count(pool, single()) == 1
        assert locks.lost is not None
        locks.is_down = True
        await anyio.to_thread.run_sync(locks.lost)
        with anyio.fail_after(60):
            while pool.statuses()[0].sessions:
                await anyio.sleep(0.01)
        with pytest.raises(OwnedElsewhereError, match="cannot run while Remit's store is down"):
            await count(pool, single())
        locks.is_down = False
        assert await count(pool, single()) == 1  # a new process


async def test_a_server_that_runs_elsewhere_is_not_started_to_list_its_tools(tmp_path: Path) -> None:
    holder = ServerLockFiles(str(tmp_path))
    resources = launch_resources({}, locks=ServerLockFiles(str(tmp_path)))
    scanning = LiveServers(resources)
    assert holder.take(single().lock or "", lambda: None)
    offer = await scanning.ask_one(single(), ProcessRecord())
    assert offer.is_elsewhere
    assert offer.failure is not None
    assert offer.failure.reason == "runs at another gateway, and only one may run it"
    holder.close()
    listed = await scanning.ask_one(single(), ProcessRecord())
    assert (listed.failure, listed.is_elsewhere) == (None, False)
    assert listed.tools
    resources.watchdog.close()
