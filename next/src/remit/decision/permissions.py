"""A client's own permission rules: which tools it denies, asks about and allows without asking.

The grammar was observed in Claude Code. A rule names a tool, a server (`mcp__git`), or with `*` all tools
that match. A rule with a specifier (`Bash(git push:*)`) is about arguments, not about the whole tool. Rules
that deny or ask match generously: `mcp__git` also covers a server called `git__x`. Rules that allow match
strictly: a pattern must name the whole server, and `mcp__git__*` covers only tools of the server `git`.

The gateway's names (`mcp__remit__git__status`) stand for the tools behind it.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from remit.decision.globs import Glob, glob
from remit.decision.names import GATEWAY_TOOLS, MCP, served_name, server_name
from remit.decision.scopes import Kind
from remit.decision.tools import Origin, Tool


class PermissionEffect(StrEnum):
    """The effect of a permission rule on a tool."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"
    LISTS = "lists"  # a tool in its server's own allow list
    RESTRICTS = "restricts"  # a server with such a list, whose other tools are denied
    ORDERS = "orders"  # the last rule that matches a tool decides, instead of denying before asking


_DECIDING = (PermissionEffect.DENY, PermissionEffect.ASK, PermissionEffect.ALLOW)


class PermissionRule(NamedTuple):
    """One permission rule, as written, and its place."""

    effect: PermissionEffect
    text: str
    origin: Origin


class Subject(NamedTuple):
    """What a rule is about: a tool, all tools of a server, or all that match a pattern."""

    name: str
    pattern: Glob | None = None  # None: the name itself, or a server's
    is_limited: bool = False  # only some arguments


def parse_subject(text: str) -> Subject | None:
    """Parse a rule; None if the client ignores it."""
    name, bracket, rest = text.partition("(")
    if not name or (bracket and (not rest.endswith(")") or rest == ")" or name.startswith(MCP))):
        return None
    is_limited = bool(bracket) and rest != "*)"
    return Subject(name, glob(name) if "*" in name else None, is_limited)


class _Placed(NamedTuple):
    """A rule, and its place in the order."""

    at: int
    rule: PermissionRule


class ClientPermissions:
    """The permission rules of one client in one workspace, indexed by what they name."""

    def __init__(self, rules: Iterable[PermissionRule] = ()) -> None:
        self.rules = tuple(rules)
        self._is_ordered = any(rule.effect is PermissionEffect.ORDERS for rule in self.rules)
        self._named: dict[tuple[PermissionEffect, str], _Placed] = {}
        self._patterns: dict[PermissionEffect, list[tuple[Glob, _Placed]]] = {}
        self._limited: dict[str, list[PermissionRule]] = {}
        self._found: dict[tuple[PermissionEffect, str, str, Kind], PermissionRule | None] = {}
        for at, rule in enumerate(self.rules):
            for text in _meanings(rule.text):
                self._index(_Placed(at, rule), text)

    def denying(self, tool: Tool) -> PermissionRule | None:
        """Find the rule that denies a tool as a whole; for a server, all of its tools."""
        return self._find(PermissionEffect.DENY, tool) or self._excluding(tool)

    def asking(self, tool: Tool) -> PermissionRule | None:
        """Find the rule by which the client asks about every call."""
        return self._find(PermissionEffect.ASK, tool)

    def allowing(self, tool: Tool) -> PermissionRule | None:
        """Find the rule by which the client does not ask about a tool."""
        return self._find(PermissionEffect.ALLOW, tool)

    def limiting(self, tool: Tool) -> Sequence[PermissionRule]:
        """List the rules about a tool's arguments, which the client applies itself."""
        return self._limited.get(tool.name, ())

    def _index(self, placed: _Placed, text: str) -> None:
        subject, (_, rule) = parse_subject(text), placed
        if subject is None:
            return
        if subject.is_limited:
            self._limited.setdefault(subject.name, []).append(rule)
        elif subject.pattern is not None:
            self._patterns.setdefault(rule.effect, []).append((subject.pattern, placed))
        elif self._is_ordered:
            self._named[rule.effect, subject.name] = placed
        else:
            self._named.setdefault((rule.effect, subject.name), placed)

    def _find(self, effect: PermissionEffect, tool: Tool) -> PermissionRule | None:
        server = _server(tool)
        key = (effect, tool.name, server, tool.kind)
        if key not in self._found:
            self._found[key] = self._decisive(effect, tool, server)
        return self._found[key]

    def _decisive(self, effect: PermissionEffect, tool: Tool, server: str) -> PermissionRule | None:
        """Find the first rule of an effect; where the order counts, the last rule, if it has this effect."""
        if not self._is_ordered or effect not in _DECIDING:
            return next((rule for _, rule in self._matching(effect, tool, server)), None)
        every = (placed for deciding in _DECIDING for placed in self._matching(deciding, tool, server))
        last = max(every, key=lambda placed: placed.at, default=None)
        return last.rule if last is not None and last.rule.effect is effect else None

    def _matching(self, effect: PermissionEffect, tool: Tool, server: str) -> Iterator[_Placed]:
        is_strict = effect is PermissionEffect.ALLOW and not self._is_ordered
        for name in (tool.name, *_server_rules(tool.name, server, is_strict=is_strict)):
            if placed := self._named.get((effect, name)):
                yield placed
        for pattern, placed in self._patterns.get(effect, ()):
            is_anchored = not is_strict or (bool(server) and pattern.parts[0].startswith(f"{server}__"))
            if is_anchored and pattern.matches(tool.name):
                yield placed

    def _excluding(self, tool: Tool) -> PermissionRule | None:
        if tool.kind is not Kind.MCP_TOOL or self._find(PermissionEffect.LISTS, tool) is not None:
            return None
        placed = self._named.get((PermissionEffect.RESTRICTS, _server(tool)))
        return None if placed is None else placed.rule


NO_PERMISSIONS = ClientPermissions()


def _meanings(text: str) -> Iterator[str]:
    """Yield a rule, and the rule about the tools behind the gateway that it stands for."""
    yield text
    served = served_name(text) or ""
    server, _, tool = served.partition("__")
    if server and tool and served not in GATEWAY_TOOLS:
        yield MCP + served


def _server(tool: Tool) -> str:
    """Return the name by which a rule covers a tool's whole server; empty without a server."""
    return "" if tool.server is None else server_name(tool.server, tool.plugin)[:-3]


def _server_rules(name: str, server: str, *, is_strict: bool) -> Iterator[str]:
    """Yield the names of servers that cover a tool."""
    if not server:
        return
    first = MCP + name.removeprefix(MCP).partition("__")[0]
    if not is_strict:
        yield server
        yield first
    elif server == first:
        yield server
