"""Refuses commands that only a person may run when an agent runs them.

Which processes started this one, and who holds its terminal, tells the two apart.
"""

import os
import stat
from collections.abc import Container, Iterable, Iterator, Sequence

from remit.approvals.agent_processes import MARKERS, MULTIPLEXERS, Process, ProcessTree, find_agent
from remit.decision.scopes import ancestors
from remit.errors import ApprovalError

looks_at_processes = True  # not where the demo plays the person
PROC = "/proc"  # macOS has none: there `ps` tells
_PS = ("/bin/ps", "-axwwo", "pid=,ppid=,command=")
_PS_SECONDS = 5.0
_MASTERS = ("/dev/ptmx", "/dev/pts/ptmx")
_PTS_MAJORS = range(136, 144)
_DELETED = " (deleted)"


def require_person(act: str = "approve a call") -> None:
    """Check that no agent runs this command, which does what only a person may do.

    Raises:
        ApprovalError: an agent runs it.
    """
    tree = read_process_tree(MARKERS, MULTIPLEXERS) if looks_at_processes else ProcessTree(())
    agent = find_agent(os.environ, tree)
    if agent is not None:
        raise ApprovalError(
            f"{agent} runs this command, and only a person can {act}",
            hint="run it in a terminal that is installed for all users, on a console or over SSH",
        )


def read_process_tree(names: Container[str], multiplexers: Container[str] = ()) -> ProcessTree:
    """Read the processes related to this one, each with the variables of these names.

    Other processes that run the same multiplexer are its viewers. Where the system does not tell, the tree is
    empty.
    """
    if not os.path.isdir(f"{PROC}/self"):
        return ProcessTree(tuple(_listed_ancestors(os.getpid())))
    found: dict[int, Process] = {}
    own = _add(found, os.getpid(), names)
    controlling = _pts_number(own.terminal) if own is not None else None
    if controlling is not None:
        for pid in _holders(controlling, found):
            _add(found, pid, names)
    others: dict[int, Process] = {}
    for number in _stream_terminals() - {controlling}:
        for pid in _holders(number, found):
            _add(others, pid, names)
    viewers = [_related(pid, names) for pid in _viewers(found.values(), multiplexers)]
    return ProcessTree(list(found.values()), list(others.values()), viewers)


def _related(pid: int, names: Container[str]) -> Sequence[Process]:
    found: dict[int, Process] = {}
    _add(found, pid, names)
    return list(found.values())


def _add(found: dict[int, Process], pid: int, names: Container[str]) -> Process | None:
    """Add a process, its ancestors, and the leaders of their sessions with theirs."""
    to_read = [pid]
    while to_read:
        at = to_read.pop()
        if at and at not in found and (process := _read(at, names)) is not None:
            found[at] = process
            to_read += (process.parent, process.session)
    return found.get(pid)


def _read(pid: int, names: Container[str]) -> Process | None:
    try:
        head, _, rest = _text(pid, "stat").rpartition(")")
        _, parent, _, session, terminal = rest.split()[:5]
    except (OSError, ValueError):  # it ended, or it is hidden
        return None
    return Process(
        pid=pid,
        parent=int(parent),
        session=int(session),
        terminal=int(terminal),
        name=head.partition("(")[2],
        program=_program(pid),
        command=_strings(pid, "cmdline"),
        variables=_variables(pid, names),
        is_own_program=_is_own_program(pid),
    )


def _program(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"{PROC}/{pid}/exe")).removesuffix(_DELETED)
    except OSError:  # of another user
        return ""


def _is_own_program(pid: int) -> bool:
    """Tell whether this user could have made or renamed the file that a process runs; root always could."""
    if os.geteuid() == 0:
        return False
    try:
        file = os.readlink(f"{PROC}/{pid}/exe")
        found = os.stat(f"{PROC}/{pid}/exe")
    except OSError:  # of another user, or kept from being looked at
        return _hides(pid)
    path = file.removesuffix(_DELETED)
    # In a mount namespace of its own, any program can have any path. A deleted one was perhaps upgraded.
    is_elsewhere = path == file and not _is_same(path, found)
    return is_elsewhere or _is_writable(found) or any(map(_is_replaceable, ancestors(os.path.dirname(path))))


