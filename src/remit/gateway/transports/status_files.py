"""The status files of running gateways, which `remit status` reads."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from remit.files import private_files

FOLDER = "gateways"


class StatusFiles:
    """The status files of one user's gateways."""

    def __init__(self, directory: str) -> None:
        self._folder = os.path.join(directory, FOLDER)

    def publish(self, status: Mapping[str, Any]) -> None:
        """Write the status of this process."""
        whole = {"pid": os.getpid(), "born": _start_time(os.getpid()), **status}
        with suppress(OSError):  # serving does not depend on it
            private_files.write(self._path(os.getpid()), json.dumps(whole))

    def withdraw(self) -> None:
        """Remove the status of this process."""
        with suppress(OSError):
            os.unlink(self._path(os.getpid()))

    def running(self) -> list[Mapping[str, Any]]:
        """List the running gateways, oldest first, and remove the files of dead ones."""
        found = sorted(self._alive(), key=lambda status: (status.get("started_at") or 0, status["pid"]))
        return [{name: value for name, value in status.items() if name != "born"} for status in found]

    def _alive(self) -> Iterator[Mapping[str, Any]]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return
        for name in names:
            path = os.path.join(self._folder, name)
            status = _read(path)
            if status is not None and _is_alive(status):
                yield status
            elif name.endswith(".json") or not _is_writer_running(name):
                with suppress(OSError):
                    os.unlink(path)

    def _path(self, pid: int) -> str:
        return os.path.join(self._folder, f"{pid}.json")


def resident_megabytes() -> float | None:
    """Return the resident memory of this process, if the system reports it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def _read(path: str) -> Mapping[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            status: Any = json.load(file)
    except (OSError, ValueError):
        return None
    return cast(Mapping[str, Any], status) if isinstance(status, dict) else None


def _is_alive(status: Mapping[str, Any]) -> bool:
    """Check that the process still runs, and that its PID was not reused."""
    pid = status.get("pid")
    return isinstance(pid, int) and _is_running(pid) and _start_time(pid) == status.get("born")


def _is_writer_running(name: str) -> bool:
    """Check whether a temporary file belongs to a running process."""
    number = name.partition(".")[0]
    return number.isdecimal() and _is_running(int(number))


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
