"""Publishes the status of a gateway for `remit status`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import anyio

from remit import __version__
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher
from remit.upstream.ports import UpstreamStatus

INTERVAL = 1.0  # seconds


class StatusWriter(Protocol):
    """Publishes and withdraws a status."""

    def publish(self, status: Mapping[str, Any]) -> None: ...

    def withdraw(self) -> None: ...


class StatusMonitor:
    """Publishes the status of one gateway."""

    def __init__(
        self,
        files: StatusWriter,
        *,
        endpoints: Callable[[], Iterable[tuple[EndpointSpec, Dispatcher]]],
        upstreams: Callable[[], Iterable[UpstreamStatus]],
        memory: Callable[[], float | None],
        url: str | None,
        started_at: int,
    ) -> None:
        self._files = files
        self._endpoints = endpoints
        self._upstreams = upstreams
        self._memory = memory
        self._fixed = {"version": __version__, "url": url, "started_at": started_at}
        self._published: object = None

    async def run(self) -> None:
        """Publish each change until cancelled, then withdraw the status."""
        try:
            while True:
                self.publish()
                await anyio.sleep(INTERVAL)
        finally:
            self._files.withdraw()

    def publish(self) -> None:
        """Publish the status, if it changed."""
        status = {
            **self._fixed,
            "endpoints": [_endpoint(spec, dispatcher) for spec, dispatcher in self._endpoints()],
            "upstreams": [_upstream(upstream) for upstream in self._upstreams()],
        }
        if status != self._published:
            self._published = status
            self._files.publish({**status, "memory_mb": self._memory()})


def _endpoint(spec: EndpointSpec, dispatcher: Dispatcher) -> dict[str, Any]:
    p50, p95 = dispatcher.statistics.percentiles()
    counts = dispatcher.endpoint.tool_counts
    return {
        **spec._asdict(),
        "listed_tools": counts.listed,
        "available_tools": counts.available,
        "sessions": dispatcher.sessions,
        "listeners": len(dispatcher.subscribers),
        "calls": dispatcher.statistics.calls,
        "errors": dispatcher.statistics.errors,
        "p50_ms": p50,
        "p95_ms": p95,
    }


def _upstream(status: UpstreamStatus) -> dict[str, Any]:
    failure = status.failure
    return {
        "server": status.label,
        "health": status.health,
        "protocol_version": status.protocol_version,
        "sessions": status.sessions,
        "calls": status.calls,
        "errors": status.errors,
        "p50_ms": None if status.p50_ms is None else round(status.p50_ms, 2),
        "p95_ms": None if status.p95_ms is None else round(status.p95_ms, 2),
        "failure": None if failure is None else failure.reason,
        "hint": None if failure is None else failure.hint,
        "restarts": status.restarts,
        "output": list(status.output),
    }
