"""The numbers of the system calls that a sandbox filters, by processor.

A 64-bit processor may also run the programs of its 32-bit predecessor, with that one's numbers.
"""

from typing import Final

X86_64: Final = 0xC000003E  # `AUDIT_ARCH_X86_64`
X32: Final = 0x40000000  # a bit that x86_64 adds to the numbers of its third kind of programs
LITTLE_ENDIAN: Final = 0x40000000  # a bit of `AUDIT_ARCH_*`

# A dash: the processor does not have the call.
_TABLE: str = """
                  x86_64 i386 arm ppc64le s390x generic
open                   2    5   5       5     5       -
creat                 85    8   8       8     8       -
mkdir                 83   39  39      39    39       -
mknod                133   14  14      14    14       -
chmod                 90   15  15      15    15       -
fchmod                91   94  94      94    94      52
openat               257  295 322     286   288      56
mkdirat              258  296 323     287   289      34
mknodat              259  297 324     288   290      33
fchmodat             268  306 333     297   299      53
socket                41  359 281     326   359     198
socketpair            53  360 288     333   360     199
socketcall             -  102   -     102   102       -
add_key              248  286 309     269   278     217
request_key          249  287 310     270   279     218
keyctl               250  288 311     271   280     219
io_uring_setup       425  425 425     425   425     425
io_uring_enter       426  426 426     426   426     426
io_uring_register    427  427 427     427   427     427
openat2              437  437 437     437   437     437
fchmodat2            452  452 452     452   452     452
"""
_PROCESSORS = {  # by `AUDIT_ARCH_*`
    X86_64: "x86_64",
    0x40000003: "i386",
    0xC00000B7: "generic",  # aarch64
    0x40000028: "arm",
    0xC00000F3: "generic",  # riscv64
    0xC0000102: "generic",  # loongarch64
    0xC0000015: "ppc64le",
    0x80000016: "s390x",
}


def _column(processor: str) -> dict[str, int]:
    header, *rows = (line.split() for line in _TABLE.strip().splitlines())
    at = header.index(processor) + 1
    return {row[0]: int(row[at]) for row in rows if row[at] != "-"}


NUMBERS: Final = {architecture: _column(processor) for architecture, processor in _PROCESSORS.items()}
