"""Says how a gateway is, to whoever runs `remit status`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import anyio

from remit import __version__
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher
from remit.upstream.ports import UpstreamStatus

PACE = 1.0  # seconds between two looks


class StatusWriter(Protocol):
    """Where a gateway says how it is."""

    def tell(self, said: Mapping[str, Any]) -> None: ...

    def leave(self) -> None: ...


class StatusMonitor:
    """One gateway, as it is seen from outside."""

    def __init__(
        self,
        files: StatusWriter,
        *,
        endpoints: Callable[[], Iterable[tuple[EndpointSpec, Dispatcher]]],
        conditions: Callable[[], Iterable[UpstreamStatus]],
        memory: Callable[[], float | None],
        url: str | None,
        started_at: int,
    ) -> None:
        self._files = files
        self._endpoints = endpoints
        self._conditions = conditions
        self._memory = memory
        self._fixed = {"version": __version__, "url": url, "started_at": started_at}
        self._said: object = None

    async def run(self) -> None:
        """Say how it is whenever that changed, until cancelled; then take it back."""
        try:
            while True:
                self.tell()
                await anyio.sleep(PACE)
        finally:
            self._files.leave()

    def tell(self) -> None:
        """Say how it is, if that changed."""
        said = {
            **self._fixed,
            "endpoints": [_endpoint(opening, desk) for opening, desk in self._endpoints()],
            "upstreams": [_upstream(condition) for condition in self._conditions()],
        }
        if said != self._said:
            self._said = said
            self._files.tell({**said, "memory_mb": self._memory()})


def _endpoint(opening: EndpointSpec, desk: Dispatcher) -> dict[str, Any]:
    half, most = desk.tally.percentiles()
    return {
        **opening._asdict(),
        "sessions": desk.sessions,
        "listeners": len(desk.audience),
        "calls": desk.tally.calls,
        "errors": desk.tally.errors,
        "p50_ms": half,
        "p95_ms": most,
    }


def _upstream(condition: UpstreamStatus) -> dict[str, Any]:
    failure = condition.failure
    return {
        "server": condition.label,
        "health": condition.health,
        "protocol_version": condition.protocol_version,
        "sessions": condition.sessions,
        "calls": condition.calls,
        "errors": condition.errors,
        "p50_ms": None if condition.p50_ms is None else round(condition.p50_ms, 2),
        "p95_ms": None if condition.p95_ms is None else round(condition.p95_ms, 2),
        "failure": None if failure is None else failure.reason,
        "hint": None if failure is None else failure.hint,
    }
