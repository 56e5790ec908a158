"""What Remit has at hand to start and reach servers: variables, a watch, what was signed in to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyio.to_thread import run_sync

from remit.adapters.upstream.helpers import helped
from remit.adapters.upstream.opening import Way
from remit.adapters.upstream.sign_ins import SignIns
from remit.adapters.upstream.signed_in import SignedIn
from remit.adapters.upstream.watch import Watch
from remit.core.launch import Transport
from remit.core.upstreams import Upstream
from remit.exchange import Params


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Means:
    """All that is the same for every server."""

    variables: Mapping[str, str]
    home: str
    client: Params  # who Remit says that it is
    watch: Watch
    sign_ins: SignIns

    async def way(self, ready: Upstream, environment: Mapping[str, str]) -> Way:
        """Make ready to reach a server whose launch is expanded.

        Raises:
            ProtocolError: its headers are made by a command, and that failed.
        """
        launch = ready.launch
        if launch.transport is Transport.STDIO:
            return Way(launch, environment, ready.place)
        if launch.headers_helper is not None:
            launch = replace(launch, headers={**launch.headers, **await helped(ready, environment)})
        if any(name.lower() == "authorization" for name in launch.headers):  # it says itself who asks
            return Way(launch, environment, ready.place)
        kept = await run_sync(self.sign_ins.load, launch.url)
        auth = None if kept is None else SignedIn(launch.url, self.sign_ins, kept)
        return Way(launch, environment, ready.place, auth)
