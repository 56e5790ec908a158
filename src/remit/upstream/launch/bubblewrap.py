"""Starts servers under bubblewrap: what a sandbox shows them, as options of `bwrap`.

The sandbox is empty, except for the system's programs and libraries, what the server needs to run, and what
its configuration allows. It has its own processes, devices, temporary files, home directory and, without
`network`, its own loopback. If any of this is not possible, the server is not started.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.declared_launch import program
from remit.decision.scopes import ancestors, is_at_or_below
from remit.files.bounded_reader import ANYWHERE
from remit.trust.package_commands import PackageKind, package_command
from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch.npx_packages import find_installed, npx_cache, npx_command
from remit.upstream.launch.private_places import (
    entries_without,
    hidden_entry,
    is_secret,
    is_shown,
    secret_places,
    secret_within,
)
from remit.upstream.launch.protected_files import protect
from remit.upstream.launch.runtime_paths import SYSTEM, RuntimeContext, RuntimePaths, package_caches
from remit.upstream.launch.sandbox_mounts import Mounts
from remit.upstream.launch.system_calls import system_call_filter

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from remit.trust.server_sandbox import Sandbox

# Never looked up on `PATH`, which a repository may set.
PROGRAMS = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
INSTALL = "install bubblewrap, for example with `apt install bubblewrap`"
_PROBE_SECONDS = 5.0
# The best that this machine can do. The first also keeps a server from making namespaces, in which the kernel
# would let it reach more of its code; older versions of `bwrap`, and containers, do not have it.
_NAMESPACES = (("--unshare-all", "--unshare-user", "--disable-userns"), ("--unshare-all",))
# They lead out of the sandbox, to sockets that are not there.
_UNSET = frozenset(
    (
        *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY"),
        *("DBUS_SYSTEM_BUS_ADDRESS", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "ICEAUTHORITY"),
        *("DOCKER_HOST", "TMPDIR", "TMP", "TEMP"),
    )
)
# Package runners use only what is installed: a sandbox cannot change their caches.
_OFFLINE = {"uv": {"UV_OFFLINE": "1"}, "uvx": {"UV_OFFLINE": "1"}}


class Bubblewrap(NamedTuple):
    """The installed `bwrap`."""

    path: str
    namespaces: tuple[str, ...]  # options


class SandboxedCommand(NamedTuple):
    """A command to run under `bwrap`."""

    program: str  # `bwrap`
    options: tuple[str, ...]
    words: tuple[str, ...]
    variables: Mapping[str, str]  # of the command; `bwrap` itself gets none
    unix_sockets: bool = False


class SandboxBuilder(NamedTuple):
    """Builds the commands of one sandboxed server."""

    sandbox: Sandbox
    home: str
    own: Sequence[str]  # Remit's own directories, which no server may see
    is_projects: bool = False  # whether the server is the project's own, with the user's trust

    def check(self) -> Bubblewrap:
        """Return the `bwrap` to use, if the sandbox is possible.

        Raises:
            SandboxError: it is not.
        """
        found = bubblewrap_program()
        for path in (*self.sandbox.read, *self.sandbox.write):
            self._check_path(path)
        for path in self.sandbox.write:
            self._check_writable(path)
        return found

    def command(
        self, words: Sequence[str], place: str, variables: Mapping[str, str], users: Mapping[str, str]
    ) -> SandboxedCommand:
        """Return the command that runs a program in the sandbox, with variables; some are the user's own.

        Raises:
            SandboxError: the sandbox is not possible, or the program cannot run in it.
        """
        bwrap = self.check()
        words, runtime = self._runtime(words, place, variables, users)
        mounts = Mounts()
        mounts.add_system()
        mounts.add(self.home, "--tmpfs")
        for path, target in runtime.found.items():
            if target is None:
                mounts.bind(path, path)
            elif not is_shown(path, self.sandbox.read, self.home):  # else it is there
                mounts.add(path, "--symlink", target)
        self._grant(mounts)
        if place not in mounts and not any(is_at_or_below(place, each) for each in self.sandbox.write):
            mounts.add(place, "--dir")
        mounts.close_kernel()  # after what is granted, which may contain it
        options = [*bwrap.namespaces, *(["--share-net"] if self.sandbox.network else [])]
        options += ["--cap-drop", "ALL"]
        options += [*mounts.options(), "--remount-ro", "/", "--chdir", place]
        kept = {name: value for name, value in variables.items() if name not in _UNSET}
        kept |= _OFFLINE.get(program(words[0]), {})
        return SandboxedCommand(bwrap.path, tuple(options), tuple(words), kept, self.sandbox.unix_sockets)

    def opened(
        self, words: Sequence[str], place: str, variables: Mapping[str, str], users: Mapping[str, str]
    ) -> list[str]:
        """List what the sandbox opens so that a program can run, besides the system and what it names.

        Raises:
            SandboxError: the program cannot run in it.
        """
        _, runtime = self._runtime(words, place, variables, users)
        named = (*self.sandbox.write, *SYSTEM)
        shown = [path for path, target in runtime.found.items() if target is None and os.path.exists(path)]
        found: list[str] = []
        for path in sorted(shown):  # a directory before what is in it
            is_named = is_shown(path, self.sandbox.read, self.home)
            if not is_named and not any(is_at_or_below(path, each) for each in (*named, *found)):
                found.append(path)
        return found

    def _runtime(
        self, words: Sequence[str], place: str, variables: Mapping[str, str], users: Mapping[str, str]
    ) -> tuple[Sequence[str], RuntimePaths]:
        """Return the words to run, and what they need; nothing is started.

        Raises:
            SandboxError: the program cannot run in the sandbox.
        """
        chosen = users if self.is_projects else variables  # an entry of the project opens nothing
        _refuse_runner(words)
        npx = npx_command(words)
        if npx is not None:
            within = (self.sandbox.root,) if self.is_projects else ANYWHERE
            cached = npx_cache(chosen, self.home)
            installed = find_installed(npx, self._installs(place), cached, within=within)
            if installed is None:
                hint = f"run `npx -y {npx.package}` once without the sandbox, which installs it"
                raise SandboxError(f"`{npx.name}` is not installed, and a sandbox installs nothing", hint)
            words = installed
        around = RuntimeContext(
            place=place,
            home=self.home,
            root=self.sandbox.root,
            readable=self.sandbox.read,
            writable=self.sandbox.write,
            secrets=self._secrets,
            search_path=variables.get("PATH", os.defpath),
            users_path=chosen.get("PATH", os.defpath),
            is_projects=self.is_projects,
        )
        runtime = RuntimePaths(around)
        found = runtime.add_command(words, is_users=npx is not None)  # or in the project, which counts
        if found is None:
            raise SandboxError("its command was not found", "install it, or write its whole path")
        runner = "" if runtime.is_foreign(found) else program(found)  # `./uvx` gets no cache of uv's
        for path in package_caches(runner, place, chosen, self.home):
            runtime.add_directory(path)
        if runner in ("uv", "uvx"):
            runtime.add_command(("python3",))
        return words, runtime

    def _check_path(self, path: str) -> None:
        """Refuse links inside the project, which a repository could point anywhere, and links to secrets.

        Any hidden entry of the home directory may hold secrets.
        """
        root = self.sandbox.root
        hint = "name the directory that it points to"
        if is_at_or_below(path, root) and os.path.realpath(path) != path:
            short = os.path.relpath(path, root)
            raise SandboxError(f"`{short}` is or contains a link", hint)
        real = os.path.realpath(path)
        is_hidden = hidden_entry(real, self.home) is not None and hidden_entry(path, self.home) is None
        if is_hidden or (is_secret(real, self._secrets) and not is_secret(path, self._secrets)):
            raise SandboxError(f"`{path}` leads to a place that may hold secrets", hint)

    def _check_writable(self, path: str) -> None:
        """Refuse to make a directory writable from which programs run at a login, or that has secrets."""
        hint = "name the directories that it needs to change"
        if is_at_or_below(self.home, path):
            reason = "`write` contains your home directory, from which programs run when you log in"
            raise SandboxError(reason, hint)
        unnamed = [each for each in self._secrets if each not in self.sandbox.write]
        secret = secret_within(path, unnamed)
        if secret is not None:
            raise SandboxError(f"`write` contains `{secret}`, which may hold secrets", hint)

    @property
    def _secrets(self) -> tuple[str, ...]:
        return secret_places(self.home, self.own)

    def _show(self, path: str, mounts: Mounts) -> None:
        """Show a path that the server may read, without the secrets in it."""
        named = (*self.sandbox.read, *self.sandbox.write)
        secrets = [each for each in self._secrets if each not in named and not is_at_or_below(path, each)]
        if secret_within(path, secrets) is None and not is_at_or_below(self.home, path):
            mounts.bind(path, path)
            return
        # What is shown already stays as it is: `/proc`, and in `/home` the empty home directory.
        for entry in entries_without(path, secrets, mounts, self.home):
            if entry.is_link and entry.source is not None:
                mounts.add(entry.path, "--symlink", entry.source)
            elif entry.source is not None:
                mounts.bind(entry.path, entry.source)
            elif entry.path not in mounts:
                mounts.add(entry.path, "--dir")

    def _grant(self, mounts: Mounts) -> None:
        write = sorted(self.sandbox.write)  # a directory before what is in it
        for path in sorted(self.sandbox.read):
            if not any(is_at_or_below(path, each) for each in write):
                self._show(path, mounts)
        for path in write:
            if is_at_or_below(path, self.sandbox.root) and not os.path.lexists(path):
                os.makedirs(path)
            elif not os.path.exists(path):
                raise SandboxError(f"`{path}` does not exist", "create it, or remove it from `write`")
            mounts.add(path, "--bind", os.path.realpath(path))
            mounts.drop_below(path)
        protected = protect(write, self.sandbox.root, self.home)
        for path in protected.pinned:
            mounts.add(path, "--bind", os.path.realpath(path))
        for path in protected.read_only:
            mounts.add(path, "--ro-bind", os.path.realpath(path))

    def _installs(self, place: str) -> tuple[str, ...]:
        """List the directories whose packages `npx` may run: the project's only for its own servers."""
        return ancestors(place, up_to=self.sandbox.root) if self.is_projects else (self.home,)


