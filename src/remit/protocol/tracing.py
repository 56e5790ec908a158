"""Where requests become spans: a gateway that traces sets `active`; all others pay for one comparison."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from remit.protocol.json_rpc import Params

TRACE_KEYS = ("traceparent", "tracestate")  # of the W3C trace context, in `_meta` and in HTTP headers


class TracedRequest(NamedTuple):
    """What a span tells about a request: never its arguments."""

    method: str
    params: Params  # only names are read
    id: str | int | None = None
    session: str | None = None  # a digest: the id would let others resume the session
    version: str = ""  # of the protocol
    carrier: Mapping[str, str] = {}  # HTTP headers


class TracedAnswer(Protocol):
    """A span that is open."""

    def answered(self, answer: Mapping[str, object]) -> None: ...


class Tracing(Protocol):
    """Makes spans."""

    def serving(self, request: TracedRequest) -> AbstractContextManager[TracedAnswer]: ...  # a client's

    def calling(self, request: TracedRequest) -> AbstractContextManager[TracedAnswer]: ...  # a server

    def carrier(self) -> dict[str, str]: ...  # the trace context of the current span


class Switch:
    """Holds what makes spans in this process."""

    active: Tracing | None = None


def with_trace(meta: dict[str, object]) -> None:
    """Replace the trace context in `_meta` by that of the current span."""
    if Switch.active is not None:
        for key in TRACE_KEYS:
            meta.pop(key, None)
        meta.update(Switch.active.carrier())


def trace_headers() -> dict[str, str]:
    """Return the trace context of the current span as HTTP headers."""
    return {} if Switch.active is None else Switch.active.carrier()
