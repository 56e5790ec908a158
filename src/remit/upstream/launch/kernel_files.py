"""Closes what in `/proc` belongs to the whole machine, as container runtimes do.

Without this, a sandboxed server that runs as root could change kernel settings: for these, the kernel checks
the user, not capabilities.
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
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def kernel_mounts(*, is_root: bool, proc: str = PROC) -> Iterator[tuple[str, ...]]:
    """Yield each file or directory of the kernel to close, after the option of `bwrap` that closes it.

    What only root may read is hidden, and what can be written is read-only. For other users than root, the
    kernel itself keeps the settings in directories read-only.

    Raises:
        SandboxError: `/proc` cannot be read.
    """
    try:
        mounted = _mount_points(proc)
        for name in sorted(os.listdir(proc)):
            path = os.path.join(proc, name)
            if name.isdigit() or os.path.islink(path):  # of processes
                continue
            mode = os.lstat(path).st_mode
            if name in _HIDDEN or not mode & stat.S_IROTH:
                yield (path, "--tmpfs") if stat.S_ISDIR(mode) else (path, "--ro-bind", os.devnull)
            elif stat.S_ISDIR(mode) and is_root:
                yield from ((each, "--ro-bind", each) for each in _around(path, mounted))
            elif not stat.S_ISDIR(mode) and mode & _WRITABLE:
                yield (path, "--ro-bind", path)
    except OSError as error:
        raise SandboxError(f"`{proc}` cannot be read: {error.strerror}") from None


def _mount_points(proc: str) -> frozenset[str]:
    with open(os.path.join(proc, "self/mountinfo"), encoding="utf-8", errors="surrogateescape") as file:
        return frozenset(line.split()[4] for line in file)


def _around(path: str, mounted: frozenset[str]) -> Iterator[str]:
    """Yield a directory, or what is in it besides mounts: these are not in a sandbox.

    To bind one would make `bwrap` wait for a file system that is mounted on first use, such as `binfmt_misc`.
    """
    if not any(each.startswith(f"{path}{os.sep}") for each in mounted):
        yield path
        return
    for each in (os.path.join(path, name) for name in sorted(os.listdir(path))):
        if each not in mounted:
            yield from _around(each, mounted)
