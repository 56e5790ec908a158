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
    RUNS,
    SERVER,
    Context,
    Kind,
    Resolved,
    Scope,
    Status,
    Tool,
    ToolDecision,
    full_label,
    shorten,
    status_reason,
    trust_command,
)
from remit.errors import RemitError
from remit.files import Edit, FileError, are_in_place, read_exactly
from remit.text import one_line, plural
from remit.trust import HeldDefinition, pending

if TYPE_CHECKING:
    from remit.catalog import Registry

_MOST = 10  # reasons that a model reads; a repository can declare any number of servers
_LONGEST_NAME = 100  # characters of the name of a server or a tool
_LONGEST_REASON = 300  # characters of a failure, which may quote the server
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
    source: str = ""
    place: str = ""  # the key in the file, or the server
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
    def option(self) -> str:
        """The option of `remit install` for it."""
        return " --managed" if self.is_managed else ""


def find_notices(registry: "Registry", context: Context, installed: Installed | None) -> list[Notice]:
    """List all that is missing where Remit is installed; without an install, what waits for trust."""
    listed = registry.tools(context)
    missing: list[Notice] = []
    if installed is not None and installed.record.level is not InstallLevel.CONTEXT:
        reading = registry.clients.readings(context)[installed.record.client]
        missing += weakened(reading, context, installed)
    if installed is not None and installed.record.level is InstallLevel.FULL:
        missing += missing_servers(listed, context)
    decided = context._replace(rules=registry.config.current(context.workspace).rules)
    return [*missing, *held_notices(pending(registry.store, decided))]


def weakened(reading: ClientReading, context: Context, installed: Installed) -> list[Notice]:
    """List what keeps an installed Remit from enforcing decisions."""
    has_hooks = installed.record.client == "claude-code"
    return [
        *(missing_gateway(reading, context, installed) if installed.record.gateway is not None else ()),
        *(disabled_hooks(reading, context, installed) if has_hooks else ()),
        *overriding_mods(reading, context),
        *changed_copies(context, installed),
        *(added_servers(reading, installed) if installed.record.gateway is not None else ()),
    ]


def disabled_hooks(reading: ClientReading, context: Context, installed: Installed) -> Iterator[Notice]:
    """Find the settings that switch off the client's hooks, and with them Remit's, or may do so unseen."""
    for rule in reading.rules:
        is_administrators = rule.level is Level.MANAGED and rule.subject != "allowManagedHooksOnly"
        if rule.effect is Effect.DISABLES_HOOKS and (is_administrators or not installed.is_managed):
            place = shorten(rule.source, context)
            yield Notice(
                NoticeKind.HOOKS,
                f"Remit's hooks are off here; {_ONLY_DENIED}",
                f"remove `{rule.subject}` from {place}",
                rule.source,
                rule.subject,
                f"Remit's hooks are off here: `{rule.subject}` in {place}; {_ONLY_DENIED}",
            )
    for path in sorted(reading.unreadable):
        if os.path.basename(path) in _SETTINGS:
            place = shorten(path, context)
            yield Notice(
                NoticeKind.HOOKS,
                f"Remit's hooks may be off here, because Remit cannot read all settings; {_ONLY_DENIED}",
                f"correct {place}; `remit doctor` says what is wrong in it",
                path,
                detail=f"Remit's hooks may be off here: Remit cannot read {place}, but the client may",
            )


def missing_gateway(reading: ClientReading, context: Context, installed: Installed) -> Iterator[Notice]:
    """Find the reason why a client does not load the gateway, which has its servers."""
    servers = [item for item in reading.resolved if item.declaration.kind is Kind.MCP_SERVER]
    own = [item for item in servers if item.declaration.status is Status.ITSELF]
    if any(item.shadowed_by is None for item in own):
        return
    client, again = installed.record.client, f"remit install {installed.record.client}{installed.option}"
    gateway = installed.record.gateway
    source = "" if gateway is None else gateway.source
    if own and own[0].shadowed_by is not None:
        source = own[0].shadowed_by.source
        place = shorten(source, context)
        cause, fix = (
            f"the server `{SERVER}` in {place} takes its place",
            f"rename or remove that server in {place}",
        )
    else:
        cause, fix = _entry_cause(servers, source, context), f"run `{again}`"
    missing = "Remit is not loaded here, so the servers that it served are unavailable until that is repaired"
    remove = f"; `remit uninstall {client}{installed.option}` makes the client load them itself"
    yield Notice(NoticeKind.GATEWAY, missing, fix + remove, source, SERVER, f"{missing}: {cause}")


def _entry_cause(servers: Sequence[Resolved], source: str, context: Context) -> str:
    named = [item.declaration for item in servers if item.declaration.server == SERVER]
    entry = next((item for item in named if item.source == source), None)
    if entry is None:
        return f"its entry in {shorten(source, context)} is gone"
    if entry.status in RUNS:
        return f"its entry in {shorten(source, context)} was changed"
    row = Tool(*entry.key, source=entry.source, status=entry.status)  # pyright: ignore[reportArgumentType] - a row's key
    return f"it is {status_reason(row) or 'not enabled in the client'}"


