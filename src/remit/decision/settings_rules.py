"""The rules of a client's settings files, and how the client asks for approval."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class SettingsLevel(StrEnum):
    """Whose settings file a rule comes from, strongest first."""

    MANAGED = "managed"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    STATE = "state"  # the user's answers, as the client stored them


class Effect(StrEnum):
    """What a rule does to the servers it matches."""

    EXCLUDES = "excludes"  # managed servers exist: all others are ignored
    TRUSTS = "trusts"  # subject `project`: the repository; `folder`: the launch directory or one above it
    APPROVES_ALL = "approves_all"  # subject `true` or `false`
    APPROVES = "approves"  # exact name
    REJECTS = "rejects"  # normalised name
    DENIES = "denies"  # a matcher
    ALLOWS = "allows"  # a matcher, or empty: the list exists
    ALLOWS_MANAGED_ONLY = "allows_managed_only"
    ADMITS_REMIT = "admits_remit"  # a matcher: Remit put itself on a list
    SWITCHES_PLUGIN = "switches_plugin"  # `<plugin>=true` or `=false`; the strongest level decides
    DISABLES = "disables"  # exact name, a plugin's as `plugin:<plugin>:<server>`
    OVERRIDES_SKILL = (
        "overrides_skill"  # `<skill or command>=off` or another word; the strongest level decides
    )
    ADMITS_PLUGINS_ONLY = "admits_plugins_only"  # subject `mcp`, `skills` or `agents`
    WITHHOLDS = "withholds"  # the directory whose servers are pending until it is trusted; empty: all servers


class ApprovalPrompt(StrEnum):
    """When a client asks its user to approve a project's servers."""

    NEVER = "never"
    AT_A_TERMINAL = "at_a_terminal"
    ALWAYS = "always"  # without a terminal, unapproved servers are ignored


class ClientBehavior(NamedTuple):
    """How a client behaves, independent of its settings."""

    asks: ApprovalPrompt = ApprovalPrompt.AT_A_TERMINAL
    off_shadows: bool = True  # a disabled entry shadows weaker ones of its name


ASKS_AT_A_TERMINAL = ClientBehavior()


NEVER_ASKS = ClientBehavior(asks=ApprovalPrompt.NEVER)


FORGOTTEN_URL = "forgotten-url"  # stands for a URL pattern that was not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRule:
    """One rule of one settings file.

    A matcher is `name:<exact name>`, `command:<digest of the exact words>` or `url:<pattern>`. A URL pattern
    may hold a secret, so it is never stored.
    """

    source: str
    level: SettingsLevel
    effect: Effect
    subject: str = ""

    @property
    def storable_subject(self) -> str:
        """The subject without secrets, as the store keeps it."""
        is_pattern = self.effect in (Effect.DENIES, Effect.ALLOWS) and self.subject.startswith("url:")
        return FORGOTTEN_URL if is_pattern else self.subject
