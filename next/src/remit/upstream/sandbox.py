"""Runs a server under bubblewrap: what it sees, as options of `bwrap`.

It sees the system's programs, the runtime of its own program, what its configuration lets it read and write,
and a home of its own, which it keeps: package runners install there, and poison no other server's cache.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256

from remit.decision import is_at_or_below
from remit.errors import NotReadyError
from remit.text import one_line
from remit.upstream.failures import IN_ITS_SANDBOX
from remit.upstream.model import Sandbox, Upstream
from remit.upstream.obstacles import Obstacle

# Never looked up on `PATH`, which a repository may set.
PROGRAMS = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
MAX_HOPS = 10  # links and first lines from a program to what runs it
_PROBE_SECONDS = 5.0
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# Files of `/etc` that programs need; others may hold secrets.
_ETC = (
    *("alternatives", "ca-certificates", "fonts", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki", "protocols"),
    *("resolv.conf", "services", "ssl", "timezone"),
)
_CERTIFICATES = (
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)
# They lead to sockets and directories that are not there.
_UNSET = (
    "SSH_",
    "GPG_",
    "DBUS_",
    "DISPLAY",
    "WAYLAND_",
    "XAUTHORITY",
    "XDG_",
    "DOCKER_HOST",
    "TMPDIR",
    "TMP",
)
# What others run, or what says so, in a project that a server may write to.
_PROTECTED = (
    *(".git", ".vscode", ".idea", ".zed", ".claude", ".cursor", ".gemini", ".kiro", ".roo", ".windsurf"),
    *(".mcp.json", "remit.toml", "remit.local.toml", "remit.lock", ".envrc", ".husky"),
)


def enter_sandbox(
    upstream: Upstream, words: Sequence[str], cwd: str, environment: Mapping[str, str], home: str, data: str
) -> tuple[tuple[str, ...], Mapping[str, str], bytes]:
    """Return the words that start a server in its sandbox, and the options that `bwrap` reads from a file.

    `bwrap` itself gets no variables: a loader's would run code outside the sandbox.

    Raises:
        NotReadyError: the sandbox is not possible.
    """
    sandbox = upstream.sandbox or Sandbox()
    problem = sandbox_problem(sandbox, upstream.root, home)
    if problem is None and upstream.wrap:
        problem = Obstacle("it has both `wrap` and `sandbox`", "remove one of them")
    if problem is not None:
        raise NotReadyError(f"{IN_ITS_SANDBOX}{problem.reason}", hint=problem.fix)
    own = os.path.join(data, "homes", sha256(repr((upstream.key, upstream.root)).encode()).hexdigest()[:16])
    os.makedirs(own, mode=0o700, exist_ok=True)
    mounts = dict(_system())
    for path in _runtime(words[0], cwd, environment.get("PATH", os.defpath), home):
        mounts[path] = ("--ro-bind-try", path)
    for path in filter(None, map(environment.get, _CERTIFICATES)):
        mounts[path] = ("--ro-bind-try", os.path.realpath(path))
    mounts |= _granted(sandbox, upstream.root, home)
    mounts[own] = ("--bind", own)
    cwd = own if is_at_or_below(home, cwd) else cwd
    known = {name: value for name, value in environment.items() if not name.startswith(_UNSET)}
    variables = {**known, "HOME": own, "PWD": cwd}
    options = ["--unshare-all", *(["--share-net"] if sandbox.network else []), "--cap-drop", "ALL"]
    for path in sorted(mounts, key=lambda path: path.split(os.sep)):  # a directory before what is in it
        options += (*mounts[path], path)
    options += ("--chdir", cwd, "--clearenv")
    for name, value in variables.items():
        options += ("--setenv", name, value)
    return (_program(), "--", *words), {}, b"".join(os.fsencode(word) + b"\0" for word in options)


def sandbox_problem(sandbox: Sandbox, root: str, home: str) -> Obstacle | None:
    """Return why a sandbox is not possible in a project; None if it is."""
    if (problem := _bubblewrap_problem()) is not None:
        return problem
    for written in (*sandbox.read, *sandbox.write):
        path = _absolute(written, root, home)
        if is_at_or_below(home, os.path.realpath(path)):
            return Obstacle(f"`{written}` contains your home directory", "name what it needs instead")
        if is_at_or_below(path, root) and not is_at_or_below(os.path.realpath(path), os.path.realpath(root)):
            return Obstacle(f"`{written}` is a link out of the project", "name the directory it points to")
    for written in sandbox.write:
        path = _absolute(written, root, home)
        if not os.path.isdir(path) and not is_at_or_below(path, root):
            return Obstacle(f"`{written}` does not exist", "create it, or remove it from `write`")
    return None


def _granted(sandbox: Sandbox, root: str, home: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for written in sandbox.read:
        path = _absolute(written, root, home)
        yield path, ("--ro-bind", os.path.realpath(path))
    for written in sandbox.write:
        path = _absolute(written, root, home)
        os.makedirs(path, exist_ok=True)
        yield path, ("--bind", os.path.realpath(path))
        for name in _PROTECTED:
            protected = os.path.join(path, name)
            if os.path.lexists(protected):
                yield protected, ("--ro-bind-try", os.path.realpath(protected))


def _absolute(path: str, root: str, home: str) -> str:
    path = home + path[1:] if path == "~" or path.startswith("~/") else path
    return os.path.normpath(os.path.join(root, path))


def _system() -> Iterator[tuple[str, tuple[str, ...]]]:
    for path in _SYSTEM:
        if os.path.islink(path):
            yield path, ("--symlink", os.readlink(path))
        elif os.path.isdir(path):
            yield path, ("--ro-bind", path)
    for name in _ETC:
        yield f"/etc/{name}", ("--ro-bind-try", os.path.realpath(f"/etc/{name}"))
    yield from (("/proc", ("--proc",)), ("/dev", ("--dev",)))
    yield from ((path, ("--tmpfs",)) for path in ("/tmp", "/var/tmp"))  # noqa: S108 - its own


def _runtime(command: str, cwd: str, search_path: str, home: str) -> Iterator[str]:
    """List the directories that a program needs: follow its links, and the first lines of scripts."""
    for _ in range(MAX_HOPS):
        program = shutil.which(os.path.join(cwd, command) if os.sep in command else command, path=search_path)
        if program is None:
            return
        program = os.path.abspath(program)
        if not any(is_at_or_below(program, path) for path in _SYSTEM):
            yield _prefix(program, home)
        if os.path.islink(program):
            command = os.path.join(os.path.dirname(program), os.readlink(program))
            continue
        interpreter = _first_line(program)
        if not interpreter:
            return
        is_env = os.path.basename(interpreter[0]) == "env" and len(interpreter) > 1
        command = next((word for word in interpreter[1:] if word != "-S"), "") if is_env else interpreter[0]


def _prefix(program: str, home: str) -> str:
    """Return the installation of a program: for `…/bin/x` all of `…`, unless that holds more."""
    directory, name = os.path.split(os.path.dirname(program))
    is_more = directory in (os.sep, os.path.join(home, ".local")) or is_at_or_below(home, directory)
    return directory if name == "bin" and not is_more else program


def _first_line(program: str) -> list[str]:
    try:
        with open(program, "rb") as file:
            line = file.readline(1_000)
    except OSError:
        return []
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []


def _program() -> str:
    return next((path for path in PROGRAMS if os.access(path, os.X_OK)), "")


@cache
def _bubblewrap_problem() -> Obstacle | None:
    """Ask `bwrap` for a sandbox with the system only."""
    if sys.platform != "linux":
        return Obstacle("sandboxes need bubblewrap, which runs on Linux only", "remove its `sandbox`")
    program = _program()
    if not program:
        return Obstacle(
            "bubblewrap is not installed", "install it, for example with `apt install bubblewrap`"
        )
    options = [word for path, mount in _system() for word in (*mount, path)]
    command = [program, "--unshare-all", "--cap-drop", "ALL", *options, "--", "/bin/sh", "-c", "exit 0"]
    try:
        done = subprocess.run(command, env={}, capture_output=True, timeout=_PROBE_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return Obstacle(f"bubblewrap does not work here: {type(error).__name__}", "run `bwrap` to see why")
    if not done.returncode:
        return None
    words = one_line(done.stderr.decode("utf-8", "replace"), 200) or "unknown error"
    fix = "allow unprivileged user namespaces on this machine"
    return Obstacle(f"bubblewrap does not work here: {words}", fix)
