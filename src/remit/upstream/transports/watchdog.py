"""A watchdog that kills all servers when Remit ends, even when Remit itself is killed.

A small shell reads from a pipe. Each line lists the process groups that run; when the pipe closes, which the
system does for a killed process too, the shell kills the groups of the last line. This needs nothing between
`fork` and `exec`, reaches the children of servers, and works on every POSIX system.
"""

import os
import subprocess
import sys
from contextlib import suppress

SHELL = "/bin/sh"
SCRIPT = """
PATH=/usr/bin:/bin
trap '' HUP INT TERM
groups=
while read -r line; do groups=$line; done
[ -n "$groups" ] || exit 0
kill -s TERM -- $groups 2>/dev/null
sleep 1
kill -s KILL -- $groups 2>/dev/null
"""


class Watchdog:
    """The process groups that must end with Remit."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._pipe: int | None = None
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Watch a process group."""
        self._groups.add(group)
        self._send()

    def remove(self, group: int) -> None:
        """Forget a process group, whose ID may soon be reused."""
        self._groups.discard(group)
        self._send()

    def close(self) -> None:
        """Stop the shell, which kills the groups that still run."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if self._shell is not None:
            self._shell.wait()
            self._shell = None

    def _send(self) -> None:
        if sys.platform == "win32":
            return
        with suppress(OSError):  # something else killed the shell
            if self._pipe is None:
                self._start()
            assert self._pipe is not None  # noqa: S101 - it was just made
            os.write(self._pipe, (" ".join(f"-{group}" for group in sorted(self._groups)) + "\n").encode())

    def _start(self) -> None:
        reading, self._pipe = os.pipe()
        try:
            self._shell = subprocess.Popen(  # noqa: S603 - the script is ours
                [SHELL, "-c", SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        finally:
            os.close(reading)
