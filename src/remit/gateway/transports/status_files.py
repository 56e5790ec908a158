"""What running gateways say of themselves: a small file each, for `remit status`."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from remit.files import private_files

FOLDER = "gateways"


class StatusFiles:
    """The files of the gateways of one user."""

    def __init__(self, directory: str) -> None:
        self._folder = os.path.join(directory, FOLDER)

    def tell(self, said: Mapping[str, Any]) -> None:
        """Say how this process is."""
        whole = {"pid": os.getpid(), "born": _born(os.getpid()), **said}
        with suppress(OSError):  # that nobody can look is no reason not to serve
            private_files.write(self._path(os.getpid()), json.dumps(whole))

    def leave(self) -> None:
        """Say no more of this process."""
        with suppress(OSError):
            os.unlink(self._path(os.getpid()))

    def running(self) -> list[Mapping[str, Any]]:
        """List the gateways that run now, the oldest first; what the dead left is removed."""
        found = sorted(self._living(), key=lambda said: (said.get("started_at") or 0, said["pid"]))
        return [{name: value for name, value in said.items() if name != "born"} for said in found]

    def _living(self) -> Iterator[Mapping[str, Any]]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return
        for name in names:
            path = os.path.join(self._folder, name)
            said = _read(path)
            if said is not None and _lives(said):
                yield said
            elif name.endswith(".json") or not _lives_of(name):
                with suppress(OSError):
                    os.unlink(path)

    def _path(self, pid: int) -> str:
        return os.path.join(self._folder, f"{pid}.json")


def resident_megabytes() -> float | None:
    """Say how much memory this process has now, where the system tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def _read(path: str) -> Mapping[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            said: Any = json.load(file)
    except (OSError, ValueError):
        return None
    return cast(Mapping[str, Any], said) if isinstance(said, dict) else None


def _lives(said: Mapping[str, Any]) -> bool:
    """Whether the process that said this still runs, and no other has its number now."""
    pid = said.get("pid")
    return isinstance(pid, int) and _is_running(pid) and _born(pid) == said.get("born")


def _lives_of(name: str) -> bool:
    """Whether a file that is being written belongs to a process that runs."""
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


def _born(pid: int) -> str | None:
    """When a process was started, as the system counts it; None where it does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