def overriding_mods(reading: ClientReading, context: Context) -> Iterator[Notice]:
    """Find modules of plugins that run inside the client and can decide otherwise than Remit."""
    facts = reading.facts
    if facts.only_managed_mods or facts.has_managed_settings:
        return
    for mod in facts.mods:
        name, place = one_line(mod.plugin, _LONGEST_NAME), shorten(mod.source, context)
        owner = "this repository's plugin" if mod.is_repositorys else "the plugin"
        yield Notice(
            NoticeKind.RULES,
            f"{owner} `{name}` runs a module inside the client that can override Remit's decisions",
            "disable that plugin, or have an administrator run `remit install claude-code --managed`",
            mod.source,
            mod.plugin,
            f"{owner} `{name}` runs {shorten(mod.file, context)} inside the client ({place}), "
            "which can override Remit's decisions",
        )


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
        place = shorten(file.path, context)
        yield Notice(
            NoticeKind.RULES,
            "a part of Remit's rules in the client's own settings was changed",
            f"run `remit install {installed.record.client}{installed.option}`",
            file.path,
            detail=f"a part of what Remit wrote into {place} was changed since",
        )


def added_servers(reading: ClientReading, installed: Installed) -> Iterator[Notice]:
    """Find servers that the client starts itself, next to the gateway, which could serve them."""
    served = {key.switches for file in installed.record.files for key in file.keys}
    for declaration, winner in reading.resolved:
        is_native = declaration.kind is Kind.MCP_SERVER and declaration.status is Status.ENABLED
        label = full_label(declaration.server or "", declaration.plugin)
        if not is_native or winner is not None or not declaration.is_served or label in served:
            continue
        if declaration.scope not in (
            Scope.GLOBAL,
            Scope.LOCAL,
        ):  # others wait for trust, or are not the user's
            continue
        name = one_line(declaration.server or declaration.name, _LONGEST_NAME)
        yield Notice(
            NoticeKind.ADDED,
            f"the client starts `{name}` itself, next to Remit: `remit` can serve it",
            f"run `remit install {declaration.client}{installed.option}`; with `adopt = true` in your "
            "remit.toml, Remit serves every server that you add",
            declaration.source,
            name,
        )


def changed_local_file(context: Context, since: int | None) -> Iterator[Notice]:
    """Tell that the checkout's `remit.local.toml` changed since a time in Unix milliseconds."""
    path = os.path.join(context.workspace.checkout, "remit.local.toml")
    try:
        changed_at = os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return
    if since is not None and changed_at > since:
        yield Notice(
            NoticeKind.RULES,
            "remit.local.toml changed since the last session; it can only hide tools",
            "read it, and remove what you did not write",
            path,
        )


def missing_servers(listed: Sequence[ToolDecision], context: Context) -> Iterator[Notice]:
    """Find what keeps servers, the gateway among them, from agents."""
    for tool, decision in listed:
        if tool.kind is not Kind.MCP_SERVER or tool.client != context.client:
            continue
        name = one_line(tool.server or tool.name, _LONGEST_NAME)
        if tool.agent is not None and tool.server == SERVER:
            agent = one_line(tool.agent, _LONGEST_NAME)
            reason = (
                f"the agent `{agent}` brings a server called `{SERVER}`, which takes the gateway's place "
                "while that agent runs"
            )
            yield Notice(
                NoticeKind.GATEWAY,
                reason,
                f"rename it in {shorten(tool.source, context)}",
                tool.source,
                SERVER,
            )
        elif tool.status is Status.ENABLED and tool.shadowed_by is None and tool.is_trusted is False:
            reason = f"this project's server `{name}` is not trusted in Remit, which does not start it"
            fix = f"read what it runs with `remit trust`, then run `{trust_command(tool.server)}`"
            yield Notice(NoticeKind.TRUST, reason, fix, tool.source, name)
        elif decision.is_available and tool.failure is not None:
            reason = f"the server `{name}` cannot be used: {one_line(tool.failure, _LONGEST_REASON)}"
            fix = f"correct that, then run `remit tools {shlex.quote(tool.server or '')} --refresh`"
            yield Notice(NoticeKind.SERVER, reason, fix, tool.source, name)


def held_notices(items: Iterable[HeldDefinition]) -> list[Notice]:
    """Tell which definitions wait for the user, by server."""
    by_server: dict[str, list[str]] = {}
    for item in items:
        by_server.setdefault(one_line(item.tool.server or "", _LONGEST_NAME), []).append(item.title)
    return [
        Notice(
            NoticeKind.DEFINITION,
            f"held until you accept the change: {plural(len(names), 'definition')} of `{server}` "
            f"({_named(names)})",
            "read the changes with `remit trust`",
            place=server,
        )
        for server, titles in by_server.items()
        for names in [sorted(set(titles))]
    ]


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
