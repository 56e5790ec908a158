"""Checks the status of a URL, without following redirects and with a time limit."""

import http.client
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from remit.configuration.detector_kinds import Detector
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.states.observations import Observation

_GOOD = range(200, 300)


def detect(
    detector: Detector, _bases: Sequence[str], _workspace: Workspace, _machine: Machine
) -> Observation:
    """Request a URL in a thread that can be abandoned, because name resolution cannot be interrupted."""
    asking = _Asking(detector.url, detector.timeout)
    asking.start()
    asking.join(detector.timeout)
    if asking.is_alive():
        asking.stop()
        return Observation(None, f"{asking.host} did not answer within {detector.timeout:g} s")
    if asking.status is None:
        return Observation(None, f"{asking.host} cannot be reached")
    wanted = detector.statuses or _GOOD
    return Observation(asking.status in wanted, f"{asking.host} answers {asking.status}")


class _Asking(threading.Thread):
    """Requests the status of a URL."""

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__(daemon=True)
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.status: int | None = None
        self._path = parts.path or "/"
        self._connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(
                self.host, parts.port, timeout=timeout, context=ssl.create_default_context()
            )
            if parts.scheme == "https"
            else http.client.HTTPConnection(self.host, parts.port, timeout=timeout)
        )

    def run(self) -> None:
        with suppress(OSError, http.client.HTTPException, ValueError):
            try:
                self._connection.request("GET", self._path, headers={"Accept": "*/*", "User-Agent": "remit"})
                self.status = self._connection.getresponse().status
            finally:
                self._connection.close()

    def stop(self) -> None:
        """Close the connection, which ends the thread."""
        with suppress(OSError):
            self._connection.close()
