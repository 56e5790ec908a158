"""Path patterns, matched segment by segment, with `*`, `**` and `:param`.

Matching never backtracks: it takes at most the length of the path times that of the pattern.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from remit.decision.globs import Glob
from remit.errors import ConditionError

MAX_PATTERN = 512
MAX_PATH = 2048
_HEX = frozenset(b"0123456789abcdefABCDEF")
_ANY = ("", "")  # the parts around a single `*`

Segment: TypeAlias = tuple[str, ...]  # the parts around each `*`; a single part matches literally


class PathPattern(NamedTuple):
    """A parsed pattern: runs of segments, with any number of segments between runs."""

    text: str
    runs: tuple[tuple[Segment, ...], ...]


class PathError(ValueError):
    """The text to match is not a plain path."""


def path_pattern(text: str) -> PathPattern:
    """Parse a path pattern.

    Raises:
        ConditionError: the pattern is empty, too long, or has segments that cannot occur in a path.
    """
    parts = _segments(_bounded(text))
    for at, part in enumerate(parts):
        _check(part, at == 0, text)
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
            runs[-1].append(_ANY if _is_parameter(part) else tuple(part.split("*")))
    return PathPattern(text, tuple(map(tuple, runs)))


def _is_parameter(part: str) -> bool:
    """Return whether a segment is `:name` or `[name]`."""
    name = part[1:] if part[:1] == ":" else part[1:-1] if (part[:1], part[-1:]) == ("[", "]") else ""
    return name.isascii() and name.isidentifier()


def _check(part: str, is_first: bool, text: str) -> None:
    if not part and not is_first:
        flaw, hint = "an empty segment", "write a single `/`"
    elif part in (".", ".."):
        flaw, hint = f"the segment `{part}`, which paths never contain", None
    elif "**" in part and part != "**":
        flaw, hint = "`**` inside a segment", "write `*` there"
    elif any(sign in part for sign in "?#%"):
        flaw = "`?`, `#` or `%`, which paths never contain"
        hint = "write the path alone, as it reads without escapes"
    elif (part[:1] == ":" or "[" in part) and not _is_parameter(part):
        flaw, hint = "a parameter that is not a whole segment", "write `:name` between two slashes, or `*`"
    else:
        return
    raise ConditionError(f"the pattern `{text}` has {flaw}", hint=hint)


def _segments(path: str) -> list[str]:
    """Split at slashes; an absolute path has an empty first segment, and a trailing slash is ignored."""
    parts = path.split("/")
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


@lru_cache(maxsize=256)
def _plain_segments(path: str) -> tuple[str, ...]:
    """Split a path into segments, without query and fragment, decoding each once."""
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
    start, *escaped = part.encode(errors="surrogatepass").split(b"%")
    for rest in escaped:
        if len(rest) < 2 or not _HEX.issuperset(rest[:2]):
            raise PathError("has a `%` that is not part of an escape")
        start += bytes.fromhex(rest[:2].decode()) + rest[2:]
    try:
        return start.decode()
    except UnicodeDecodeError:
        raise PathError("has escapes that are not text") from None


def matches(pattern: PathPattern, path: str) -> bool:
    """Return whether a path matches a pattern.

    Raises:
        PathError: the text is not a plain path.
    """
    return _matches(pattern.runs, _plain_segments(path))


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
        starts = range(at, end - len(run) + 1)
        start = next((to for to in starts if _run_fits(run, names[to : to + len(run)])), None)
        if start is None:
            return False
        at = start + len(run)
    return True


def _run_fits(run: Sequence[Segment], names: Sequence[str]) -> bool:
    return all(map(_fits, run, names))


def _fits(segment: Segment, name: str) -> bool:
    pattern = Glob(segment)
    return pattern.matches(name) and (pattern.is_name or bool(name))
