"""The mounts of a sandbox, as options of `bwrap`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from remit.decision.scopes import is_at_or_below
from remit.upstream.launch.kernel_files import PROC, kernel_mounts
from remit.upstream.launch.runtime_paths import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterator

# Files of `/etc` that programs need; others may hold secrets.
_ETC = (
    *("alternatives", "ca-certificates", "fonts", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki", "protocols"),
    *("resolv.conf", "services", "ssl", "timezone"),
)


class Mounts:
    """The mounts of a sandbox, which `bwrap` makes from the root down."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, ...]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._made

    def add(self, path: str, *option: str) -> None:
        """Make a path with an option such as `--tmpfs` or, with its source, `--bind`."""
        self._made[path] = option

    def bind(self, path: str, source: str) -> None:
        """Show a path read-only; a missing one is left out."""
        self.add(path, "--ro-bind-try", os.path.realpath(source))

    def drop_below(self, path: str) -> None:
        """Forget what else is shown below a path, which shows it already."""
        for each in [each for each in self._made if each != path and is_at_or_below(each, path)]:
            del self._made[each]

    def add_system(self) -> None:
        """Show the system's programs and libraries, and empty places for everything else."""
        for path in SYSTEM:
            if os.path.islink(path):
                self.add(path, "--symlink", os.readlink(path))
            elif os.path.isdir(path):
                self.bind(path, path)
        for name in _ETC:
            self.bind(f"/etc/{name}", f"/etc/{name}")
        self.add(PROC, "--proc")
        self.add("/dev", "--dev")
        self.add("/tmp", "--tmpfs")  # noqa: S108 - its own
        self.add("/var/tmp", "--tmpfs")  # noqa: S108 - its own

    def close_kernel(self) -> None:
        """Close the parts of `/proc` that belong to the whole machine.

        Raises:
            SandboxError: they are not known.
        """
        for path, *option in kernel_mounts(is_root=os.geteuid() == 0):
            self.add(path, *option)

    def options(self) -> Iterator[str]:
        """Yield the options, a directory before what is in it."""
        for path in sorted(self._made, key=lambda path: path.rstrip(os.sep).split(os.sep)):
            name, *source = self._made[path]
            yield from (name, *source, path)
