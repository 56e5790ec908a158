"""What a gateway says of itself."""

import socket
from collections.abc import Mapping
from typing import Any

import anyio

from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.dispatcher import open_dispatcher
from remit.gateway.transports.socket_server import Address, bind_socket
from remit.gateway.transports.status_monitor import StatusMonitor
from remit.protocol.call_statistics import CallStatistics
from remit.upstream.ports import Health, UpstreamStatus
from remit.upstream.upstream_model import Failure
from support.stub_endpoint import StubEndpoint, opened


class Notes:
    """Where it is said."""

    def __init__(self) -> None:
        self.said: list[Mapping[str, Any]] = []
        self.has_left = False

    def publish(self, status: Mapping[str, Any]) -> None:
        self.said.append(status)

    def withdraw(self) -> None:
        self.has_left = True


def test_the_status_is_published_only_when_it_changed_and_withdrawn_at_the_end() -> None:
    notes, opening = Notes(), EndpointSpec("/code/shop", agent="reviewer")
    failure = Failure(reason="it failed", hint="mend it")
    statuses = [UpstreamStatus(("git",), "git", Health.DOWN, calls=2, p50_ms=1.23456, failure=failure)]

    async def run() -> None:
        async with open_dispatcher(opened(StubEndpoint()), opening) as sandbox:
            monitor = StatusMonitor(
                notes,
                endpoints=lambda: [(opening, sandbox)],
                upstreams=lambda: statuses,
                memory=lambda: 42.0,
                url=None,
                started_at=7,
            )
            monitor.publish()
            monitor.publish()
            sandbox.statistics.count(0.004, failed=True)
            monitor.publish()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(monitor.run)
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()

    anyio.run(run)
    first, second = notes.said
    assert (first["url"], first["started_at"], first["memory_mb"]) == (None, 7, 42.0)
    (server,) = first["upstreams"]
    assert (server["health"], server["p50_ms"], server["failure"]) == ("down", 1.23, "it failed")
    (endpoint,) = second["endpoints"]
    assert (endpoint["agent"], endpoint["calls"], endpoint["errors"]) == ("reviewer", 1, 1)
    assert (endpoint["p50_ms"], endpoint["p95_ms"]) == (4, 4)
    assert endpoint["available_tools"] == endpoint["listed_tools"] + 40
    assert notes.has_left


def test_half_of_the_calls_are_below_the_median() -> None:
    tally = CallStatistics()
    assert tally.percentiles() == (None, None)
    for number in range(1, 101):
        tally.count(number / 1000, failed=False)
    assert tally.percentiles() == (50.5, 95.05)


def test_answers_are_sent_without_delay() -> None:
    with bind_socket(Address("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # else the event loop would not switch off Nagle's wait
