"""Commands on a terminal: a pseudo-terminal of a given size, with answers typed in advance."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from support.forked_commands import fork_server
from support.sandbox import Sandbox

AS_PERSON = [sys.executable, str(Path(__file__).with_name("person_launch.py"))]
SECONDS = 60  # a command that takes longer is stuck


class Terminal(NamedTuple):
    """What a command showed on its terminal."""

    code: int
    shown: str

    @property
    def lines(self) -> list[str]:
        return self.shown.replace("\r\n", "\n").splitlines()


def on_terminal(
    sandbox: Sandbox,
    arguments: Sequence[str],
    cwd: Path,
    *,
    typed: str = "",
    columns: int = 80,
    rows: int = 50,
    variables: dict[str, str] | None = None,
    ends_after: str = "",
) -> Terminal:
    """Run the command with stdin, stdout and stderr on one terminal, until it ends.

    With `ends_after`, Ctrl-C ends it once that text is shown.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**sandbox.environment, "TERM": "xterm", **(variables or {})}
    process = subprocess.Popen(
        fork_server().command("remit", *arguments),
        cwd=cwd,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    late = threading.Timer(SECONDS, process.kill)
    late.start()
    try:
        shown = b""
        while chunk := _read(ours):
            shown += chunk
            if ends_after and ends_after.encode() in shown:
                process.send_signal(signal.SIGINT)
                ends_after = ""
        return Terminal(process.wait(), shown.decode())
    finally:
        late.cancel()
        os.close(ours)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end was closed
        return b""
