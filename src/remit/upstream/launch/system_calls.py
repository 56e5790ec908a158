"""The filter of system calls that a sandboxed server runs under, a program of the kernel's BPF.

It closes what namespaces and mounts leave open: keys of the login, programs outside that listen on a socket
file, the host of a virtual machine, and files that run with the rights of their owner. A filter sees numbers
only, so a call that keeps in memory what matters is refused as a whole.
"""

from __future__ import annotations

import errno
import stat
import struct
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from remit.upstream.launch.system_call_numbers import LITTLE_ENDIAN, NUMBERS, X32, X86_64

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in `struct seccomp_data`
# The kernel remembers the calls that it finds allowed by such instructions on their number alone, and runs
# the filter only for the others.
_LOAD, _MASK, _JUMP, _IF_EQUAL, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_ABSENT = _ERROR | errno.ENOSYS  # as an older kernel answers, so that programs do without
_NO_FAMILY = _ERROR | errno.EAFNOSUPPORT
_NOT_PERMITTED = _ERROR | errno.EPERM

# Linux's numbers; the module is also imported elsewhere.
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET = 1, 5
_TYPE = 0xF  # of a socket; the other bits are flags
_SOCKET, _SOCKETPAIR = 1, 8  # of `socketcall`, which has the other arguments in memory
_CREATES = 0o100 | 0o20000000  # `O_CREAT` or `O_TMPFILE`: otherwise the mode has no meaning
_ALL = 0xFFFFFFFF


class _Test(NamedTuple):
    """Ends the check of a call with a verdict if an argument has a value, in the bits that count."""

    argument: int
    value: int
    verdict: int
    bits: int = _ALL
    is_unless: bool = False  # if it has any other value


class _Rule(NamedTuple):
    """Tests of a call, and the verdict if none ends it."""

    tests: tuple[_Test, ...]
    verdict: int


def _mode(argument: int, *before: _Test) -> _Rule:
    """Refuse a file that runs with the rights of its owner or group, whoever starts it."""
    set_id = _Test(argument, 0, _NOT_PERMITTED, bits=stat.S_ISUID | stat.S_ISGID, is_unless=True)
    return _Rule((*before, set_id), _ALLOW)


def _opened(flags: int) -> _Rule:
    return _mode(flags + 1, _Test(flags, 0, _ALLOW, bits=_CREATES))


def _allowed(argument: int, *values: int) -> tuple[_Test, ...]:
    return tuple(_Test(argument, value, _ALLOW) for value in values)


_REFUSED = _Rule((), _ABSENT)
_PAIR = _Rule(
    (
        _Test(0, _UNIX, _NO_FAMILY, is_unless=True),
        # A datagram socket sends to any address, even if it is one of a pair.
        _Test(1, _STREAM, _ALLOW, bits=_TYPE),
        _Test(1, _SEQPACKET, _ALLOW, bits=_TYPE),
    ),
    _NO_FAMILY,
)
_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(("add_key", "request_key", "keyctl"), _REFUSED),
    **dict.fromkeys(("io_uring_setup", "io_uring_enter", "io_uring_register"), _REFUSED),
    "openat2": _REFUSED,
    **dict.fromkeys(("creat", "mkdir", "chmod", "fchmod", "mknod"), _mode(1)),
    **dict.fromkeys(("mkdirat", "mknodat", "fchmodat", "fchmodat2"), _mode(2)),
    "open": _opened(1),
    "openat": _opened(2),
    "socket": _Rule(_allowed(0, _INET, _INET6, _NETLINK), _NO_FAMILY),
    "socketpair": _PAIR,
    "socketcall": _Rule(
        (_Test(0, _SOCKET, _NO_FAMILY), _Test(0, _SOCKETPAIR, _NO_FAMILY)),
        _ALLOW,
    ),
}
_RULES_WITH_UNIX: Mapping[str, _Rule] = {
    **_RULES,
    "socket": _Rule(_allowed(0, _UNIX, _INET, _INET6, _NETLINK), _NO_FAMILY),
    "socketpair": _Rule(_allowed(0, _UNIX), _NO_FAMILY),
}


@cache
def system_call_filter(*, unix_sockets: bool = False) -> bytes:
    """Return the program for `bwrap --seccomp`; on a processor that it does not know, nothing can run."""
    rules = _RULES_WITH_UNIX if unix_sockets else _RULES
    program = [_instruction(_LOAD, _ARCHITECTURE)]
    for architecture in NUMBERS:
        block = list(_block(architecture, rules))
        program.append(_instruction(_IF_EQUAL, architecture, then=1))
        program += [_instruction(_JUMP, len(block)), *block]
    return b"".join((*program, _instruction(_RETURN, _ABSENT)))


def _block(architecture: int, rules: Mapping[str, _Rule]) -> Iterator[bytes]:
    """Yield the instructions for the calls of a processor."""
    if architecture == X86_64:
        yield _instruction(_LOAD, _NUMBER)
        yield _instruction(_MASK, X32)
        yield _instruction(_IF_EQUAL, 0, then=1)
        yield _instruction(_RETURN, _ABSENT)
    yield _instruction(_LOAD, _NUMBER)
    low = 0 if architecture & LITTLE_ENDIAN else 4  # the kernel looks at the low half of these arguments
    for name, number in NUMBERS[architecture].items():
        tests, verdict = rules[name]
        checked = [each for test in tests for each in _instructions(test, low)]
        yield _instruction(_IF_EQUAL, number, otherwise=len(checked) + 1)
        yield from (*checked, _instruction(_RETURN, verdict))
    yield _instruction(_RETURN, _ALLOW)


def _instructions(test: _Test, low: int) -> Iterator[bytes]:
    yield _instruction(_LOAD, _ARGUMENTS + 8 * test.argument + low)
    yield _instruction(_MASK, test.bits)
    yield _instruction(_IF_EQUAL, test.value, then=test.is_unless, otherwise=not test.is_unless)
    yield _instruction(_RETURN, test.verdict)


def _instruction(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """Return one instruction; a jump skips as many as its answer says."""
    return struct.pack("=HBBI", code, then, otherwise, value)
