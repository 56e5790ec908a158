"""The rules in a client's settings files, and how the client asks for approval."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class SettingsLevel(StrEnum):
    """The settings file that a rule comes from, strongest first."""

    MANAGED = "managed"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    STATE = "state"  # the user's answers, stored by the client


class Effect(StrEnum):
    """The effect of a rule on the servers it matches."""

    EXCLUDES = "excludes"  # managed servers exist, so all others are ignored
    TRUSTS = "trusts"  # subject `project`: the repository; `folder`: the launch directory or one above it
    APPROVES_ALL = "approves_all"  # subject `true` or `false`
    APPROVES = "approves"  # exact name
    REJECTS = "rejects"  # normalised name
    DENIES = "denies"  # a matcher
    ALLOWS = "allows"  # a matcher; empty: the list exists
    ALLOWS_MANAGED_ONLY = "allows_managed_only"
    ADMITS_REMIT = "admits_remit"  # a matcher that adds Remit itself to a list
    SWITCHES_PLUGIN = "switches_plugin"  # `<plugin>=true` or `=false`; the strongest level wins
    DISABLES = "disables"  # exact name; for a plugin `plugin:<plugin>:<server>`
    OVERRIDES_SKILL = "overrides_skill"  # `<skill or command>=off` or another word; the strongest level wins
    ADMITS_PLUGINS_ONLY = "admits_plugins_only"  # subject `mcp`, `skills` or `agents`
    DENIES_TOOL = "denies_tool"  # a permission rule, like the next two
    ASKS_ABOUT_TOOL = "asks_about_tool"
    ALLOWS_TOOL = "allows_tool"
    LISTS_TOOL = "lists_tool"  # a tool in its server's own allow list
    LISTS_TOOLS_OF = "lists_tools_of"  # a server with such a list
    ORDERS_RULES = "orders_rules"  # the last permission rule that matches a tool decides
    PERMITS_MANAGED_ONLY = "permits_managed_only"  # only an administrator's permission rules count
    IS_TRACKED = "is_tracked"  # git tracks the file, so the repository may have written it
    DISABLES_HOOKS = "disables_hooks"  # the key that does; `MANAGED_HOOKS_ONLY` spares an administrator's
    IS_UNREADABLE = "is_unreadable"  # Remit cannot read the file; the client may, and hooks may be off
    WITHHOLDS = "withholds"  # a directory whose servers are pending until it is trusted; empty: all servers


class ApprovalPrompt(StrEnum):
    """When a client asks its user to approve a project's servers."""

    NEVER = "never"
    AT_A_TERMINAL = "at_a_terminal"
    ALWAYS = "always"  # without a terminal, unapproved servers are ignored


class ClientBehavior(NamedTuple):
    """How a client behaves, regardless of its settings."""

    asks: ApprovalPrompt = ApprovalPrompt.AT_A_TERMINAL
    off_shadows: bool = True  # a disabled entry shadows weaker ones with its name


ASKS_AT_A_TERMINAL = ClientBehavior()


NEVER_ASKS = ClientBehavior(asks=ApprovalPrompt.NEVER)


MANAGED_HOOKS_ONLY = "allowManagedHooksOnly"  # counts only in an administrator's settings
FORGOTTEN_URL = "forgotten-url"  # placeholder for a URL pattern that was not stored


class ExecutedSetting(NamedTuple):
    """A setting of a repository that makes the client run code."""

    source: str
    key: str  # the event of a hook, or the name of a setting or variable
    command: str  # without secrets; empty for a variable
    section: str = ""  # that the key is in; empty: the top of the file


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRule:
    """One rule of one settings file.

    A matcher is `name:<exact name>`, `command:<digest of the exact words>` or `url:<pattern>`. A URL pattern
    may contain a secret, so it is never stored.
    """

    source: str
    level: SettingsLevel
    effect: Effect
    subject: str = ""
    key: str = ""  # of a permission rule: its list in the file
    line: int = 0  # of a permission rule; 0: unknown

    @property
    def storable_subject(self) -> str:
        """The subject without secrets, as stored."""
        is_pattern = self.effect in (Effect.DENIES, Effect.ALLOWS) and self.subject.startswith("url:")
        return FORGOTTEN_URL if is_pattern else self.subject
