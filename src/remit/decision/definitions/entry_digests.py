"""Digests of entries, with one for each file that steers their runner, so a change can be named."""

import re
from collections.abc import Mapping

_NEXT_FILE = "|"  # before each file; a quoted path does not contain it


def with_files(entry: str, files: Mapping[str, str]) -> str:
    """Add the digests of files, by path, to the digest of an entry."""
    return entry + "".join(f"{_NEXT_FILE}{_quoted(path)}={files[path]}" for path in sorted(files))


def entry_change(before: str | None, now: str | None) -> str | None:
    """Name the files whose change makes two digests differ; None if the entry itself differs."""
    (entry, *old), (same, *new) = ((each or "").split(_NEXT_FILE) for each in (before, now))
    if entry != same or before == now:
        return None
    was, is_now = (dict(part.split("=", 1) for part in parts if "=" in part) for parts in (old, new))
    words = {(False, True): "was added", (True, False): "was removed", (True, True): "changed"}
    changed = [path for path in sorted({*was, *is_now}) if was.get(path) != is_now.get(path)]
    return ", ".join(f"`{path}` {words[path in was, path in is_now]}" for path in changed)


def untrusted_reason(trusted: str | None, now: str | None) -> str:
    """Say that an entry is not trusted and, if only files changed since it was, which."""
    change = entry_change(trusted, now)
    return f"not trusted since {change}" if change else "not trusted"


def _quoted(path: str) -> str:
    """Write a path so that no name of a directory looks like another file and its digest."""
    return re.sub(r"[^A-Za-z0-9_./@+-]", lambda sign: f"%{ord(sign[0]):x};", path)
