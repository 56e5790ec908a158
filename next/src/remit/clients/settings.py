"""The rules in a client's settings files, and what they make of its declarations.

The rules were observed in Claude Code; other clients have fewer rules and their own behavior. Approval comes
first: a rejected or pending project server shadows nothing. Policy comes next: any deny rule blocks, and with
an allow list, only listed servers pass. Last come the servers that the user disabled.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from remit.clients.table import Asks
from remit.decision import (
    Declaration,
    Kind,
    Origin,
    PermissionEffect,
    PermissionRule,
    Scope,
    Status,
    full_label,
    normalise,
)

MAX_PATTERNS = 1_000  # of permission rules with one effect; each is matched against each tool


class Level(StrEnum):
    """The settings file that a rule comes from, strongest first."""

    MANAGED = "managed"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    STATE = "state"  # the user's answers, stored by the client


_ORDER = {level: at for at, level in enumerate(Level)}


class Effect(StrEnum):
    """The effect of a rule on the declarations it matches."""

    EXCLUDES = "excludes"  # managed servers exist, so all others are ignored
    TRUSTS = "trusts"  # subject `project`: the repository; `folder`: the launch directory or one above it
    APPROVES_ALL = "approves_all"  # subject `true` or `false`
    APPROVES = "approves"  # exact name
    REJECTS = "rejects"  # normalised name
    DENIES = "denies"  # a matcher
    ALLOWS = "allows"  # a matcher; empty: the list exists
    ALLOWS_MANAGED_ONLY = "allows_managed_only"
    SWITCHES_PLUGIN = "switches_plugin"  # `<plugin>=true` or `=false`; the strongest level wins
    DISABLES = "disables"  # exact name; for a plugin `plugin:<plugin>:<server>`
    OVERRIDES_SKILL = "overrides_skill"  # `<skill or command>=off` or another word; the strongest level wins
    ADMITS_PLUGINS_ONLY = "admits_plugins_only"  # subject `mcp`, `skills` or `agents`
    ALLOWS_MARKETPLACE = "allows_marketplace"  # a source as JSON; empty: the list exists
    BLOCKS_MARKETPLACE = "blocks_marketplace"  # a source as JSON
    DENIES_TOOL = "denies_tool"  # a permission rule, like the next two
    ASKS_ABOUT_TOOL = "asks_about_tool"
    ALLOWS_TOOL = "allows_tool"
    LISTS_TOOL = "lists_tool"  # a tool in its server's own allow list
    LISTS_TOOLS_OF = "lists_tools_of"  # a server with such a list
    ORDERS_RULES = "orders_rules"  # the last permission rule that matches a tool decides
    PERMITS_MANAGED_ONLY = "permits_managed_only"  # only an administrator's permission rules count
    IS_TRACKED = "is_tracked"  # git tracks the file, so the repository may have written it
    DISABLES_HOOKS = "disables_hooks"  # the key that does; `allowManagedHooksOnly` spares an administrator's
    DISABLES_MODS = "disables_mods"  # of everybody except administrators
    WITHHOLDS = "withholds"  # a directory whose servers are pending until it is trusted; empty: all servers


class SettingsRule(NamedTuple):
    """One rule of one settings file.

    A matcher is `name:<exact name>`, `command:<digest of the exact words>` or `url:<pattern>`.
    """

    source: str
    level: Level
    effect: Effect
    subject: str = ""
    key: str = ""  # of a permission rule: its list in the file


def judge(
    declarations: Iterable[Declaration],
    rules: Sequence[SettingsRule],
    *,
    asks: Asks = Asks.AT_A_TERMINAL,
    off_shadows: bool = True,
    is_headless: bool = False,
) -> list[Declaration]:
    """Return declarations with the status that a client's settings give them, and whether they shadow.

    The status so far is that of the entry itself.
    """
    settings = _Settings(rules, asks=asks, off_shadows=off_shadows, is_headless=is_headless)
    return [
        item._replace(status=settings.status(item), shadows=settings.can_shadow(item))
        for item in declarations
    ]


def permission_rules(rules: Sequence[SettingsRule]) -> list[PermissionRule]:
    """List the permission rules that count.

    Anybody's rule may deny or ask. A repository's own rules allow nothing until the user trusts it.
    """
    managed_only = any(rule.effect is Effect.PERMITS_MANAGED_ONLY for rule in rules)
    tracked = {rule.source for rule in rules if rule.effect is Effect.IS_TRACKED}
    is_trusted = any(rule.effect is Effect.TRUSTS and rule.subject == "project" for rule in rules)
    kept: list[PermissionRule] = []
    counts: dict[PermissionEffect, int] = {}
    for rule in rules:
        effect = _PERMISSIONS.get(rule.effect)
        if effect is None or (managed_only and rule.level is not Level.MANAGED):
            continue
        is_repositorys = rule.level is Level.PROJECT or rule.source in tracked
        if effect is PermissionEffect.ALLOW and is_repositorys and not is_trusted:
            continue
        text = rule.subject
        if "*" in text.partition("(")[0]:
            counts[effect] = counts.get(effect, 0) + 1
            if counts[effect] > MAX_PATTERNS:  # one that covers everything instead; none that allows
                if counts[effect] > MAX_PATTERNS + 1 or effect is PermissionEffect.ALLOW:
                    continue
                text = "*"
        kept.append(PermissionRule(effect, text, Origin(rule.source, rule.key)))
    return kept


def ineffective_approval(rules: Sequence[SettingsRule], server: str) -> SettingsRule | None:
    """Return the rule that would approve a project's server if the user trusted the folder."""
    trusted = {rule.subject for rule in rules if rule.effect is Effect.TRUSTS}
    meant = ((Effect.APPROVES, server), (Effect.APPROVES_ALL, "true"))
    idle = [rule for rule in rules if (rule.effect, rule.subject) in meant and not _counts(rule, trusted)]
    return min(idle, key=lambda rule: rule.effect is Effect.APPROVES_ALL, default=None)