def _refuse_runner(words: Sequence[str]) -> None:
    """Refuse programs that cannot run a package in a sandbox, rather than let them fail obscurely."""
    found = package_command(words)
    if found is not None and found.kind is PackageKind.OCI:
        reason = f"a container runs outside the sandbox of `{found.runner}`"
        raise SandboxError(reason, "limit the container itself, and set `sandbox = false` for this server")
    if found is not None and found.runner == "pipx":
        reason = "`pipx run` installs packages, and a sandbox installs nothing"
        raise SandboxError(reason, f"use `uvx {found.package}`, which works with uv's cache")


@cache
def bubblewrap_program() -> Bubblewrap:
    """Find `bwrap`, and what it can do here.

    Raises:
        SandboxError: it is not installed, or not allowed here.
    """
    if sys.platform != "linux":
        raise SandboxError("sandboxes need bubblewrap, which runs on Linux only", "remove its `sandbox`")
    found = next((path for path in PROGRAMS if os.access(path, os.X_OK)), None)
    if found is None:
        raise SandboxError("bubblewrap is not installed", INSTALL)
    problem: str | None = None
    for namespaces in _NAMESPACES:
        problem = _probe(found, namespaces)
        if problem is None:
            return Bubblewrap(found, namespaces)
    raise SandboxError(
        f"bubblewrap does not work here: {problem}", "allow unprivileged user namespaces on this machine"
    )


