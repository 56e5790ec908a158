"""What keeps an installed Remit from protecting a workspace, or a server from reaching an agent.

The part of Remit that still runs tells it: the gateway in its instructions, the hooks at session start, and
`remit doctor`. A model reads the reason; files and the fix are for the user.
"""

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.clients import ClientReading, Effect, InstallLevel, InstallRecord, Level
from remit.decision import (
    REMIT,
    RUNS,
    SERVER,
    Context,
    Kind,
    Resolved,
    Scope,
    Status,
    ToolDecision,
    full_label,
    shorten,
    trust_command,
)
from remit.errors import RemitError
from remit.files import Edit, FileError, are_in_place, read_exactly
from remit.text import one_line, plural
from remit.trust import HeldDefinition, pending

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.store import Problem

_MOST = 10  # reasons that a model reads; a repository can declare any number of servers
_LONGEST_NAME = 100  # characters of the name of a server or a tool
_LONGEST_REASON = 300  # characters of a failure, which may quote the server
_LONGEST_MISTAKE = 600  # characters, with its file
_MOST_NAMED = 5  # definitions
_SETTINGS = ("settings.json", "settings.local.json", "managed-settings.json")
_ONLY_DENIED = "of the client's own tools, only those that its `permissions.deny` names are blocked"


class NoticeKind(StrEnum):
    """What is missing or changed."""

    HOOKS = "hooks"
    GATEWAY = "gateway"
    RULES = "rules"
    TRUST = "trust"
    SERVER = "server"
    DEFINITION = "definition"
    ADDED = "added"  # a server that Remit could serve


class Notice(NamedTuple):
    """One thing that is missing, and how the user changes it."""

    kind: NoticeKind
    reason: str  # without files, because a model reads it
    fix: str
    source: str = ""  # the file
    detail: str = ""  # the reason with files, if it has any

    @property
    def full_reason(self) -> str:
        """The reason for the user."""
        return self.detail or self.reason

    def __str__(self) -> str:
        return f"{self.full_reason}. To change it: {self.fix}."


class Installed(NamedTuple):
    """The records of an install: the client's, and that of the rules in the project's settings."""

    record: InstallRecord
    rules: InstallRecord | None = None
    is_managed: bool = False

    @property
    def client(self) -> str:
        """The client, with the option of `remit install` for it."""
        return self.record.client + (" --managed" if self.is_managed else "")


def find_notices(registry: "Registry", context: Context, installed: Installed | None) -> list[Notice]:
    """List all that is missing where Remit is installed; without an install, what waits for trust."""
    missing: list[Notice] = []
    if installed is not None and installed.record.level is not InstallLevel.CONTEXT:
        reading = registry.clients.readings(context)[installed.record.client]
        missing += weakened(reading, context, installed)
    if installed is not None and installed.record.level is InstallLevel.FULL:
        missing += missing_servers(registry.tools(context), context)
    decided = context._replace(rules=registry.config.current(context.workspace).rules)
    return [*missing, *held_notices(pending(registry.store, decided))]


def weakened(reading: ClientReading, context: Context, installed: Installed) -> list[Notice]:
    """List what keeps an installed Remit from enforcing decisions."""
    gateway = installed.record.gateway
    return [
        *(() if gateway is None else missing_gateway(reading, gateway.source, context, installed)),
        *(disabled_hooks(reading, context, installed) if reading.client == "claude-code" else ()),
        *overriding_mods(reading, context),
        *changed_copies(context, installed),
        *(() if gateway is None else added_servers(reading, installed)),
    ]


def disabled_hooks(reading: ClientReading, context: Context, installed: Installed) -> Iterator[Notice]:
    """Find the settings that switch off the client's hooks, and with them Remit's, or may do so unseen."""
    for rule in reading.rules:
        is_administrators = rule.level is Level.MANAGED and rule.subject != "allowManagedHooksOnly"
        if rule.effect is Effect.DISABLES_HOOKS and (is_administrators or not installed.is_managed):
            off, key = "Remit's hooks are off here", f"`{rule.subject}`"
            place = shorten(rule.source, context)
            detail = f"{off}: {key} in {place}; {_ONLY_DENIED}"
            fix = f"remove {key} from {place}"
            yield Notice(NoticeKind.HOOKS, f"{off}; {_ONLY_DENIED}", fix, rule.source, detail)
    for path in sorted(reading.unreadable):
        if os.path.basename(path) in _SETTINGS:
            off, place = "Remit's hooks may be off here", shorten(path, context)
            reason = f"{off}, because Remit cannot read all settings; {_ONLY_DENIED}"
            detail = f"{off}: Remit cannot read {place}, but the client may; {_ONLY_DENIED}"
            fix = f"correct {place}; `remit doctor` says what is wrong in it"
            yield Notice(NoticeKind.HOOKS, reason, fix, path, detail)


