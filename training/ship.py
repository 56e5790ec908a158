"""Writes a table as the package holds it: `ship.py STATIC PACKAGE`, with numpy alone.

The package's file is in the safetensors format: it can be mapped, and read without numpy.
"""

import argparse
import json
from pathlib import Path

import numpy as np

NAME_WEIGHT = 0.4  # of the name's own vector, for a table that does not say it
KINDS = {"int8": "I8", "float16": "F16", "float32": "F32"}


def shipped(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a table, those of four bytes a number first."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["name"] = np.float32(arrays.get("name", NAME_WEIGHT)).reshape(1)
    return {name: arrays[name] for name in ("fields", "name", "query_scales", "tool_scales", "rows")}


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays one after the other, behind a header that names them."""
    header, end = {}, 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": KINDS[str(array.dtype)], "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("static", type=Path, help="the table that train.py wrote")
    parser.add_argument("package", type=Path, help="src/remit/search/embeddings/data/static.safetensors")
    given = parser.parse_args()
    write(given.package, shipped(given.static))
    print(f"{given.package.name} {given.package.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
