"""What keeps Remit from protecting a workspace, or a server from reaching an agent, although it is installed.

The part of Remit that still runs reports it: the gateway in its instructions, the hooks at session start. A
model reads the reason; files, lines and the fix are for the user. Definitions that changed are reported in
the same way, once to each session that starts, and to whoever asks for the status.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.client_settings import ClientSettings
from remit.decision.context import Context, shorten, shorten_with_line
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Declaration, Key, Resolved, is_served
from remit.decision.definitions.definition_changes import ChangePolicy
from remit.decision.kinds import RUNS, ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.settings_rules import MANAGED_HOOKS_ONLY, NEVER_ASKS, Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import REMIT, SERVER
from remit.decision.tools import Tool
from remit.scanning.declaration_lines import LineOf, declaration_line
from remit.text.untrusted_text import one_line
from remit.trust.held_definitions import HeldDefinition
from remit.upstream.launch.start_obstacles import started_servers

if TYPE_CHECKING:
    from remit.catalog.explanation import Explanation

ASK = "Only the user can change this"
_MOST = 10  # reasons that a model reads; a repository can declare any number of servers
_LONGEST_NAME = 100  # characters of the name of a server or a tool
_MOST_NAMED = 5  # tools whose definitions changed
_LONGEST_REASON = 300  # characters of a failure, which may quote the server

_WITHOUT_HOOKS = {  # the reason, what the user reads in its place, and the fix
    Effect.DISABLES_HOOKS: (
        "Remit's hooks are off here; of the client's own tools, only those that its `permissions.deny` names "
        "are blocked",
        "Remit's hooks are off here: `{0}` in {1}; of the client's own tools, only those that its "
        "`permissions.deny` names are blocked",
        "remove `{0}` from {1}",
    ),
    Effect.IS_UNREADABLE: (
        "Remit's hooks may be off here, because Remit cannot read all settings; of the client's own tools, "
        "only those that its `permissions.deny` names are sure to be blocked",
        "Remit's hooks may be off here: Remit cannot read {1}, but the client may; of the client's own "
        "tools, only those that its `permissions.deny` names are sure to be blocked",
        "correct {1}, or delete it; `remit doctor` says what Remit cannot read in it",
    ),
}


class NoticeKind(StrEnum):
    """What is missing."""

    HOOKS = "hooks"
    GATEWAY = "gateway"
    TRUST = "trust"
    SERVER = "server"
    DEFINITION = "definition"


class InstallNotice(NamedTuple):
    """One thing that is missing, and how the user changes it."""

    kind: NoticeKind
    source: str
    place: str  # the key in the file, or the server
    reason: str  # without files, because a model reads it
    fix: str
    scope: Scope | None = None  # of the server
    detail: str = ""  # the reason with files and lines, if it has any

    @property
    def full_reason(self) -> str:
        """The reason for the user."""
        return self.detail or self.reason

    def __str__(self) -> str:
        return f"{self.full_reason}. To change it: {self.fix}."


class InstalledClient(NamedTuple):
    """The settings and servers of a client in which Remit is installed."""

    context: Context
    resolved: Sequence[Resolved]
    rules: Sequence[SettingsRule]
    own_rules: Sequence[SettingsRule]  # written by Remit
    line_of: LineOf = lambda _path, *_keys: 0
    unable: Collection[Key] = ()  # servers that cannot start

    @property
    def has_gateway(self) -> bool:
        """Whether the client starts our gateway."""
        return any(item.is_remit for item in started_servers(self.resolved))

    @property
    def waits(self) -> bool:
        """Whether the client loads no server of its own here until its user trusts the directory."""
        own = [item for item in self.resolved if item.declaration.is_remit]
        return self.name in SWITCHED and any(item.config_status is ConfigStatus.PENDING for item in own)

    @property
    def name(self) -> str:
        """The client's name; a context may be about all of them."""
        return next((item.declaration.client for item in self.resolved), self.context.client or "")

    @property
    def is_managed(self) -> bool:
        """Whether an administrator installed Remit."""
        return any(rule.level is SettingsLevel.MANAGED for rule in self.own_rules)

    @property
    def option(self) -> str:
        """The option of `remit install` for it."""
        return " --managed" if self.is_managed else ""

    def place(self, path: str, *keys: str) -> str:
        """Write a file with the line of the member that keys lead to."""
        line = self.line_of(path, *keys)
        return self._at_line(path, line)

    def declared_at(self, declaration: Declaration) -> str:
        """Write the file and the line that declare a server."""
        return self._at_line(
            declaration.source, declaration_line(declaration, self.context, self.line_of) or 0
        )

    def _at_line(self, path: str, line: int) -> str:
        return shorten_with_line(path, line, self.context)