def missing_gateway(
    reading: ClientReading, source: str, context: Context, installed: Installed
) -> Iterator[Notice]:
    """Find the reason why a client does not load the gateway, which has its servers."""
    servers = [item for item in reading.resolved if item.declaration.kind is Kind.MCP_SERVER]
    own = [item.shadowed_by for item in servers if item.declaration.status is Status.ITSELF]
    if None in own:
        return
    winner = next(filter(None, own), None)
    if winner is not None:
        place = f"the server `{SERVER}` in {shorten(winner.source, context)}"
        cause, fix = f"{place} takes its place", f"rename or remove {place}"
    else:
        cause, fix = _entry_cause(servers, source, context), f"run `remit install {installed.client}`"
    missing = "Remit is not loaded here, so the servers that it served are unavailable until that is repaired"
    fix += f"; `remit uninstall {installed.client}` makes the client load them itself"
    yield Notice(NoticeKind.GATEWAY, missing, fix, source, f"{missing}: {cause}")


def _entry_cause(servers: Sequence[Resolved], source: str, context: Context) -> str:
    named = [item.declaration for item in servers if item.declaration.server == SERVER]
    entry, place = next((item for item in named if item.source == source), None), shorten(source, context)
    if entry is None:
        return f"its entry in {place} is gone"
    if entry.status in RUNS:
        return f"its entry in {place} was changed"
    return f"its entry in {place} is {entry.status} by the client's settings"


def overriding_mods(reading: ClientReading, context: Context) -> Iterator[Notice]:
    """Find modules of plugins that run inside the client and can decide otherwise than Remit."""
    facts = reading.facts
    for mod in () if facts.only_managed_mods or facts.has_managed_settings else facts.mods:
        owner = "this repository's plugin" if mod.is_repositorys else "the plugin"
        runs = f"{owner} `{one_line(mod.plugin, _LONGEST_NAME)}` runs"
        override = "inside the client, which can override Remit's decisions"
        fix = "disable that plugin, or have an administrator run `remit install claude-code --managed`"
        detail = f"{runs} {shorten(mod.file, context)} {override}"
        yield Notice(NoticeKind.RULES, f"{runs} a module {override}", fix, mod.source, detail)


def changed_copies(context: Context, installed: Installed) -> Iterator[Notice]:
    """Find files in which others changed what Remit wrote: copies of rules, hooks, switches."""
    records = (installed.record, *(() if installed.rules is None else (installed.rules,)))
    for file in (file for record in records for file in record.files):
        edits = [Edit(key.path, key.value, is_item=key.is_item) for key in file.keys]
        try:
            if are_in_place(read_exactly(file.path), file.format, edits, file):
                continue
        except (FileError, RemitError):
            continue  # the reading says what is wrong with it
        reason = "a part of what Remit wrote into the client's own settings was changed"
        detail = f"a part of what Remit wrote into {shorten(file.path, context)} was changed"
        yield Notice(NoticeKind.RULES, reason, f"run `remit install {installed.client}`", file.path, detail)


def added_servers(reading: ClientReading, installed: Installed) -> Iterator[Notice]:
    """Find servers of the user that the client starts itself, next to the gateway, which could serve them."""
    served = {key.switches for file in installed.record.files for key in file.keys}
    for item, winner in reading.resolved:
        is_native = item.kind is Kind.MCP_SERVER and item.status is Status.ENABLED and winner is None
        is_users = item.scope in (Scope.GLOBAL, Scope.LOCAL) and item.is_served and item.source != REMIT
        if is_native and is_users and full_label(item.server or "", item.plugin) not in served:
            name = one_line(item.server or "", _LONGEST_NAME)
            reason = f"the client starts `{name}` itself, next to Remit: `remit` can serve it"
            fix = f"run `remit install {installed.client}`; with `adopt = true` in your remit.toml, "
            fix += "Remit serves every server that you add"
            yield Notice(NoticeKind.ADDED, reason, fix, item.source)


