"""What Remit has at hand to start and reach servers: variables, a watch, and a way to those that are far."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from remit.decision.launch import Transport
from remit.upstream.connect import ProcessRecord, open_stdio_transport
from remit.upstream.ports import Params
from remit.upstream.transports.message_transport import TransportFactory
from remit.upstream.transports.watchdog import Watchdog
from remit.upstream.upstream_model import Upstream


class Reaching(Protocol):
    """Reaches servers at their URLs."""

    def reach(
        self, ready: Upstream, environment: Mapping[str, str]
    ) -> AbstractAsyncContextManager[TransportFactory]:
        """Make ready to ask a server whose launch is expanded."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LaunchResources:
    """All that is the same for every server."""

    variables: Mapping[str, str]
    home: str
    client: Params  # who Remit says that it is
    watch: Watchdog
    remote: Callable[[], Reaching]  # loaded when it is first needed: most servers are processes

    def reach(
        self, ready: Upstream, environment: Mapping[str, str], traces: ProcessRecord
    ) -> AbstractAsyncContextManager[TransportFactory]:
        """Start or reach a server whose launch is expanded; errors are as those of `connect`."""
        if ready.launch.transport is Transport.STDIO:
            return open_stdio_transport(ready, environment, traces, self.watch)
        return self.remote().reach(ready, environment)