def disabled_hooks(client: InstalledClient) -> Iterator[InstallNotice]:
    """Find the settings that switch off the client's hooks, and with them Remit's, or may do so unseen."""
    for rule in client.rules if client.own_rules else ():
        if rule.effect in _WITHOUT_HOOKS and _disables_ours(rule, client):
            place = client.place(rule.source, rule.subject)
            reason, *parts = _WITHOUT_HOOKS[rule.effect]
            detail, fix = (part.format(rule.subject, place) for part in parts)
            yield InstallNotice(NoticeKind.HOOKS, rule.source, rule.subject, reason, fix, detail=detail)


def _disables_ours(rule: SettingsRule, client: InstalledClient) -> bool:
    """Tell whether a setting stops our hooks; an administrator's hooks stop only for the administrator."""
    is_administrators = rule.level is SettingsLevel.MANAGED and rule.subject != MANAGED_HOOKS_ONLY
    return is_administrators or not client.is_managed


NARROWED = "claude-code"  # has a list of allowed servers
SWITCHED = ("codex", "gemini-cli", "opencode")  # have a switch for each server


def directly_loaded(client: InstalledClient) -> Iterator[InstallNotice]:
    """Find servers that Remit serves and the client loads too, because its switch for them is on."""
    if client.name not in SWITCHED or not client.has_gateway:
        return
    settings = ClientSettings(
        [*client.rules, *client.own_rules],
        is_headless=client.context.flags.is_headless,
        behavior=NEVER_ASKS,
    )
    for item in started_servers(client.resolved):
        is_own = item.is_remit or item.source == REMIT
        is_ours = is_served(item) and not is_own and item.key not in client.unable
        if is_ours and settings.status(item) in RUNS:
            name = one_line(item.server or item.name, _LONGEST_NAME)
            yield InstallNotice(
                NoticeKind.SERVER,
                item.source,
                item.server or item.name,
                f"the client loads `{name}` itself, next to Remit: Remit's decisions do not apply to it "
                "there, and its tools may be listed twice",
                _fix_for_loaded(item),
                item.scope,
            )


def _fix_for_loaded(item: Declaration) -> str:
    again = f"run `remit install {item.client}`"
    if item.scope is Scope.MANAGED:
        return "ask the administrator to switch it off in the client"
    if item.scope is not Scope.PROJECT:
        return again
    if item.client == "codex":
        return f"move its entry from the project's file to your own, which has a switch for it, and {again}"
    return f"run `remit trust {shlex.quote(str(item.server))}`, then {again}"


def missing_install(explained: "Explanation", title: str) -> Iterator[InstallNotice]:
    """Say that a client without Remit does not follow Remit's own rules about a tool."""
    tool, gate = explained.tool, explained.decision.gate
    if tool is None or tool.source == REMIT or gate is None or not gate.is_ours:
        return
    if not any(result.by_client for each, result in explained.gates if each is gate):
        asks = explained.decision.is_available
        label = tool.server if tool.kind is Kind.MCP_SERVER else None
        notice = not_installed(tool.client, title, [label or tool.name], asks=asks)
        yield notice._replace(source=tool.source, scope=tool.scope)


def not_installed(client: str, title: str, names: Sequence[str], *, asks: bool) -> InstallNotice:
    """Say that a client without Remit still offers what a rule hides, or calls it without asking."""
    named = f"`{names[0]}`" if len(names) == 1 else "them"
    effect = f"which calls {named} without asking" if asks else f"which still offers {named}"
    reason, fix = f"Remit is not installed in {title}, {effect}", f"run `remit install {client}`"
    return InstallNotice(NoticeKind.GATEWAY, "", SERVER, reason, fix)


_BLOCKED = {"claude-code": ", and its hooks block every call"}


def lost_programs(
    resolved: Iterable[Resolved], absent: Mapping[Key, Sequence[str]], option: str = ""
) -> Iterator[InstallNotice]:
    """Find installed gateways whose Python is gone; the hooks of that client run with the same one."""
    for item in started_servers(resolved):
        if item.is_remit and item.launch is not None and "command" in absent.get(item.key, ()):
            again = f"remit install {item.client}{option}"
            gone = f"the Python that Remit was installed with in {item.client} is gone"
            effect = f"so the gateway does not start{_BLOCKED.get(item.client, '')}"
            yield InstallNotice(
                NoticeKind.GATEWAY,
                item.source,
                SERVER,
                f"{gone}, {effect}",
                f"run `{again}` with the Remit that you use now",
                detail=f"{gone}: {item.launch.program} does not exist, {effect}",
            )


def replaced_gateways(tools: Iterable[Tool], context: Context) -> Iterator[InstallNotice]:
    """Find agents that bring a server with the gateway's name: while one runs, the client has no gateway."""
    for tool in tools:
        if tool.kind is Kind.MCP_SERVER and tool.agent is not None and tool.server == SERVER:
            agent = one_line(tool.agent, _LONGEST_NAME)
            place = shorten(tool.source, context)
            yield InstallNotice(
                NoticeKind.GATEWAY,
                tool.source,
                SERVER,
                f"the agent `{agent}` brings a server called `{SERVER}`, which takes the gateway's place "
                "while that agent runs; Remit's hooks deny its calls",
                f"rename that server in {place}, or use another agent",
                tool.scope,
            )


