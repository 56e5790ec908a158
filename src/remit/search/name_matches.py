"""Finds the tools and servers that a query names: exactly, in another spelling, or with one typo."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import cached_property

from remit.decision.kinds import Kind
from remit.decision.tool_names import spellings, tool_prefix
from remit.decision.tools import Tool
from remit.search.documents import query_words
from remit.text.words import split

_SHORTEST = 5  # letters; shorter names are not checked for typos
_LONGEST = 80
_LONGEST_QUERY = 300  # characters; a longer query is not a name
_GENERIC_WORDS = frozenset(("mcp", "server"))  # of a server's name; they do not tell it from others
_REQUEST_WORDS = frozenset(("tool", "tools", "use", "using"))  # `playwright tools` means the server, too


class NameMatch(IntEnum):
    """How a query names a tool, most certain first."""

    EXACT = 0
    SAME_WORDS = 1  # `git commit` or `gitCommit` for `git_commit`
    ONE_LETTER = 2  # one letter added, missing or changed, or two swapped


class NameMatches:
    """The names of a set of tools, indexed for many queries."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._exact: dict[str, list[str]] = {}
        self._plain: dict[str, list[str]] = {}
        for tool in tools:
            for name in dict.fromkeys(_names(tool)):
                self._exact.setdefault(name, []).append(tool.name)
                self._plain.setdefault(normalized(name), []).append(tool.name)
        self._servers: dict[str, list[str]] = {}
        for tool in tools:
            if tool.kind is Kind.MCP_SERVER and (words := label_words(tool)):
                self._servers.setdefault("".join(words), []).append(tool.name)
        self._near: dict[tuple[int, str], list[str]] = {}
        for name in filter(_is_comparable, self._plain):
            for end in (name[0], "$" + name[-1]):
                self._near.setdefault((len(name), end), []).append(name)

    def find(self, query: str) -> dict[str, NameMatch]:
        """Return the tool names that a query contains, with the kind of match."""
        found: dict[str, NameMatch] = {}
        if len(query) > _LONGEST_QUERY:
            return found
        for form in spellings(query.strip()):
            found |= dict.fromkeys(self._exact.get(form, ()), NameMatch.EXACT)
        wanted = normalized(query)
        if not found and wanted:
            words = telling_words(query)
            asked = dict.fromkeys(("".join(words), "".join(it for it in words if it not in _REQUEST_WORDS)))
            servers = (server for label in asked for server in self._servers.get(label, ()))
            found = dict.fromkeys((*self._plain.get(wanted, ()), *servers), NameMatch.SAME_WORDS)
        if not found and _is_comparable(wanted) and len(query.split()) == 1:  # a typo has one word
            names = (name for name in self._alike(wanted) if is_one_letter_off(wanted, name))
            found = {tool: NameMatch.ONE_LETTER for name in names for tool in self._plain[name]}
            if found and wanted in self._words:  # `clear` is not a typo of `clean` if `clear_cache` exists
                return {}
        return found

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word for name in self._exact for word in split(name).lower().split())

    def _alike(self, wanted: str) -> Iterable[str]:
        """List similar names: about the same length, with the same first or last letter."""
        ends = (wanted[0], "$" + wanted[-1])
        sizes = range(len(wanted) - 1, len(wanted) + 2)
        return dict.fromkeys(
            name for size in sizes for end in ends for name in self._near.get((size, end), ())
        )


def normalized(name: str) -> str:
    """Normalize a name by removing case, punctuation and spaces."""
    return "".join(filter(str.isalnum, name)).lower()


def is_one_letter_off(one: str, other: str) -> bool:
    """Return whether two words differ by one letter added, missing or changed, or by two swapped."""
    if len(one) > len(other):
        one, other = other, one
    start = _shared(one, other)
    end = min(_shared(one[::-1], other[::-1]), len(one) - start)
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    return len(right) <= 1 or (len(left) == 2 and left == right[::-1])


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def _is_comparable(name: str) -> bool:
    return _SHORTEST <= len(name) <= _LONGEST


def telling_words(query: str) -> list[str]:
    """List the words of a query that may tell a server from others."""
    return [word for word in query_words(query) if word not in _GENERIC_WORDS]


def label_words(server: Tool) -> list[str]:
    """List the words of a server's name that tell it from others; all its words if none does."""
    words = split(server.server or "").lower().split()
    return [word for word in words if word not in _GENERIC_WORDS] or words


def own_words(tool: Tool) -> frozenset[str]:
    """Return the words of a tool's name without its server."""
    own = tool.name if tool.server is None else tool.name.removeprefix(tool_prefix(tool.server, tool.plugin))
    return frozenset(split(own).lower().split())


def _names(tool: Tool) -> list[str]:
    """List the names of a tool: in full, without its server, and a command without its slash."""
    names = [tool.name, tool.name.removeprefix("/")]
    if tool.server is not None:
        own = tool.name.removeprefix(tool_prefix(tool.server, tool.plugin))
        names += [tool.server] if tool.kind is Kind.MCP_SERVER else [own, f"{tool.server} {own}"]
    return names
