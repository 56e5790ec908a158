"""The running gateways of this user: each publishes a file, which `remit doctor` and the page read."""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from remit import __version__
from remit.files import write_private

if TYPE_CHECKING:  # it imports the parts of a gateway
    from remit.gateway.endpoint import Endpoint
    from remit.gateway.gateway import Gateway

_FOLDER = "gateways"
_INTERVAL = 1.0  # seconds


class Status:
    """Publishes the status of one gateway."""

    def __init__(self, gateway: "Gateway", url: str | None = None) -> None:
        self._gateway = gateway
        self._path = os.path.join(gateway.parts.data_directory, _FOLDER, f"{os.getpid()}.json")
        self._fixed = {
            "pid": os.getpid(),
            "born": _start_time(os.getpid()),
            "version": __version__,
            "url": url,
            "started_at": gateway.parts.clock(),
        }
        self._published: object = None

    async def run(self) -> None:
        """Publish each change until cancelled, then withdraw the status."""
        try:
            while True:
                self.publish()
                await asyncio.sleep(_INTERVAL)
        finally:
            with suppress(OSError):
                os.unlink(self._path)

    def publish(self) -> None:
        """Publish the status, if it changed."""
        gateway = self._gateway
        status = {
            **self._fixed,
            "endpoints": [_endpoint(endpoint) for endpoint in gateway.endpoints.values()],
            "upstreams": [_upstream(upstream) for upstream in gateway.process.servers.statuses()],
        }
        if status != self._published:
            self._published = status
            with suppress(OSError):  # serving does not depend on it
                write_private(self._path, json.dumps(status))


def running_gateways(data_directory: str) -> list[Mapping[str, Any]]:
    """List the running gateways, oldest first, and remove the files of dead ones."""
    alive = sorted(
        _alive(os.path.join(data_directory, _FOLDER)),
        key=lambda status: (status.get("started_at") or 0, status["pid"]),
    )
    return [{name: value for name, value in status.items() if name != "born"} for status in alive]


def _endpoint(endpoint: "Endpoint") -> dict[str, Any]:
    published = endpoint.lists.last
    return {
        **endpoint.spec._asdict(),
        "listed_tools": len(published.shown.entries),
        "available_tools": len(published.visible),
        "sessions": endpoint.sessions,
    }


def _upstream(status: Any) -> dict[str, Any]:
    failure = status.failure
    return {
        "server": status.label,
        "health": status.health,
        "protocol_version": status.protocol_version,
        "sessions": status.sessions,
        "calls": status.calls,
        "errors": status.errors,
        "p50_ms": status.p50_ms,
        "p95_ms": status.p95_ms,
        "failure": None if failure is None else failure.reason,
        "hint": None if failure is None else failure.hint,
        "restarts": status.restarts,
        "output": list(status.output),
    }


def _alive(folder: str) -> Iterator[Mapping[str, Any]]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        status = _read(path)
        if status is not None and _is_alive(status):
            yield status
        elif name.endswith(".json"):
            with suppress(OSError):
                os.unlink(path)


def _read(path: str) -> Mapping[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            status: Any = json.load(file)
    except (OSError, ValueError):
        return None
    return cast("Mapping[str, Any]", status) if isinstance(status, dict) else None


def _is_alive(status: Mapping[str, Any]) -> bool:
    """Return whether the process still runs, and its PID was not reused."""
    pid = status.get("pid")
    return isinstance(pid, int) and _is_running(pid) and _start_time(pid) == status.get("born")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _start_time(pid: int) -> str | None:
    """Return the start time of a process, if the system reports it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