def untrusted_servers(tools: Iterable[Tool]) -> Iterator[InstallNotice]:
    """Find servers that the client would start, and that Remit does not trust."""
    for tool in tools:
        is_approved = tool.config_status is ConfigStatus.ENABLED and tool.shadowed_by is None
        if tool.kind is Kind.MCP_SERVER and is_approved and tool.is_trusted is False:
            name = one_line(tool.server or tool.name, _LONGEST_NAME)
            yield InstallNotice(
                NoticeKind.TRUST,
                tool.source,
                tool.server or tool.name,
                f"this project's server `{name}` is not trusted in Remit, which does not start it"
                if tool.agent is None
                else f"the server `{name}` of the agent `{one_line(tool.agent, _LONGEST_NAME)}` is not "
                "trusted in Remit, whose hooks deny its calls",
                "give it another name: this one belongs to Remit's gateway"
                if tool.server == SERVER
                else "read what it runs with `remit trust`, then run "
                f"`remit trust {shlex.quote(str(tool.server))}`",
                tool.scope,
            )


def failing_servers(listed: Iterable[ToolDecision], obstacles: Mapping[Key, str]) -> Iterator[InstallNotice]:
    """Find servers that cannot start here, or that last failed to: their tools are missing or outdated."""
    for tool, decision in listed:
        why = obstacles.get(tool.key) or tool.failure
        if tool.kind is Kind.MCP_SERVER and decision.is_available and why is not None:
            name = one_line(tool.server or tool.name, _LONGEST_NAME)
            yield InstallNotice(
                NoticeKind.SERVER,
                tool.source,
                tool.server or tool.name,
                f"the server `{name}` cannot be used: {one_line(why, _LONGEST_REASON)}",
                f"correct that, then run `remit scan --connect {shlex.quote(str(tool.server))}`",
                tool.scope,
            )


def missing_servers(
    listed: Sequence[ToolDecision], obstacles: Mapping[Key, str], context: Context
) -> Iterator[InstallNotice]:
    """Find what keeps servers, the gateway among them, from agents."""
    tools = [item.tool for item in listed]
    yield from replaced_gateways(tools, context)
    yield from untrusted_servers(tools)
    yield from failing_servers(listed, obstacles)


def notices_section(notices: Sequence[InstallNotice]) -> str:
    """Tell a model what is missing here, without the fix; what servers lack is told with their tools."""
    reasons = [*dict.fromkeys(each.reason for each in notices if each.kind is not NoticeKind.SERVER)]
    if not reasons:
        return ""
    more = [f"and {len(reasons) - _MOST:,} more"] if len(reasons) > _MOST else []
    return f"Missing here: {'; '.join([*reasons[:_MOST], *more])}. {ASK}."


def held_notices(items: Iterable[HeldDefinition], policy: ChangePolicy) -> list[InstallNotice]:
    """Tell which definitions wait for the user, by server."""
    waiting = [item for item in items if item.is_held(policy) and not item.is_rejected]
    return [
        _notice(
            server,
            f"{_counted(group)} of `{server}` held: changed, suspicious or too large to inspect",
            group,
        )
        for server, group in _by_server(waiting)
    ]


def accepted_notices(items: Iterable[HeldDefinition], policy: ChangePolicy) -> list[InstallNotice]:
    """Tell which changed definitions were accepted without the user, by server."""
    passed = [item for item in items if not item.is_held(policy)]
    judged = [item for item in passed if item.change is not None]
    chosen = [item for item in passed if item.change is None]
    told: tuple[tuple[Sequence[HeldDefinition], Callable[[str], str]], ...] = (
        (judged, lambda server: f"of `{server}` changed and accepted (`trust.changes`)"),
        (chosen, lambda server: f"of `{server}` changed with its entry and accepted"),
    )
    return [
        _notice(server, f"{_counted(group)} {words(server)}", group)
        for items, words in told
        for server, group in _by_server(items)
    ]


def _by_server(items: Sequence[HeldDefinition]) -> Iterator[tuple[str, list[HeldDefinition]]]:
    for server in dict.fromkeys(item.server for item in items):
        yield one_line(server, _LONGEST_NAME), [item for item in items if item.server == server]


def _counted(group: Sequence[HeldDefinition]) -> str:
    count = len({item.title for item in group})  # several clients may have the same server
    return "1 definition" if count == 1 else f"{count} definitions"


def _notice(server: str, reason: str, group: Sequence[HeldDefinition]) -> InstallNotice:
    names = [*dict.fromkeys(one_line(item.title, _LONGEST_NAME) for item in group)]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    named = ", ".join(names[:_MOST_NAMED]) + more
    return InstallNotice(
        NoticeKind.DEFINITION, "", server, f"{reason} ({named})", "read the changes with `remit trust`"
    )
