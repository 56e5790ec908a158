"""Reads the bundled model files: weights in the safetensors format, memory-mapped."""

import json
import mmap
import os
from typing import NamedTuple

_DATA = os.path.join(os.path.dirname(__file__), "data")


class Tensor(NamedTuple):
    """An array in a weights file."""

    shape: tuple[int, ...]
    content: memoryview


def data_file(name: str) -> str:
    """Return the path of a bundled file."""
    return os.path.join(_DATA, name)


def vocabulary() -> list[str]:
    """Read the bundled vocabulary: BERT's entries, then the additional entries of the static table."""
    with open(data_file("vocabulary.txt"), "rb") as file:
        return file.read().decode().removesuffix("\n").split("\n")


def read_tensors(path: str) -> dict[str, Tensor]:
    """Map the arrays of a file by name; the data is loaded on access.

    Raises:
        OSError: the file does not exist.
        ValueError: the file is damaged.
    """
    with open(path, "rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    start = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(bytes(mapped[8:start]))
    content = mapped[start:]
    if any(
        entry["data_offsets"][1] > len(content) for name, entry in header.items() if name != "__metadata__"
    ):
        raise ValueError("the file is cut off")
    return {
        name: Tensor(tuple(entry["shape"]), content[slice(*entry["data_offsets"])])
        for name, entry in header.items()
        if name != "__metadata__"
    }
