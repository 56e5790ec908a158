"""Sends vectors to pgvector and reads them; in Remit, bytes are vectors of little-endian 32-bit floats.

Sums and averages become numbers of Python.
"""

import struct
import sys
from array import array
from typing import Any

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

_TYPE = "vector"
_HEAD = struct.Struct("!HH")  # number of dimensions, and a number that is always 0


def register(connection: "psycopg.Connection[Any]") -> None:
    """Let a connection send bytes as vectors, and read vectors as bytes and sums as numbers."""
    connection.adapters.register_loader("numeric", _NumberLoader)
    found = TypeInfo.fetch(connection, _TYPE)
    assert found is not None  # noqa: S101 - the schema needs the type
    found.register(connection)
    dumper = type("PgvectorDumper", (_VectorDumper,), {"oid": found.oid})
    connection.adapters.register_dumper(bytes, dumper)
    connection.adapters.register_loader(found.oid, _VectorLoader)
    connection.adapters.register_loader("bytea", _SentVectorLoader)


class _VectorDumper(Dumper):
    """Writes a vector in the binary format of pgvector."""

    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        size = len(obj) // 4
        return _HEAD.pack(size, 0) + struct.pack(f"!{size}f", *struct.unpack(f"<{size}f", obj))


class _VectorLoader(Loader):
    """Reads a vector from its text."""

    def load(self, data: Buffer) -> bytes:
        numbers = bytes(data)[1:-1].split(b",")
        return struct.pack(f"<{len(numbers)}f", *map(float, numbers))


class _SentVectorLoader(Loader):
    """Reads a vector from what `vector_send` returns, which is many times faster than text."""

    def load(self, data: Buffer) -> bytes:
        numbers = array("f", bytes.fromhex(bytes(data)[2:].decode())[_HEAD.size :])
        if sys.byteorder == "little":
            numbers.byteswap()
        return numbers.tobytes()


class _NumberLoader(Loader):
    """Reads sums as integers and averages as floating-point numbers."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text else int(text)