def declared_label(declaration: Declaration) -> str:
    """Return a server's name as written in clients' settings."""
    label = declaration.name if declaration.server is None else declaration.server
    return full_label(label, declaration.plugin)


def plugin_switches(rules: Iterable[SettingsRule]) -> dict[str, dict[Level, bool]]:
    """Group the switches of plugins by plugin, the weakest level first."""
    switches: dict[str, dict[Level, bool]] = {}
    for id, level, word in _by_name(rules, Effect.SWITCHES_PLUGIN):
        switches.setdefault(id, {})[level] = word == "true"
    return switches


def _by_name(rules: Iterable[SettingsRule], effect: Effect) -> Iterator[tuple[str, Level, str]]:
    """Yield name, level and word of the rules with an effect, strongest level last."""
    chosen = [rule for rule in rules if rule.effect is effect]
    for rule in sorted(chosen, key=lambda rule: -_ORDER[rule.level]):
        name, _, word = rule.subject.rpartition("=")
        yield name, rule.level, word


class _Settings:
    """A client's rules for one workspace, indexed by effect."""

    def __init__(
        self, rules: Sequence[SettingsRule], *, asks: Asks, off_shadows: bool, is_headless: bool
    ) -> None:
        self._rules = rules
        self._off_shadows = off_shadows
        self._asks = asks is Asks.ALWAYS or (asks is Asks.AT_A_TERMINAL and not is_headless)
        self._trusted = {rule.subject for rule in self._of(Effect.TRUSTS)}
        self._approves_all = self._approval_of_all()
        self._approved = {rule.subject for rule in self._of(Effect.APPROVES) if _counts(rule, self._trusted)}
        self._rejected = {rule.subject for rule in self._of(Effect.REJECTS)}
        self._disabled = {rule.subject for rule in self._of(Effect.DISABLES)}
        self._withheld = {rule.subject for rule in self._of(Effect.WITHHOLDS)}
        self._denied = _MatcherList(rule.subject for rule in self._of(Effect.DENIES))
        self._allowed = self._allow_list()
        self._is_exclusive = any(self._of(Effect.EXCLUDES))
        self._overrides = {name: word for name, _, word in _by_name(rules, Effect.OVERRIDES_SKILL)}
        self._plugins_only = {rule.subject for rule in self._of(Effect.ADMITS_PLUGINS_ONLY)}

    def can_shadow(self, declaration: Declaration) -> bool:
        """Return whether a declaration can shadow others; a project's server must be approved first.

        Tools that only a person may invoke shadow nothing: the model sees the next declaration of the name.
        """
        if declaration.status is Status.MANUAL or self._is_withheld(declaration):
            return False
        if declaration.status is Status.DISABLED and not self._off_shadows:
            return False
        if not _needs_approval(declaration) or self._is_exclusive:
            return True
        return not self._is_rejected(declaration) and self._is_approved(declaration)

    def status(self, declaration: Declaration) -> Status:
        """Return the status of a declaration."""
        needs_approval = _needs_approval(declaration)
        if needs_approval and self._is_rejected(declaration):
            return Status.REJECTED
        if self._is_blocked(declaration):
            return Status.DENIED
        if self._is_withheld(declaration) or (needs_approval and not self._is_approved(declaration)):
            return Status.PENDING
        if declaration.status not in _OPEN:
            return declaration.status
        if declaration.kind is Kind.MCP_SERVER and declared_label(declaration) in self._disabled:
            return Status.DISABLED
        return self._override(declaration) or declaration.status

    def _is_rejected(self, declaration: Declaration) -> bool:
        return normalise(declared_label(declaration)) in self._rejected

    def _is_approved(self, declaration: Declaration) -> bool:
        return not self._asks or self._approves_all or declared_label(declaration) in self._approved

    def _is_withheld(self, declaration: Declaration) -> bool:
        # Even without a terminal, clients ignore the declarations of an untrusted folder.
        return "" in self._withheld or declaration.dir in self._withheld

    def _is_blocked(self, declaration: Declaration) -> bool:
        """Return whether a policy blocks a declaration; managed servers need not be on an allow list."""
        is_managed = declaration.scope is Scope.MANAGED
        if _SURFACES.get(declaration.kind) in self._plugins_only and not is_managed:
            return declaration.scope is not Scope.PLUGIN
        if declaration.kind is not Kind.MCP_SERVER:
            return False
        if self._denied.matches(declaration) or (self._is_exclusive and not is_managed):
            return True
        if declaration.status is Status.DENIED:  # of a broken file: its URL is not stored
            return True
        return self._allowed is not None and not is_managed and not self._allowed.admits(declaration)

    def _override(self, declaration: Declaration) -> Status | None:
        """Return the override for a skill or command; plugins' skills cannot be overridden."""
        if _SURFACES.get(declaration.kind) != "skills" or declaration.plugin is not None:
            return None
        return _OVERRIDES.get(self._overrides.get(declaration.name.removeprefix("/"), ""))

    def _approval_of_all(self) -> bool:
        given = {
            rule.level: rule.subject == "true"
            for rule in self._of(Effect.APPROVES_ALL)
            if _counts(rule, self._trusted)
        }
        stated = given.pop(Level.STATE, False)
        return next((given[level] for level in Level if level in given), False) or stated

    def _allow_list(self) -> "_MatcherList | None":
        managed_only = any(self._of(Effect.ALLOWS_MANAGED_ONLY))
        rules = [rule for rule in self._of(Effect.ALLOWS) if rule.level is Level.MANAGED or not managed_only]
        return _MatcherList(rule.subject for rule in rules) if rules else None

    def _of(self, effect: Effect) -> Iterator[SettingsRule]:
        return (rule for rule in self._rules if rule.effect is effect)


