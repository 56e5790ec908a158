import errno
import struct

import pytest

from remit.upstream.launch.system_calls import system_call_filter

X86_64, I386, AARCH64, ARM, MIPS = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028, 0x00000008
ALLOWED, REFUSED = 0x7FFF0000, 0x00050000 | errno.ENOSYS


def verdict(architecture: int, number: int) -> int:
    """Run the filter on a system call, as the kernel does."""
    program = list(struct.iter_unpack("=HBBI", system_call_filter()))
    at, value = 0, 0
    while True:
        code, then, otherwise, operand = program[at]
        at += 1
        match code:
            case 0x20:
                value = {0: number, 4: architecture}[operand]
            case 0x54:
                value &= operand
            case 0x14:
                value = (value - operand) % 2**32
            case 0x15:
                at += then if value == operand else otherwise
            case 0x25:
                at += then if value > operand else otherwise
            case _:
                assert code == 0x06
                return operand


@pytest.mark.parametrize(
    ("architecture", "first"), [(X86_64, 248), (X86_64, 248 + 2**30), (I386, 286), (AARCH64, 217), (ARM, 309)]
)
def test_only_the_calls_of_keyrings_are_refused(architecture: int, first: int) -> None:
    found = [verdict(architecture, number) for number in range(first - 1, first + 4)]
    assert found == [ALLOWED, REFUSED, REFUSED, REFUSED, ALLOWED]
    assert verdict(architecture, 0) == ALLOWED
    assert verdict(architecture, 500) == ALLOWED


def test_on_an_unknown_processor_every_call_is_refused() -> None:
    assert verdict(MIPS, 0) == REFUSED