def _hides(pid: int) -> bool:
    """Tell whether a process of this user cannot be looked at, without a group that root gave its program."""
    try:
        lines = dict(line.split(":", 1) for line in _text(pid, "status").splitlines())
        users, groups = lines["Uid"].split(), lines["Gid"].split()
    except (KeyError, OSError, ValueError):  # it ended
        return False
    return users[0] == str(os.getuid()) and groups[0] == groups[1]


def _is_same(path: str, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), found)
    except OSError:
        return False


def _is_replaceable(directory: str) -> bool:
    try:
        return _is_writable(os.stat(directory)) or os.access(directory, os.W_OK)
    except OSError:
        return True


def _is_writable(found: os.stat_result) -> bool:
    """Tell whether this user may write a file, or may change its mode."""
    is_of_group = found.st_gid in {os.getegid(), *os.getgroups()}
    bits = stat.S_IWOTH | (stat.S_IWGRP if is_of_group else 0)
    return found.st_uid == os.geteuid() or bool(found.st_mode & bits)


def _variables(pid: int, names: Container[str]) -> frozenset[str]:
    pairs = (each.partition("=") for each in _strings(pid, "environ"))
    return frozenset(name for name, _, value in pairs if value and name in names)


def _strings(pid: int, name: str) -> list[str]:
    try:
        return _text(pid, name).rstrip("\0").split("\0")
    except OSError:  # of another user
        return []


def _text(pid: int, name: str) -> str:
    with open(f"{PROC}/{pid}/{name}", encoding="utf-8", errors="replace") as opened:
        return opened.read()


def _viewers(related: Iterable[Process], multiplexers: Container[str]) -> list[int]:
    """Find the processes that run the same multiplexer as a related one."""
    known = {process.pid: process.program for process in related if process.program in multiplexers}
    programs = set(known.values())
    return [pid for pid in _pids() if pid not in known and _program(pid) in programs] if known else []


def _stream_terminals() -> set[int]:
    """Return the pseudo-terminals of stdin, stdout and stderr."""
    return {number for stream in (0, 1, 2) if (number := _stream_terminal(stream)) is not None}


def _stream_terminal(stream: int) -> int | None:
    try:
        return _pts_number(os.fstat(stream).st_rdev) if os.isatty(stream) else None
    except OSError:  # it is closed
        return None


def _pts_number(device: int) -> int | None:
    major = os.major(device)
    return (major - _PTS_MAJORS[0]) * 256 + os.minor(device) if major in _PTS_MAJORS else None


def _holders(number: int, related: Iterable[int]) -> list[int]:
    """Return who holds the other side of a pseudo-terminal.

    That is mostly a related process, so the others are searched only if none of these is it.
    """
    return [pid for pid in related if _holds(pid, number)] or [pid for pid in _pids() if _holds(pid, number)]


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdecimal())


def _holds(pid: int, number: int) -> bool:
    try:
        opened = os.listdir(f"{PROC}/{pid}/fd")
    except OSError:  # of another user, as for a login over SSH
        return False
    return any(_is_master(pid, descriptor, number) for descriptor in opened)


def _is_master(pid: int, descriptor: str, number: int) -> bool:
    try:
        if os.readlink(f"{PROC}/{pid}/fd/{descriptor}") not in _MASTERS:
            return False
        lines = _text(pid, f"fdinfo/{descriptor}").splitlines()
    except OSError:  # it was closed
        return False
    return any(line.split() == ["tty-index:", str(number)] for line in lines)


def _listed_ancestors(pid: int) -> Iterator[Process]:
    """Find the ancestors in the list of `ps`."""
    import subprocess  # late: only without /proc

    try:
        listed = subprocess.run(_PS, capture_output=True, timeout=_PS_SECONDS).stdout  # noqa: S603 - fixed
    except (OSError, subprocess.SubprocessError):
        return
    lines = {
        int(line.split()[0]): line for line in listed.decode(errors="replace").splitlines() if line.strip()
    }
    while (line := lines.pop(pid, None)) is not None:
        _, parent, *command = line.split()
        program = os.path.basename(command[0]) if command else ""
        yield Process(
            pid=pid, parent=int(parent), session=pid, name=program, program=program, command=command
        )
        pid = int(parent)
