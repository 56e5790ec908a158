"""Answers those who run the gateway: whether it is alive, whether it is ready, and its metrics."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import anyio
from starlette.responses import JSONResponse, Response

from remit import __version__
from remit.gateway.requests.call_metrics import CallMetrics, Metric, Sample, prometheus_text
from remit.gateway.requests.dispatcher import Dispatcher
from remit.upstream.ports import Health, UpstreamStatus

_WATCHED = 10.0  # seconds for which a look at `/ready` shows that a load balancer watches
_NOTICE = 1.5  # seconds in which it looks again
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class StoreHealth(NamedTuple):
    """Whether the store answers, and how quickly it last did."""

    is_reachable: bool = True
    seconds: float | None = None  # None: not measured


class GatewayState(NamedTuple):
    """Where the state of a gateway process comes from."""

    calls: CallMetrics
    store: Callable[[], StoreHealth]
    spooled: Callable[[], int]  # batches of calls that wait for the store
    dispatchers: Callable[[], Iterable[Dispatcher]]
    upstreams: Callable[[], Iterable[UpstreamStatus]]


class HealthRoutes:
    """Answers `/health`, `/ready` and `/metrics`."""

    def __init__(self, state: GatewayState) -> None:
        self._state = state
        self.is_draining = False
        self._asked_at = -_WATCHED  # when a load balancer last looked

    def health(self) -> Response:
        """Answer that the process is alive."""
        return JSONResponse({"status": "ok", "version": __version__})

    def ready(self) -> Response:
        """Answer whether to send clients here; without its store, a gateway serves what it last knew."""
        self._asked_at = anyio.current_time()
        if self.is_draining:
            return JSONResponse({"status": "draining"}, status_code=503)
        is_reachable = self._state.store().is_reachable
        serves = "current" if is_reachable else "last known"
        return JSONResponse(
            {"status": "ready", "store": "reachable" if is_reachable else "unreachable", "catalog": serves}
        )

    async def take_leave(self) -> None:
        """Be no longer ready, and give a load balancer that looks time to notice."""
        self.is_draining = True
        if anyio.current_time() - self._asked_at < _WATCHED:
            await anyio.sleep(_NOTICE)

    def metrics(self) -> Response:
        """Answer with the metrics, in the text format of Prometheus."""
        return Response(prometheus_text(_metrics(self._state)), media_type=_TEXT)


def _metrics(state: GatewayState) -> list[Metric]:
    store, dispatchers = state.store(), [*state.dispatchers()]
    healths = Counter(each.health for each in state.upstreams())
    found = [
        *state.calls.metrics(),
        _gauge(
            "remit_calls_in_flight",
            "Calls being answered.",
            sum(each.calls_in_flight for each in dispatchers),
        ),
        _gauge("remit_endpoints", "Open endpoints.", len(dispatchers)),
        _gauge("remit_sessions", "Open sessions.", sum(each.sessions for each in dispatchers)),
        Metric(
            "remit_upstreams",
            "gauge",
            "Servers by health.",
            [Sample(healths[health], {"health": health}) for health in Health],
        ),
        _gauge("remit_spool_batches", "Batches of calls that wait for the store.", state.spooled()),
        _gauge("remit_store_reachable", "Whether the store answers.", int(store.is_reachable)),
        Metric("remit_build_info", "gauge", "The version.", [Sample(1, {"version": __version__})]),
    ]
    if store.seconds is not None:
        found.append(_gauge("remit_store_seconds", "How long the store last took to answer.", store.seconds))
    return found


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, "gauge", help, [Sample(value)])
