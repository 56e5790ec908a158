"""Gemini CLI's rules about tools: lists per server, lists of all tools, and policy files."""

import os
from collections.abc import Iterator, Sequence

from remit.clients.parsing.client_reader import ClientReader
from remit.clients.parsing.entry_fields import EntryFields
from remit.clients.parsing.permission_rules import RuleWriter
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.files.formats import parse_toml

_PREFIX = "mcp_"  # of a server's tool: `mcp_<server>_<tool>`
_LISTS = {"exclude": Effect.DENIES_TOOL, "allowed": Effect.ALLOWS_TOOL}
_DECISIONS = {
    "deny": Effect.DENIES_TOOL,
    "ask_user": Effect.ASKS_ABOUT_TOOL,
    "allow": Effect.ALLOWS_TOOL,
}
_CONDITIONS = ("argsPattern", "commandPrefix", "commandRegex", "modes", "toolAnnotations", "interactive")


def server_lists(name: str, entry: EntryFields, source: str, level: SettingsLevel) -> list[SettingsRule]:
    """Read the tools that a server's entry includes and excludes, and whether it is trusted.

    Raises:
        EntryError: a field has a wrong type.
    """
    lists = RuleWriter(source, f"mcpServers.{name}", level)
    rules = lists.tools(Effect.DENIES_TOOL, name, entry.texts("excludeTools"))
    if "includeTools" in entry:
        rules += lists.only(name, (tool.partition("(")[0] for tool in entry.texts("includeTools")))
    if entry.flag("trust"):
        rules.append(lists.whole(Effect.ALLOWS_TOOL, name))
    return rules


def read_tool_lists(
    reader: ClientReader, content: EntryFields, source: str, level: SettingsLevel, servers: Sequence[str]
) -> None:
    """Read `tools.exclude` and `tools.allowed` of one settings file."""
    with reader.part(source, "tools") as parsed:
        tools = content.fields("tools")
        for name, effect in _LISTS.items():
            lists = RuleWriter(source, f"tools.{name}", level)
            for pattern in tools.texts(name):
                parsed.rules += lists.joined(effect, pattern, servers, _PREFIX)


def read_policies(reader: ClientReader, folder: str, servers: Sequence[str]) -> None:
    """Read the policy files of a folder; for each subject, the rule of the highest priority counts."""
    found: dict[tuple[str, str], tuple[float, str, Effect]] = {}
    for name in reader.names_in(folder):
        if name.endswith(".toml"):
            path = os.path.join(folder, name)
            with reader.part(path, "rule"):
                for subject, priority, effect in _policy_rules(reader.fields(path, parse_toml)):
                    if subject not in found or priority > found[subject][0]:
                        found[subject] = priority, path, effect
    for (server, tool), (_, path, effect) in found.items():
        lists = RuleWriter(path, "rule")
        with reader.part(path) as parsed:
            if not server:
                parsed.rules += lists.joined(effect, tool, servers, _PREFIX)
            elif tool in ("", "*"):
                parsed.rules.append(lists.whole(effect, server))
            else:
                parsed.rules += lists.tools(effect, server, [tool])


def _policy_rules(content: EntryFields) -> Iterator[tuple[tuple[str, str], float, Effect]]:
    """Yield server, tool, priority and effect of the rules that do not depend on arguments or modes."""
    for item in content.items_of("rule"):
        rule = EntryFields(item)
        effect = _DECISIONS.get(rule.text("decision"))
        if effect is None or any(name in rule for name in _CONDITIONS):
            continue
        priority = dict(rule.items()).get("priority")
        server = rule.text("mcpName") if "mcpName" in rule else ""
        for tool in rule.text_or_texts("toolName") or [""]:
            if server or tool:
                yield (server, tool), priority if isinstance(priority, int | float) else 0.0, effect
