"""Limits numpy to one thread: with matrices as small as a sentence's, several only wait for each other."""

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

_LIBRARIES = ("../numpy.libs/*openblas*", ".dylibs/*openblas*")  # where numpy's packages carry theirs
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")


@contextmanager
def one_thread() -> Generator[None]:
    """Let numpy's own OpenBLAS use one thread for a while; another library stays as it is."""
    library, name = openblas(str(Path(np.__file__).parent))
    if library is None:
        yield
        return
    before = getattr(library, name.format("get"))()
    getattr(library, name.format("set"))(1)
    try:
        yield
    finally:
        getattr(library, name.format("set"))(before)


@lru_cache(maxsize=4)
def openblas(folder: str) -> tuple[ctypes.CDLL | None, str]:
    """Find the OpenBLAS beside a numpy, and how its functions are called; nothing if there is none."""
    paths = [path for pattern in _LIBRARIES for path in sorted(Path(folder).glob(pattern))]
    for library in map(_opened, paths):
        for name in _NAMES:
            if library is not None and hasattr(library, name.format("set")):
                return library, name
    return None, ""


def _opened(path: Path) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        return None