_PERMISSIONS = {
    Effect.DENIES_TOOL: PermissionEffect.DENY,
    Effect.ASKS_ABOUT_TOOL: PermissionEffect.ASK,
    Effect.ALLOWS_TOOL: PermissionEffect.ALLOW,
    Effect.LISTS_TOOL: PermissionEffect.LISTS,
    Effect.LISTS_TOOLS_OF: PermissionEffect.RESTRICTS,
    Effect.ORDERS_RULES: PermissionEffect.ORDERS,
}
_SURFACES = {
    Kind.MCP_SERVER: "mcp",
    Kind.SLASH_COMMAND: "skills",
    Kind.SKILL: "skills",
    Kind.SUBAGENT: "agents",
}
_OVERRIDES = {"off": Status.DISABLED, "user-invocable-only": Status.MANUAL}
_OPEN = (Status.ENABLED, Status.ITSELF, Status.NESTED)  # nothing in the entry itself switches it off


def _counts(rule: SettingsRule, trusted: Collection[str]) -> bool:
    """Return whether a level may approve servers.

    Files shared in a repository may once the repository is trusted; the user's own files there may once the
    repository or the folder is trusted.
    """
    if rule.level is Level.PROJECT:
        return "project" in trusted
    return bool(trusted) or rule.level in (Level.MANAGED, Level.USER)


