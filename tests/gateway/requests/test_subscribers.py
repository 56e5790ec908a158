"""Those who are told when something changes."""

import anyio
import pytest

from remit.gateway.ports import EndpointChange, ListKind
from remit.gateway.requests.subscribers import Subscriber, Subscribers, notification

TOOLS, PROMPTS = EndpointChange(ListKind.TOOLS), EndpointChange(ListKind.PROMPTS)
NOTE = EndpointChange(ListKind.RESOURCES, "note://one")


class Hearer:
    """Hears one change after the other, as fast as it is let."""

    def __init__(self) -> None:
        self.heard: list[EndpointChange] = []
        self.gate = anyio.Event()
        self.gate.set()

    async def __call__(self, change: EndpointChange) -> None:
        await self.gate.wait()
        self.heard.append(change)


def test_each_subscriber_gets_what_it_asked_for() -> None:
    all_of_it, tools = Hearer(), Hearer()

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            subscribers = Subscribers()
            for hearer, parts in ((all_of_it, frozenset(ListKind)), (tools, frozenset({ListKind.TOOLS}))):
                subscriber = Subscriber(tasks, hearer, parts=parts)
                subscriber.start()
                subscribers.add(subscriber)
            for change in (TOOLS, PROMPTS, NOTE):
                subscribers.notify(change)

    anyio.run(run)
    assert all_of_it.heard == [TOOLS, PROMPTS]  # it subscribed to no resource
    assert tools.heard == [TOOLS]


def test_a_slow_subscriber_delays_no_other_and_gets_each_change_once() -> None:
    slow, quick = Hearer(), Hearer()
    slow.gate = anyio.Event()

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            subscribers = Subscribers()
            for hearer in (slow, quick):
                subscriber = Subscriber(tasks, hearer)
                subscriber.start()
                subscribers.add(subscriber)
            for _ in range(5):
                subscribers.notify(TOOLS)
                await anyio.wait_all_tasks_blocked()
            assert len(quick.heard) == 5
            slow.gate.set()

    anyio.run(run)
    assert slow.heard == [TOOLS, TOOLS]  # the one on its way, and one for all that came meanwhile


def test_changes_before_the_start_are_sent_at_the_start() -> None:
    hearer = Hearer()

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            subscriber = Subscriber(tasks, hearer)
            subscriber.notify(TOOLS)
            await anyio.wait_all_tasks_blocked()
            assert hearer.heard == []
            subscriber.start()

    anyio.run(run)
    assert hearer.heard == [TOOLS]


def test_a_failing_subscriber_affects_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: EndpointChange) -> None:
        raise OSError("gone")

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            subscriber = Subscriber(tasks, fail)
            subscriber.start()
            subscriber.notify(TOOLS)

    anyio.run(run)
    assert "could not be announced" in caplog.text


def test_the_last_subscriber_releases_a_resource() -> None:
    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            subscribers = Subscribers()
            one, other = Subscriber(tasks, Hearer()), Subscriber(tasks, Hearer())
            for subscriber in (one, other):
                subscribers.add(subscriber)
                subscriber.uris.add("note://one")
            one.uris.add("note://two")
            assert subscribers.remove(one) == {"note://two"}
            assert subscribers.remove(other) == {"note://one"}
            assert not subscribers.include("note://one")

    anyio.run(run)


def test_changes_become_notifications_of_the_protocol() -> None:
    assert notification(TOOLS) == ("notifications/tools/list_changed", {})
    assert notification(EndpointChange(ListKind.RESOURCES)) == ("notifications/resources/list_changed", {})
    assert notification(NOTE) == ("notifications/resources/updated", {"uri": "note://one"})
