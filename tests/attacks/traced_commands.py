"""Runs programs under `strace`: every program they start, every connection and every change of a file."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from attacks.peers import SECONDS, Gateway

STRACE = shutil.which("strace")
_STARTS = ("execve", "execveat")
_CONNECTIONS = ("connect", "sendto", "sendmsg", "sendmmsg", "bind")
_OPENS = ("open", "openat", "openat2", "creat")
_CHANGES = (
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "truncate"),
    *("link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmodat", "chown", "lchown"),
    *("fchownat", "utimensat", "setxattr", "lsetxattr", "removexattr"),
)
_TRACED = ",".join(f"?{name}" for name in (*_STARTS, *_CONNECTIONS, *_OPENS, *_CHANGES))
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')  # `-xx` writes every string in hexadecimal digits
_FOLDER = re.compile(r"^\w+\((?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})*)>")
_OPENED = re.compile(r"= \d+<((?:\\x[0-9a-f]{2})*)>$")
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|^creat")


class Trace(NamedTuple):
    """What a program and all that it started did to the outside."""

    started: Sequence[Sequence[str]]  # the path of every program, and its words
    reached: Sequence[str]  # every connection, as `strace` writes it
    changed: Sequence[str]  # the paths of files that were written, made, renamed or removed
    opened: Sequence[str]  # the real paths of files that were opened


@contextmanager
def tracing() -> Generator[tuple[list[str], Path]]:
    """Give the words to put before a command, and the folder from which `read_trace` reads."""
    if STRACE is None:
        raise RuntimeError("strace is not installed")
    with tempfile.TemporaryDirectory() as folder:
        options = ["-ff", "--seccomp-bpf", "-y", "-xx", "-s", "65536", "-e", f"trace={_TRACED}"]
        yield [STRACE, *options, "-o", f"{folder}/trace", "--"], Path(folder)


def read_trace(folder: Path, cwd: Path) -> Trace:
    """Read what `strace` wrote, one file for each process and thread."""
    started, reached, changed, opened = list[list[str]](), list[str](), list[str](), list[str]()
    for path in sorted(folder.iterdir()):
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            name = line.partition("(")[0]
            if name in _STARTS:
                started.append(_strings(line))
            elif name in _CONNECTIONS and "sa_family=" in line:
                reached.append(line)
            elif name in _OPENS and "O_PATH" not in line and (found := _OPENED.search(line)):
                opened.append(_decoded(found[1]))
            if " = -1 " not in line and (name in _CHANGES or (name in _OPENS and _WRITING.search(line))):
                changed += _paths(line, cwd)
    return Trace(started, reached, changed, opened)


def run_traced(
    words: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdin: bytes = b""
) -> tuple[subprocess.CompletedProcess[bytes], Trace]:
    """Run a command to its end."""
    with tracing() as (before, folder):
        done = subprocess.run(
            [*before, *words],
            cwd=cwd,
            env=dict(environment),
            input=stdin,
            capture_output=True,
            timeout=2 * SECONDS,
        )
        return done, read_trace(folder, cwd)


def serve_traced(words: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> Trace:
    """Start a gateway, list its tools, call each, and hang up; a repository may hide all of them.

    Raises:
        RuntimeError: it does not answer; with what it says on stderr.
    """
    with tracing() as (before, folder), tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*before, *words],
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        gateway = Gateway(process)
        try:
            gateway.open()
            for name in gateway.tools():
                gateway.call(name)
        except (RuntimeError, BrokenPipeError) as error:
            errors.seek(0)
            raise RuntimeError(f"{error}: {errors.read().decode(errors='replace')[-2_000:]}") from None
        finally:
            gateway.end()
        return read_trace(folder, cwd)


def _strings(line: str) -> list[str]:
    return [_decoded(found[1]) for found in _STRING.finditer(line)]


def _decoded(digits: str) -> str:
    return os.fsdecode(bytes.fromhex(digits.replace("\\x", "")))


def _paths(line: str, cwd: Path) -> list[str]:
    folder = _FOLDER.match(line)
    base = _decoded(folder[1]) if folder else str(cwd)
    return [os.path.normpath(os.path.join(base, path)) for path in _strings(line)]