def changed_local_file(context: Context, since: int | None) -> Iterator[Notice]:
    """Tell that the checkout's `remit.local.toml` changed since a time in Unix milliseconds."""
    path = os.path.join(context.workspace.checkout, "remit.local.toml")
    if since is not None and os.path.exists(path) and os.stat(path).st_mtime_ns // 1_000_000 > since:
        reason = "remit.local.toml changed since the last session; it can only hide tools"
        yield Notice(NoticeKind.RULES, reason, "read it, and remove what you did not write", path)


def broken_files(problems: "Iterable[Problem]", context: Context) -> Iterator[Notice]:
    """Tell which of Remit's own files have mistakes, each with its first."""
    first = {problem.source: problem for problem in reversed(list(problems))}
    for path, problem in sorted(first.items()):
        reason, place = "Remit's rules for this project have a mistake", shorten(path, context)
        detail = f"a mistake in {place}{problem.place and f' ({problem.place})'}: {problem.reason}"
        fix = f"correct {place}; `remit doctor` lists all mistakes"
        yield Notice(NoticeKind.RULES, reason, fix, path, one_line(detail, _LONGEST_MISTAKE))


def missing_servers(listed: Sequence[ToolDecision], context: Context) -> Iterator[Notice]:
    """Find what keeps servers, the gateway among them, from agents."""
    for tool, decision in listed:
        if tool.kind is not Kind.MCP_SERVER or tool.client != context.client:
            continue
        name = one_line(tool.server or tool.name, _LONGEST_NAME)
        if tool.agent is not None and tool.server == SERVER:
            agent = f"the agent `{one_line(tool.agent, _LONGEST_NAME)}`"
            reason = f"{agent} brings a server `{SERVER}`, which takes the gateway's place while it runs"
            fix = f"rename that server in {shorten(tool.source, context)}"
            yield Notice(NoticeKind.GATEWAY, reason, fix, tool.source)
        elif tool.status is Status.ENABLED and tool.shadowed_by is None and tool.is_trusted is False:
            has_hooks = tool.client == "claude-code"  # which runs the server itself
            result = "so its calls are refused" if has_hooks else "which does not start it"
            reason = f"this project's server `{name}` is not trusted in Remit, {result}"
            fix = f"read what it runs with `remit trust`, then run `{trust_command(tool.server)}`"
            yield Notice(NoticeKind.TRUST, reason, fix, tool.source)
        elif decision.is_available and tool.failure is not None:
            reason = f"the server `{name}` cannot be used: {one_line(tool.failure, _LONGEST_REASON)}"
            fix = f"correct that, then run `remit tools {shlex.quote(tool.server or '')} --refresh`"
            yield Notice(NoticeKind.SERVER, reason, fix, tool.source)


def held_notices(items: Iterable[HeldDefinition]) -> list[Notice]:
    """Tell which definitions wait for the user, by server."""
    by_server: dict[str, list[str]] = {}
    for item in items:
        by_server.setdefault(one_line(item.tool.server or "", _LONGEST_NAME), []).append(item.title)
    fix = "read the changes with `remit trust`"
    notices: list[Notice] = []
    for server, titles in by_server.items():
        names = sorted(set(titles))
        held = f"{plural(len(names), 'definition')} of `{server}` ({_named(names)})"
        notices.append(Notice(NoticeKind.DEFINITION, f"held until you accept the change: {held}", fix))
    return notices


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(one_line(name, _LONGEST_NAME) for name in names[:_MOST_NAMED]) + more


def notices_section(notices: Sequence[Notice]) -> str:
    """Tell a model what is missing here, without the fix."""
    reasons = [*dict.fromkeys(notice.reason for notice in notices if notice.kind is not NoticeKind.ADDED)]
    if not reasons:
        return ""
    more = [f"and {len(reasons) - _MOST:,} more"] if len(reasons) > _MOST else []
    return f"Missing here: {'; '.join([*reasons[:_MOST], *more])}. Only the user can change this."
