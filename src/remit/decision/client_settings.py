"""Applies a client's settings to declarations.

The rules were observed in Claude Code; other clients have fewer rules and their own behavior.

Approval comes first: a rejected or pending project server shadows nothing. Policy comes next: any deny rule
blocks, and with an allow list, only listed servers pass. Last come the servers that the user disabled.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property

from remit.decision.declarations import Declaration
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.permissions.client_permissions import PermissionEffect, PermissionRule, bounded
from remit.decision.policy_rules import ConfigLocation
from remit.decision.scopes import Scope
from remit.decision.settings_rules import (
    ASKS_AT_A_TERMINAL,
    FORGOTTEN_URL,
    ApprovalPrompt,
    ClientBehavior,
    Effect,
    SettingsLevel,
    SettingsRule,
)
from remit.decision.tool_names import full_label, normalise


class ClientSettings:
    """A client's rules for one workspace, indexed by effect."""

    def __init__(
        self,
        rules: Iterable[SettingsRule] = (),
        *,
        is_headless: bool = False,
        behavior: ClientBehavior = ASKS_AT_A_TERMINAL,
    ) -> None:
        self.rules: Sequence[SettingsRule] = tuple(rules)
        self.is_headless = is_headless
        self.behavior = behavior
        self._asks = behavior.asks is ApprovalPrompt.ALWAYS or (
            behavior.asks is ApprovalPrompt.AT_A_TERMINAL and not is_headless
        )
        self._trusted = {rule.subject for rule in self._of(Effect.TRUSTS)}
        self._approves_all = self._reads_approval_of_all()
        self._approved = {rule.subject for rule in self._of(Effect.APPROVES) if self._counts(rule)}
        self._rejected = {rule.subject for rule in self._of(Effect.REJECTS)}
        self._disabled = {rule.subject for rule in self._of(Effect.DISABLES)}
        self._withheld = {rule.subject for rule in self._of(Effect.WITHHOLDS)}
        self._denied = _MatcherList(rule.subject for rule in self._of(Effect.DENIES))
        self._allowed = self._reads_allow_list()
        self._own = [rule.subject for rule in self._of(Effect.ADMITS_REMIT)]
        self._is_exclusive = any(self._of(Effect.EXCLUDES))
        self._overrides = self._reads_overrides()
        self._plugins_only = {rule.subject for rule in self._of(Effect.ADMITS_PLUGINS_ONLY)}
        self._forgot_urls = any(each.forgot_url for each in (self._denied, self._allowed) if each is not None)

    def can_shadow(self, declaration: Declaration) -> bool:
        """Return whether a declaration can shadow others; a project's server must be approved first.

        Tools that only a person may invoke shadow nothing: the model sees the next declaration of the name.
        """
        if declaration.own_status is ConfigStatus.MANUAL or self._is_withheld(declaration):
            return False
        if declaration.own_status is ConfigStatus.DISABLED and not self.behavior.off_shadows:
            return False
        if not _needs_approval(declaration) or self._is_exclusive:
            return True
        return not self._is_rejected(declaration) and self._is_approved(declaration)

    def status(self, declaration: Declaration) -> ConfigStatus:
        """Return the status of a declaration."""
        needs_approval = _needs_approval(declaration)
        if needs_approval and self._is_rejected(declaration):
            return ConfigStatus.REJECTED
        if self._is_blocked(declaration):
            return ConfigStatus.DENIED
        if self._is_withheld(declaration) or (needs_approval and not self._is_approved(declaration)):
            return ConfigStatus.PENDING
        if declaration.own_status is not None:
            return declaration.own_status
        if declaration.kind is Kind.MCP_SERVER and declared_label(declaration) in self._disabled:
            return ConfigStatus.DISABLED
        if override := self._override(declaration):
            return override
        if declaration.is_remit:
            return ConfigStatus.ITSELF
        launch = declaration.launch
        return ConfigStatus.NESTED if launch is not None and launch.starts_remit else ConfigStatus.ENABLED

    def ineffective_approval(self, server: str) -> SettingsRule | None:
        """Return the rule that would approve a project's server if the user trusted the folder."""
        return self._ineffective.get(server) or self._ineffective.get(None)

    @cached_property
    def _ineffective(self) -> dict[str | None, SettingsRule]:
        """The first approval of each server, and None for one of all servers, that does not count."""
        found: dict[str | None, SettingsRule] = {}
        for rule in (*self._of(Effect.APPROVES), *self._of(Effect.APPROVES_ALL)):
            is_of_all = rule.effect is Effect.APPROVES_ALL
            if not self._counts(rule) and (not is_of_all or rule.subject == "true"):
                found.setdefault(None if is_of_all else rule.subject, rule)
        return found

    def permissions(self) -> list[PermissionRule]:
        """List the permission rules that count here.

        Anybody's rule may deny or ask. A repository's own rules allow nothing until the user trusts it.
        """
        managed_only = any(self._of(Effect.PERMITS_MANAGED_ONLY))
        tracked = {rule.source for rule in self._of(Effect.IS_TRACKED)}
        return bounded(
            [
                PermissionRule(effect, rule.subject, ConfigLocation(rule.source, rule.key, rule.line))
                for rule in self.rules
                if (effect := _PERMISSIONS.get(rule.effect)) is not None
                and (rule.level is SettingsLevel.MANAGED or not managed_only)
                and (effect is not PermissionEffect.ALLOW or self._may_allow(rule, tracked))
            ]
        )

    def _may_allow(self, rule: SettingsRule, tracked: Collection[str]) -> bool:
        is_repositorys = rule.level is SettingsLevel.PROJECT or rule.source in tracked
        return not is_repositorys or "project" in self._trusted

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
        if self._denied.matches(declaration):
            return True
        if self._is_exclusive and not is_managed:
            return True
        if self._cannot_judge(declaration):
            return declaration.was_denied is not False
        # Next to a command in any list, a name does not admit our gateway either.
        allowed = self._reads_allow_list(self._own) if declaration.is_remit else self._allowed
        return allowed is not None and not is_managed and not allowed.admits(declaration)

    def _cannot_judge(self, declaration: Declaration) -> bool:
        """Return whether deciding needs a URL or pattern of a broken file; if so, the last result stands."""
        if declaration.launch is None:
            return declaration.was_denied is not None
        return declaration.launch.is_remote and self._forgot_urls

    def _override(self, declaration: Declaration) -> ConfigStatus | None:
        """Return the override for a skill or command; plugins' skills cannot be overridden."""
        if _SURFACES.get(declaration.kind) != "skills" or declaration.plugin is not None:
            return None
        return _OVERRIDES.get(self._overrides.get(declaration.name.removeprefix("/"), ""))

    def _reads_overrides(self) -> dict[str, str]:
        order, found = list(SettingsLevel), dict[str, str]()
        rules = self._of(Effect.OVERRIDES_SKILL)
        for rule in sorted(rules, key=lambda rule: order.index(rule.level), reverse=True):
            name, _, word = rule.subject.rpartition("=")
            found[name] = word  # the strongest level comes last
        return found

    def _reads_approval_of_all(self) -> bool:
        given = {
            rule.level: rule.subject == "true" for rule in self._of(Effect.APPROVES_ALL) if self._counts(rule)
        }
        stated = given.pop(SettingsLevel.STATE, False)
        return next((given[level] for level in SettingsLevel if level in given), False) or stated

    def _reads_allow_list(self, own: Sequence[str] = ()) -> "_MatcherList | None":
        managed_only = any(self._of(Effect.ALLOWS_MANAGED_ONLY))
        rules = [
            rule
            for rule in self._of(Effect.ALLOWS)
            if rule.level is SettingsLevel.MANAGED or not managed_only
        ]
        return _MatcherList([*own, *(rule.subject for rule in rules)]) if rules else None

    def _counts(self, rule: SettingsRule) -> bool:
        """Return whether a level may approve servers.

        Files shared in a repository may once the repository is trusted; the user's own files there may once
        the repository or the folder is trusted.
        """
        if rule.level is SettingsLevel.PROJECT:
            return "project" in self._trusted
        return bool(self._trusted) or rule.level in (SettingsLevel.MANAGED, SettingsLevel.USER)

    def _of(self, effect: Effect) -> Iterator[SettingsRule]:
        return (rule for rule in self.rules if rule.effect is effect)


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
_OVERRIDES = {"off": ConfigStatus.DISABLED, "user-invocable-only": ConfigStatus.MANUAL}


