"""The resources that all server launches share."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.decision.declared_launch import Transport
from remit.protocol.json_rpc import Params
from remit.upstream.connect import open_stdio_transport
from remit.upstream.launch.ready_server import ReadyServer, make_ready
from remit.upstream.principal_credentials.credential_model import Credential
from remit.upstream.transports.message_transport import TransportFactory
from remit.upstream.transports.process import ProcessRecord
from remit.upstream.transports.watchdog import Watchdog
from remit.upstream.upstream_model import Upstream

if TYPE_CHECKING:  # it imports an HTTP client, which most servers do not need
    from remit.upstream.ownership import ServerLocks
    from remit.upstream.principal_credentials.principal_credentials import PrincipalCredentials
    from remit.upstream.transports.remote import RemoteConnector


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LaunchResources:
    """The variables, the watchdog and the connector for remote servers."""

    variables: Mapping[str, str]
    home: str
    client: Params  # Remit's `clientInfo`
    watchdog: Watchdog
    remote: "Callable[[], RemoteConnector]"  # loaded on first use
    credentials: "Callable[[], PrincipalCredentials] | None" = (
        None  # opened on first use; None: nobody has any
    )
    locks: "Callable[[], ServerLocks] | None" = None  # of servers that only one process may run
    own: Sequence[str] = ()  # Remit's own directories, which no sandbox shows

    def ready(self, upstream: Upstream, credential: Credential | None = None) -> ReadyServer:
        """Spend the permit of a server.

        Raises:
            NotReadyError: a permit, a credential or variables are missing, or its sandbox is not possible.
        """
        return make_ready(upstream, self.variables, self.home, self.own, credential)

    def open_transport(
        self, ready: ReadyServer, record: ProcessRecord
    ) -> AbstractAsyncContextManager[TransportFactory]:
        """Start or reach a server that is ready; raises what `connect` raises."""
        if ready.launch.transport is Transport.STDIO:
            return open_stdio_transport(ready, record, self.watchdog)
        return self.remote().open_transport(ready)
