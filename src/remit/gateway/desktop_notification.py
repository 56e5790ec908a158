"""Notifies the user's desktop of a call that waits for approval; where there is no desktop, does nothing.

Programs are named by full paths, because a repository may set the `PATH` of the process that calls this.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape

from remit.text.untrusted_text import one_line

_TITLE = "Remit: approval needed"
_NOTIFY_SEND = ("/usr/bin/notify-send", "/usr/local/bin/notify-send")
_OSASCRIPT = "/usr/bin/osascript"
_SHOW = "display notification (item 2 of argv) with title (item 1 of argv)"
_MOST_REMEMBERED = 1_000
_SECONDS = 10


class ApprovalNotifier:
    """Notifies once of each pending approval, in the background."""

    def __init__(self, run: Callable[[Sequence[str]], None] | None = None) -> None:
        self._run = run or _run_in_background
        self._notified: dict[str, None] = {}

    def notify(self, approval_id: str, tool: str) -> None:
        """Notify the user, unless that was done before."""
        if approval_id in self._notified:
            return
        self._notified[approval_id] = None
        while len(self._notified) > _MOST_REMEMBERED:
            del self._notified[next(iter(self._notified))]
        command = notification_command(approval_id, tool, os.environ, exists=os.path.exists)
        if command is not None:
            self._run(command)


def notification_command(
    approval_id: str,
    tool: str,
    variables: Mapping[str, str],
    *,
    exists: Callable[[str], bool],
    platform: str = sys.platform,
) -> list[str] | None:
    """Return the command that shows a notification, without arguments of the call; None if there is none."""
    text = f"{one_line(tool, 100)} waits for you: remit approve {approval_id}"
    if platform == "darwin":
        script = [part for line in ("on run argv", _SHOW, "end run") for part in ("-e", line)]
        return [_OSASCRIPT, *script, _TITLE, text] if exists(_OSASCRIPT) else None
    program = next(filter(exists, _NOTIFY_SEND), None)
    if program is None or not _has_desktop(variables, exists):
        return None
    return [program, "--app-name=Remit", "--expire-time=60000", "--", _TITLE, escape(text)]


def _has_desktop(variables: Mapping[str, str], exists: Callable[[str], bool]) -> bool:
    if "DBUS_SESSION_BUS_ADDRESS" in variables:
        return True
    runtime = variables.get("XDG_RUNTIME_DIR")
    return bool(runtime) and exists(f"{runtime}/bus")


def _run_in_background(command: Sequence[str]) -> None:
    threading.Thread(target=_run_quietly, args=(command,), daemon=True).start()


def _run_quietly(command: Sequence[str]) -> None:
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603 - one of the programs named above
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
