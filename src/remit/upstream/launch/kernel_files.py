"""Closes what in `/proc` belongs to the whole machine, as container runtimes do.

Without this, a sandboxed server that runs as root could change kernel settings: the kernel asks for the user
there, not for capabilities.
"""

import os
import stat
from collections.abc import Iterator

from remit.trust.server_sandbox import SandboxError

PROC = "/proc"
# Keys of the user, and facts about the hardware and other processes.
_HIDDEN = frozenset(
    (
        *("acpi", "asound", "interrupts", "kcore", "key-users", "keys", "latency_stats", "sched_debug"),
        *("scsi", "timer_list", "timer_stats"),
    )
)


def kernel_mounts(proc: str = PROC) -> Iterator[tuple[str, ...]]:
    """Yield each file or directory of the kernel to close, after the option of `bwrap` that closes it.

    What only root may read is hidden. What anybody may write, and every directory, becomes read-only.

    Raises:
        SandboxError: `/proc` cannot be listed.
    """
    try:
        names = sorted(os.listdir(proc))
        found = [(name, os.lstat(os.path.join(proc, name)).st_mode) for name in names if not name.isdigit()]
    except OSError as error:
        raise SandboxError(f"`{proc}` cannot be read: {error.strerror}") from None
    for name, mode in found:
        path = os.path.join(proc, name)
        if stat.S_ISLNK(mode):  # to files of the process that reads it
            continue
        if name in _HIDDEN or not mode & stat.S_IROTH:
            yield (path, "--tmpfs") if stat.S_ISDIR(mode) else (path, "--ro-bind", os.devnull)
        elif stat.S_ISDIR(mode) or mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            yield (path, "--ro-bind", path)