def _needs_approval(declaration: Declaration) -> bool:
    """Return whether a declaration needs approval; a project's servers do, except those of agents."""
    is_server = declaration.kind is Kind.MCP_SERVER and declaration.agent is None
    return is_server and declaration.scope is Scope.PROJECT


def matches(matcher: str, declaration: Declaration) -> bool:
    """Return whether a policy's matcher matches a declaration."""
    sort, _, value = matcher.partition(":")
    match sort:
        case "name":
            return value == declared_label(declaration)
        case "command":
            return _url(declaration) is None and value == declaration.endpoint
        case "url":
            url = _url(declaration)
            return url is not None and url_matches(value, url)
        case _:
            return False


def _url(declaration: Declaration) -> str | None:
    launch = declaration.launch
    return launch.url if launch is not None and launch.is_remote else None


class _MatcherList:
    """The matchers of a list: names and commands are looked up, URLs are compared one by one."""

    def __init__(self, matchers: Iterable[str]) -> None:
        found = frozenset(matchers)
        self._names = frozenset(each for each in found if each.startswith("name:"))
        self._commands = frozenset(each for each in found if each.startswith("command:"))
        self._urls = sorted(each for each in found if each.startswith("url:"))
        self.forgot_url = FORGOTTEN_URL in found

    def matches(self, declaration: Declaration) -> bool:
        """Return whether any matcher matches a declaration."""
        return self._has_name(declaration) or self._has_place(declaration)

    def admits(self, declaration: Declaration) -> bool:
        """Return whether an allow list admits a server.

        If the list has any URLs, only they admit remote servers; if it has any commands, only they admit
        processes.
        """
        decisive = self._commands if _url(declaration) is None else self._urls
        return self._has_place(declaration) if decisive else self._has_name(declaration)

    def _has_name(self, declaration: Declaration) -> bool:
        return f"name:{declared_label(declaration)}" in self._names

    def _has_place(self, declaration: Declaration) -> bool:
        if _url(declaration) is None:
            return f"command:{declaration.endpoint}" in self._commands
        return any(matches(each, declaration) for each in self._urls)


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
    if not _glob(name, url_name) or not _is_port_covered(port, url_port, any_port="*" in name):
        return False
    return not slash or _glob(path, url_path)


def _is_port_covered(pattern: str, port: str, *, any_port: bool) -> bool:
    return _glob(pattern, port) if pattern else any_port or not port


def _glob(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))


def declared_label(declaration: Declaration) -> str:
    """Return a server's name as written in clients' settings."""
    label = declaration.name if declaration.server is None else declaration.server
    return full_label(label, declaration.plugin)
