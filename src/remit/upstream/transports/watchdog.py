"""Sees to it that no server outlives Remit, however Remit ends: even killed, it leaves nothing behind.

A small shell waits at the end of a pipe. Each line it is sent lists the groups of processes that run; when
the pipe closes, which the system does for the dead as well, it ends those that it heard of last. That needs
nothing between `fork` and `exec`, reaches the children of servers, too, and works on every POSIX system.
"""

import os
import subprocess
import sys
from contextlib import suppress

_SHELL = "/bin/sh"
_SCRIPT = """
trap '' HUP INT TERM
groups=
while read -r line; do groups=$line; done
[ -n "$groups" ] || exit 0
kill -s TERM -- $groups 2>/dev/null
sleep 1
kill -s KILL -- $groups 2>/dev/null
"""


class Watchdog:
    """The groups of processes that are to end with Remit."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._pipe: int | None = None
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Watch a group from now on."""
        self._groups.add(group)
        self._tell()

    def remove(self, group: int) -> None:
        """Forget a group: its number may soon be another's."""
        self._groups.discard(group)
        self._tell()

    def close(self) -> None:
        """End the watch, and with it what still runs."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if self._shell is not None:
            self._shell.wait()
            self._shell = None

    def _tell(self) -> None:
        if sys.platform == "win32":
            return
        with suppress(OSError):  # it was ended by someone else
            if self._pipe is None:
                self._start()
            assert self._pipe is not None  # noqa: S101 - it was just made
            os.write(self._pipe, (" ".join(f"-{group}" for group in sorted(self._groups)) + "\n").encode())

    def _start(self) -> None:
        reading, self._pipe = os.pipe()
        try:
            self._shell = subprocess.Popen(  # noqa: S603 - the script is ours
                [_SHELL, "-c", _SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        finally:
            os.close(reading)
