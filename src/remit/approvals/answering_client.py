"""Tells whether the client on this process's streams may answer for a person.

A yes in a client counts as a person's. An agent can start a server of its own and play the client, so the yes
counts only if a client, or a person's own program, started this process and holds its streams.
"""

import os
import socket
import stat
import struct

from remit.approvals.agent_processes import MARKERS, MULTIPLEXERS, find_stand_in
from remit.approvals.process_tree import PROC, read_process_tree

_PEER = struct.Struct("3i")  # process, user, group


def may_answer_for_person(streams: tuple[int, int] = (0, 1)) -> bool:
    """Return whether the client at these descriptors started this process, or a person's program did."""
    tree = read_process_tree(MARKERS, MULTIPLEXERS)
    is_direct = all(_is_held_by(os.getppid(), stream) for stream in streams)
    return find_stand_in(tree, is_direct=is_direct) is None


def _is_held_by(pid: int, stream: int) -> bool:
    """Return whether a process made or holds the other end of a stream; where none can tell, assume so."""
    if not os.path.isdir(f"{PROC}/self/fd"):
        return True
    try:
        mode = os.fstat(stream).st_mode
        if stat.S_ISSOCK(mode):
            return _maker(stream) == pid
        if stat.S_ISFIFO(mode):
            return _pipe(f"{PROC}/self/fd/{stream}") in _pipes(pid)
    except OSError:  # it is closed, or the process belongs to another user
        return False
    return False


def _maker(stream: int) -> int:
    """Return the process that made a pair of sockets."""
    with socket.socket(fileno=os.dup(stream)) as opened:
        peer = opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return _PEER.unpack(peer)[0]


def _pipes(pid: int) -> set[str]:
    folder = f"{PROC}/{pid}/fd"
    return {_pipe(f"{folder}/{name}") for name in os.listdir(folder)} - {""}


def _pipe(path: str) -> str:
    """Return the number of an unnamed pipe; a named one could be anyone's."""
    try:
        target = os.readlink(path)
    except OSError:  # it was closed meanwhile
        return ""
    return target if target.startswith("pipe:[") else ""
