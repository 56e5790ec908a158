import ctypes
import ctypes.util
import errno
import struct
import sys

import pytest

from remit.upstream.launch.system_call_numbers import NUMBERS
from remit.upstream.launch.system_calls import system_call_filter

X86_64, I386, AARCH64, ARM, S390X, MIPS = (
    *(0xC000003E, 0x40000003, 0xC00000B7, 0x40000028, 0x80000016),
    0x00000008,
)
PROCESSORS = pytest.mark.parametrize("architecture", NUMBERS)
ALLOWED, ERROR = 0x7FFF0000, 0x00050000
ABSENT, NO_FAMILY, NOT_PERMITTED = (ERROR | each for each in (errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPERM))
CREATE, TEMPORARY, WRITE = 0o100, 0o20200000, 1
STREAM, DATAGRAM, RAW, SEQPACKET, CLOSE_ON_EXEC = 1, 2, 3, 5, 0o2000000
UNIX, INET, INET6, NETLINK, VSOCK = 1, 2, 10, 16, 40
# Which argument is the mode.
MODES = {
    **dict.fromkeys(("chmod", "fchmod", "mknod", "mkdir", "creat"), 1),
    **dict.fromkeys(("fchmodat", "fchmodat2", "mknodat", "mkdirat"), 2),
}


def run(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Run a filter on a system call, as the kernel does."""
    order = "<" if architecture & 0x40000000 else ">"
    padded = [*arguments, *[0] * (6 - len(arguments))]
    call = struct.pack(f"{order}IIQ6Q", number, architecture, 0, *padded)
    instructions = list(struct.iter_unpack("=HBBI", program))
    at, value = 0, 0
    while True:
        code, then, otherwise, operand = instructions[at]
        at += 1
        match code:
            case 0x20:
                value = int.from_bytes(call[operand : operand + 4], "little" if order == "<" else "big")
            case 0x54:
                value &= operand
            case 0x05:
                at += operand
            case 0x15:
                at += then if value == operand else otherwise
            case _:
                assert code == 0x06
                return operand


def verdict(architecture: int, call: str | int, *arguments: int, unix_sockets: bool = False) -> int:
    number = call if isinstance(call, int) else NUMBERS[architecture][call]
    return run(system_call_filter(unix_sockets=unix_sockets), architecture, number, *arguments)


def has(architecture: int, call: str) -> bool:
    return call in NUMBERS[architecture]


@PROCESSORS
def test_keyrings_io_uring_and_openat2_are_refused_and_other_calls_allowed(architecture: int) -> None:
    absent = ("add_key", "request_key", "keyctl", "io_uring_setup", "io_uring_enter", "openat2")
    assert {verdict(architecture, call) for call in absent} == {ABSENT}
    filtered = set(NUMBERS[architecture].values())
    others = [number for number in range(1000) if number not in filtered]
    assert {verdict(architecture, number, *[2**64 - 1] * 6) for number in others} == {ALLOWED}


@PROCESSORS
def test_a_set_user_id_or_set_group_id_mode_is_refused_in_every_call_that_takes_one(
    architecture: int,
) -> None:
    for call in filter(lambda call: has(architecture, call), MODES):
        before = [2**64 - 1] * MODES[call]
        for mode in (0o4755, 0o2755, 0o6000, 0o104755, 2**32 + 0o4000):
            assert verdict(architecture, call, *before, mode) == NOT_PERMITTED, call
        for mode in (0o755, 0o1777, 0o100644):
            assert verdict(architecture, call, *before, mode) == ALLOWED, call


@PROCESSORS
def test_the_mode_of_an_opened_file_counts_only_if_it_is_created(architecture: int) -> None:
    calls = (("open", (0,)), ("openat", (0, 0)))
    for call, before in (each for each in calls if has(architecture, each[0])):
        for flags in (CREATE, CREATE | WRITE, TEMPORARY | WRITE):
            assert verdict(architecture, call, *before, flags, 0o4755) == NOT_PERMITTED
            assert verdict(architecture, call, *before, flags, 0o2755) == NOT_PERMITTED
            assert verdict(architecture, call, *before, flags, 0o644) == ALLOWED
        assert verdict(architecture, call, *before, WRITE, 0o7777) == ALLOWED


@PROCESSORS
def test_only_sockets_of_the_network_can_be_created(architecture: int) -> None:
    allowed = [family for family in range(64) if verdict(architecture, "socket", family) == ALLOWED]
    assert allowed == [INET, INET6, NETLINK]
    assert verdict(architecture, "socket", VSOCK) == NO_FAMILY
    assert verdict(architecture, "socket", 2**32 + UNIX) == NO_FAMILY
    wider = [
        family
        for family in range(64)
        if verdict(architecture, "socket", family, unix_sockets=True) == ALLOWED
    ]
    assert wider == [UNIX, INET, INET6, NETLINK]


@PROCESSORS
def test_a_pair_of_sockets_cannot_send_elsewhere(architecture: int) -> None:
    for kind in (STREAM, SEQPACKET, STREAM | CLOSE_ON_EXEC):
        assert verdict(architecture, "socketpair", UNIX, kind) == ALLOWED
    for kind in (DATAGRAM, RAW, DATAGRAM | CLOSE_ON_EXEC, 2**32 + DATAGRAM):
        assert verdict(architecture, "socketpair", UNIX, kind) == NO_FAMILY
        assert verdict(architecture, "socketpair", UNIX, kind, unix_sockets=True) == ALLOWED
    assert verdict(architecture, "socketpair", INET, STREAM) == NO_FAMILY


@pytest.mark.parametrize("architecture", [I386, S390X])
def test_the_call_that_has_the_family_in_memory_makes_no_socket(architecture: int) -> None:
    refused = [kind for kind in range(21) if verdict(architecture, "socketcall", kind) != ALLOWED]
    assert refused == [1, 8]  # `socket` and `socketpair`
    assert verdict(architecture, "socketcall", 1, unix_sockets=True) == NO_FAMILY


def test_programs_of_x32_cannot_run() -> None:
    assert {verdict(X86_64, number + 2**30) for number in (0, 41, 90, 248, 425)} == {ABSENT}


def test_on_an_unknown_processor_every_call_is_refused() -> None:
    assert verdict(MIPS, 0) == ABSENT


def test_newer_processors_have_no_calls_without_a_directory() -> None:
    assert not {"open", "creat", "chmod", "mkdir", "mknod", "socketcall"} & set(NUMBERS[AARCH64])
    assert NUMBERS[ARM]["chmod"] == 15


@pytest.mark.skipif(sys.platform != "linux", reason="libseccomp is of Linux")
def test_the_numbers_are_those_of_libseccomp() -> None:
    path = ctypes.util.find_library("seccomp")
    if path is None:
        pytest.skip("libseccomp is not installed")
    resolve = ctypes.CDLL(path).seccomp_syscall_resolve_name_arch
    for architecture, numbers in NUMBERS.items():
        for name, number in numbers.items():
            found = resolve(ctypes.c_uint32(architecture), name.encode())
            # Negative: it does not know the processor or the call, or names it by its `socketcall`.
            assert found == number or found < 0, (hex(architecture), name)