def _needs_approval(declaration: Declaration) -> bool:
    """Return whether a declaration needs approval; a project's servers do, except those of agents."""
    is_server = declaration.kind is Kind.MCP_SERVER and declaration.agent is None
    return is_server and declaration.scope is Scope.PROJECT


def _url(declaration: Declaration) -> str | None:
    launch = declaration.launch
    return launch.url if launch is not None and launch.is_remote else None


class _MatcherList:
    """The matchers of a list: names and commands are looked up, URLs are compared one by one."""

    def __init__(self, matchers: Iterable[str]) -> None:
        self._matchers = frozenset(matchers)
        self._urls = [
            matcher.removeprefix("url:") for matcher in self._matchers if matcher.startswith("url:")
        ]
        self._has_commands = any(matcher.startswith("command:") for matcher in self._matchers)

    def matches(self, declaration: Declaration) -> bool:
        """Return whether any matcher matches a declaration."""
        return self._has_name(declaration) or self._has_place(declaration)

    def admits(self, declaration: Declaration) -> bool:
        """Return whether an allow list admits a server.

        If the list has any URLs, only they admit remote servers; if it has any commands, only they admit
        processes.
        """
        is_by_place = self._has_commands if _url(declaration) is None else bool(self._urls)
        return self._has_place(declaration) if is_by_place else self._has_name(declaration)

    def _has_name(self, declaration: Declaration) -> bool:
        return f"name:{declared_label(declaration)}" in self._matchers

    def _has_place(self, declaration: Declaration) -> bool:
        url = _url(declaration)
        if url is None:
            return f"command:{declaration.endpoint}" in self._matchers
        return any(url_matches(pattern, url) for pattern in self._urls)


def url_matches(pattern: str, url: str) -> bool:
    """Match a URL against a pattern with `*`; hosts ignore case, and a missing path matches any path.

    A pattern with `*` in its host and no port matches every port; one without `*` only the default port.
    """
    if pattern == "*":
        return True
    scheme, separator, rest = pattern.partition("://")
    url_scheme, _, url_rest = url.partition("://")
    if not separator or (scheme != "*" and scheme != url_scheme.lower()):
        return False
    host, slash, path = rest.partition("/")
    url_host, _, url_path = url_rest.partition("/")
    url_name, _, url_port = url_host.rpartition("@")[2].lower().partition(":")
    name, _, port = host.lower().partition(":")
    is_port_covered = _glob(port, url_port) if port else "*" in name or not url_port
    return _glob(name, url_name) and is_port_covered and (not slash or _glob(path, url_path))


def _glob(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))