def _probe(bwrap: str, namespaces: Sequence[str]) -> str | None:
    """Ask bubblewrap for a sandbox with the system only; return what it says if it cannot make one."""
    mounts = Mounts()
    mounts.add_system()
    options = (*namespaces, "--cap-drop", "ALL", *mounts.options())
    command = SandboxedCommand(bwrap, options, (os.path.realpath(bwrap), "--version"), {})
    try:
        with started_with(command) as (words, descriptors):
            done = subprocess.run(  # noqa: S603 - it runs nothing but itself
                words,
                env={},
                pass_fds=descriptors,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["unknown error"]
    return lines[-1][:200] if done.returncode else None


def sandbox_obstacle(sandbox: Sandbox, home: str) -> SandboxError | None:
    """Return why a sandbox is not possible here; None if it is."""
    try:
        SandboxBuilder(sandbox, home, ()).check()
    except SandboxError as error:
        return error
    return None


def options_text(command: SandboxedCommand) -> bytes:
    """Return the options for `--args`, so that no variable shows in the list of processes."""
    given = (word for name, value in command.variables.items() for word in ("--setenv", name, value))
    return b"".join(os.fsencode(word) + b"\0" for word in (*command.options, "--clearenv", *given))


@contextmanager
def started_with(command: SandboxedCommand) -> Generator[tuple[list[str], tuple[int, ...]]]:
    """Yield the words that start `bwrap`, and the descriptors to pass to it.

    The caller starts it in a session of its own, without a terminal. With `--new-session`, the signals that
    end the process group of `bwrap` would no longer reach the server.
    """
    filtered = system_call_filter(unix_sockets=command.unix_sockets)
    with _nameless_file(options_text(command)) as options, _nameless_file(filtered) as calls:
        words = [command.program, "--args", str(options), "--seccomp", str(calls), "--", *command.words]
        yield words, (options, calls)


@contextmanager
def _nameless_file(content: bytes) -> Generator[int]:
    descriptor = os.memfd_create("bwrap")
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
