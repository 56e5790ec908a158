"""Path patterns, matched segment by segment, with `*`, `**` and `:param`.

Matching never backtracks: it takes at most the length of the path times that of the pattern.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from remit.decision.globs import Glob
from remit.errors import ConditionError

MAX_PATTERN = 512
MAX_PATH = 2048
_ANY = ("", "")  # the parts around a single `*`
_PARAM = re.compile(r":[A-Za-z_][A-Za-z0-9_]*|\[[A-Za-z_][A-Za-z0-9_]*\]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

Segment = tuple[str, ...]  # the parts around each `*`; a single part matches literally


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A parsed pattern: runs of segments, with any number of segments between runs."""

    text: str
    runs: tuple[tuple[Segment, ...], ...] = field(repr=False, compare=False)


class PathError(ValueError):
    """The text to match is not a plain path."""


def path_pattern(text: str) -> PathPattern:
    """Parse a path pattern.

    Raises:
        ConditionError: the pattern is empty, too long, or has segments that cannot occur in a path.
    """
    parts = _split(_bounded(text))
    for part in parts:
        _check(part, text)
    return _pattern(text, parts)


def name_pattern(text: str) -> PathPattern:
    """Parse a pattern of names, such as component names, which may contain any character.

    Raises:
        ConditionError: the pattern is empty or too long.
    """
    return _pattern(text, _bounded(text).split("/"))


def _bounded(text: str) -> str:
    if not text:
        raise ConditionError("the pattern is empty", hint="write `/` for the first page, `**` for all")
    if len(text) > MAX_PATTERN:
        raise ConditionError(f"the pattern is longer than {MAX_PATTERN} characters", hint="use `*` or `**`")
    return text


def _pattern(text: str, parts: Sequence[str]) -> PathPattern:
    runs: list[list[Segment]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_ANY if _PARAM.fullmatch(part) else tuple(part.split("*")))
    return PathPattern(text, tuple(map(tuple, runs)))


def _check(part: str, text: str) -> None:
    if part in (".", ".."):
        raise ConditionError(f"the pattern `{text}` has the segment `{part}`, which paths never contain")
    if "**" in part and part != "**":
        raise ConditionError(f"the pattern `{text}` has `**` inside a segment", hint="write `*` there")
    if any(sign in part for sign in "?#%"):
        raise ConditionError(
            f"the pattern `{text}` has `?`, `#` or `%`, which paths never contain",
            hint="write the path alone, as it reads without escapes",
        )
    if (part[:1] == ":" or "[" in part) and not _PARAM.fullmatch(part):
        raise ConditionError(
            f"the pattern `{text}` has a parameter that is not a whole segment",
            hint="write `:name` between two slashes, or `*`",
        )


def _split(text: str) -> list[str]:
    """Split at slashes; an absolute path has an empty first segment, and a trailing slash is ignored."""
    parts = _segments(text)
    if "" in parts[1:]:
        raise ConditionError(f"the pattern `{text}` has an empty segment", hint="write a single `/`")
    return parts


def _segments(path: str) -> list[str]:
    parts = path.split("/")
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


@lru_cache(maxsize=256)
def segments(path: str) -> tuple[str, ...]:
    """Split a path into segments, without query and fragment, decoding each once.

    Raises:
        PathError: the path is empty, too long, not normalized, or has invalid escapes.
    """
    if len(path) > MAX_PATH:
        raise PathError(f"is longer than {MAX_PATH} characters")
    plain = path.partition("#")[0].partition("?")[0]
    decoded = tuple(map(_decoded, _segments(plain)))
    if not plain or "" in decoded[1:] or "." in decoded or ".." in decoded:
        raise PathError("is not a plain path")
    return decoded


def _decoded(part: str) -> str:
    if "%" not in part:
        return part
    if _BAD_ESCAPE.search(part):
        raise PathError("has a `%` that is not part of an escape")
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise PathError("has escapes that are not text") from None


def matches(pattern: PathPattern, path: str) -> bool:
    """Return whether a path matches a pattern.

    Raises:
        PathError: the text is not a plain path.
    """
    return _matches(pattern.runs, segments(path))


def matches_name(pattern: PathPattern, name: str) -> bool:
    """Return whether a name matches a pattern; overlong names match nothing."""
    return len(name) <= MAX_PATH and _matches(pattern.runs, tuple(name.split("/")))


def _matches(runs: tuple[tuple[Segment, ...], ...], names: tuple[str, ...]) -> bool:
    first, *more = runs
    if not more:
        return len(names) == len(first) and _run_fits(first, names)
    last = more.pop()
    end = len(names) - len(last)
    if len(first) > end or not _run_fits(first, names) or not _run_fits(last, names[end:]):
        return False
    at = len(first)
    for run in more:  # the leftmost match leaves the most text for the rest
        places = range(at, end - len(run) + 1)
        found = next((to for to in places if _run_fits(run, names[to : to + len(run)])), None)
        if found is None:
            return False
        at = found + len(run)
    return True


def _run_fits(run: Sequence[Segment], names: Sequence[str]) -> bool:
    return all(map(_fits, run, names))


def _fits(segment: Segment, name: str) -> bool:
    pattern = Glob(segment)
    return pattern.matches(name) and (pattern.is_name or bool(name))
