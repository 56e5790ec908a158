"""Reads git's index to tell whether a file is tracked; git itself would run repository configuration."""

import os
import struct

from remit.files.bounded_reader import FileError, read_bytes
from remit.files.checkout import checkout_of, git_directory

_LIMIT = 256 * 2**20
_FIXED = 40  # bytes of an entry before its object name: times, device, inode, mode, owner, size
_EXTENDED = 0x4000
_LENGTH = 0xFFF  # the bits of the flags that hold the name's length


def index_path(path: str) -> str | None:
    """Return the index of the checkout that contains a file, or a `.git` without one; None outside of any."""
    checkout = checkout_of(os.path.dirname(path))
    if checkout is None:
        return None
    folder = git_directory(checkout)
    return os.path.join(checkout, ".git") if folder is None else os.path.join(folder, "index")


def is_tracked(path: str) -> bool:
    """Tell whether a file is in the index of its checkout; if `.git` leads elsewhere, it may be in any."""
    checkout = checkout_of(os.path.dirname(path))
    if checkout is None:
        return False
    name = os.path.relpath(path, checkout).replace(os.sep, "/").encode()
    folder = git_directory(checkout)
    if folder is None:
        return True
    try:
        data = read_bytes(os.path.join(folder, "index"), limit=_LIMIT, within=[folder]) or b""
        return any(name in _names(data, object_size) for object_size in (20, 32))
    except FileError:
        return False


def _names(data: bytes, object_size: int) -> set[bytes]:
    """List the files of an index with object names of this size; empty for another size."""
    names: set[bytes] = set()
    try:
        signature, version, count = struct.unpack_from(">4sII", data)
        if signature != b"DIRC" or version not in (2, 3, 4):
            return set()
        at, name = 12, b""
        for _ in range(count):
            name, at = _entry(data, at, version, object_size, name)
            names.add(name)
    except (struct.error, ValueError, IndexError):
        return set()
    return names


def _entry(data: bytes, start: int, version: int, object_size: int, before: bytes) -> tuple[bytes, int]:
    """Read one entry: its name, and the offset of the next one."""
    flags_at = start + _FIXED + object_size
    (flags,) = struct.unpack_from(">H", data, flags_at)
    at, kept = flags_at + (4 if flags & _EXTENDED else 2), b""
    if version == 4:  # names are prefix-compressed
        cut, at = _number(data, at)
        kept = before[: len(before) - cut]
    end = data.index(b"\0", at)
    name = kept + data[at:end]
    if min(len(name), _LENGTH) != flags & _LENGTH:
        raise ValueError("object names have another size")
    return name, end + 1 if version == 4 else start + (end - start + 8) // 8 * 8


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
