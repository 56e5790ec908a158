"""Writes private files atomically."""

import os
import secrets
from contextlib import suppress


def write(path: str, text: str) -> None:
    """Replace a file atomically, readable by its user only.

    Raises:
        OSError: the file cannot be written.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    beside = f"{path}.{secrets.token_hex(4)}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
