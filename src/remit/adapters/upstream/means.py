"""What Remit has at hand to start and reach servers: variables, a watch, what was signed in to."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit.adapters.upstream.opening import Way
from remit.adapters.upstream.watch import Watch
from remit.core.upstreams import Upstream
from remit.exchange import Params


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Means:
    """All that is the same for every server."""

    variables: Mapping[str, str]
    home: str
    client: Params  # who Remit says that it is
    watch: Watch

    async def way(self, ready: Upstream, environment: Mapping[str, str]) -> Way:
        """Make ready to reach a server whose launch is expanded."""
        return Way(ready.launch, environment, ready.place)
