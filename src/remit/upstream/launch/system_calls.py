"""The filter of system calls that a sandboxed server runs under: the kernel's keyrings are closed to it.

The keys of a login belong to its user and its session, which a sandbox keeps. The filter is a program of the
kernel's BPF, which looks at each call's processor and number.
"""

import errno
import struct

# `add_key`, `request_key` and `keyctl` are three numbers in a row; the first of them, by `AUDIT_ARCH_*`.
_KEYRING_CALLS = {
    0xC000003E: 248,  # x86_64
    0x40000003: 286,  # i386, which x86_64 also runs
    0xC00000B7: 217,  # aarch64
    0x40000028: 309,  # arm, which aarch64 may also run
    0xC00000F3: 217,  # riscv64
    0xC0000102: 217,  # loongarch64
    0xC0000015: 269,  # ppc64le
    0x80000016: 278,  # s390x
}
_X32 = 0x40000000  # a bit that x86_64 adds to the numbers of its third kind of programs
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in `struct seccomp_data`
_LOAD, _MASK, _SUBTRACT = 0x20, 0x54, 0x14  # a word of the call; with the accumulator: and, minus
_IF_EQUAL, _IF_ABOVE, _RETURN = 0x15, 0x25, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.ENOSYS  # as a kernel without keyrings answers


def system_call_filter() -> bytes:
    """Return the program for `bwrap --seccomp`; on a processor that it does not know, nothing can run."""
    program = [_instruction(_LOAD, _ARCHITECTURE)]
    for architecture, first in _KEYRING_CALLS.items():
        program += [
            _instruction(_IF_EQUAL, architecture, otherwise=6),
            _instruction(_LOAD, _NUMBER),
            _instruction(_MASK, ~_X32 & 0xFFFFFFFF),
            _instruction(_SUBTRACT, first),  # a lower number becomes a huge one
            _instruction(_IF_ABOVE, 2, then=1),
            _instruction(_RETURN, _REFUSE),
            _instruction(_RETURN, _ALLOW),
        ]
    return b"".join((*program, _instruction(_RETURN, _REFUSE)))


def _instruction(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """Return one instruction; a jump skips as many as its answer says."""
    return struct.pack("=HBBI", code, then, otherwise, value)
