"""Permission rules of clients that write them per server, or by names that join server and tool."""

from collections.abc import Iterable, Iterator, Sequence

from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import normalise, server_name, storable, tool_name


class RuleWriter:
    """Makes the rules of one place in a file."""

    def __init__(self, source: str, key: str, level: SettingsLevel = SettingsLevel.USER) -> None:
        self._source = source
        self._key = key
        self._level = level

    def rule(self, effect: Effect, subject: str) -> SettingsRule:
        """Make one rule."""
        return SettingsRule(
            source=self._source, level=self._level, effect=effect, subject=storable(subject), key=self._key
        )

    def tools(self, effect: Effect, server: str, tools: Iterable[str]) -> list[SettingsRule]:
        """Make rules about a server's tools, by their own names."""
        return [self.rule(effect, tool_name(server, tool)) for tool in tools]

    def whole(self, effect: Effect, server: str) -> SettingsRule:
        """Make a rule about all tools of a server."""
        return self.rule(effect, server_name(server)[:-3])

    def only(self, server: str, tools: Iterable[str]) -> list[SettingsRule]:
        """Make the rules of a list outside of which a server has no tools."""
        listed = self.tools(Effect.LISTS_TOOL, server, tools)
        return [self.whole(Effect.LISTS_TOOLS_OF, server), *listed]

    def joined(self, effect: Effect, pattern: str, servers: Sequence[str], prefix: str) -> list[SettingsRule]:
        """Make rules from a pattern of joined names, such as `git_status` or `mcp_git_status`."""
        found = [
            self.rule(effect, subject)
            for server in servers
            for subject in _subjects(pattern, f"{prefix}{normalise(server)}_", server)
        ]
        return found or [self.rule(effect, pattern)]


def _subjects(pattern: str, start: str, server: str) -> Iterator[str]:
    """Yield the canonical form of a pattern for the tools of one server, if it can match any."""
    whole = server_name(server)[:-3]
    head, star, tail = pattern.partition("*")
    if head.startswith(start):
        yield f"{whole}__{normalise(head.removeprefix(start))}{star}{tail}"
    elif star and start.startswith(head):
        yield f"{whole}__*{tail}" if tail.strip("*") else whole
