"""Name patterns in which `*` matches any number of characters.

Matching never backtracks: it takes at most the length of the pattern times that of the name.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from remit.decision.names import MCP, normalise, served_name

_MARK = "*"
_GRAM = 3  # characters of a pattern that are looked up

Item = TypeVar("Item")


class Glob(NamedTuple):
    """A pattern as the parts around each `*`; a single part matches literally."""

    parts: tuple[str, ...]

    def matches(self, name: str) -> bool:
        """Return whether the whole name matches."""
        first, *others = self.parts
        if not others:
            return name == first
        *middle, last = others
        end = len(name) - len(last)
        if len(first) > end or not name.startswith(first) or not name.endswith(last):
            return False
        at = len(first)
        for part in middle:
            start = name.find(part, at, end)
            if start < 0:
                return False
            at = start + len(part)
        return True

    def may_match(self, prefix: str) -> bool:
        """Return whether any name with this prefix could match."""
        first = self.parts[0]
        return first.startswith(prefix) or (not self.is_name and prefix.startswith(first))

    @property
    def is_name(self) -> bool:
        """Whether it matches exactly one name."""
        return len(self.parts) == 1


class GlobIndex(Generic[Item]):
    """Finds the items whose patterns match a name, without trying all patterns on all names.

    A pattern is tried only on names that contain the start of its longest part.
    """

    def __init__(self, items: Iterable[tuple[Sequence[Glob], Item]]) -> None:
        self._items = tuple(items)
        self._by_gram: dict[str, list[int]] = {}
        for at, (globs, _) in enumerate(self._items):
            for form in globs:
                self._by_gram.setdefault(max(form.parts, key=len)[:_GRAM], []).append(at)
        self._lengths = sorted(set(map(len, self._by_gram)))

    def matching(self, name: str) -> list[Item]:
        """List the items with a pattern that matches, in their order."""
        tried: set[int] = set()
        for length in self._lengths:
            for gram in {name[at : at + length] for at in range(len(name) - length + 1)}:
                tried.update(self._by_gram.get(gram, ()))
        candidates = (self._items[at] for at in sorted(tried))
        return [item for globs, item in candidates if any(form.matches(name) for form in globs)]


def glob(text: str) -> Glob:
    """Parse a pattern."""
    return Glob(tuple(text.split(_MARK)))


@lru_cache(maxsize=16_384)
def tool_globs(text: str) -> tuple[Glob, ...]:
    """Parse a pattern of tool names, in a client's or the gateway's form, into canonical patterns.

    A name with `__` may be one that the gateway serves; a name without `mcp__` may be a built-in, a command,
    or a Python tool.
    """
    own = served_name(text)
    if own is not None and own != _MARK:
        forms = [text, MCP + own]
    elif text.startswith(MCP) or "__" not in text:
        forms = [text]
    else:
        forms = [text, MCP + text]
    return tuple(dict.fromkeys(glob(_canonical(form)) for form in forms))


def _canonical(pattern: str) -> str:
    if not pattern.startswith(MCP):
        return pattern
    whole = _MARK.join(map(normalise, pattern.split(_MARK)))
    is_server = "__" not in whole.removeprefix(MCP) and not whole.endswith(_MARK)
    return f"{whole}__*" if is_server else whole
