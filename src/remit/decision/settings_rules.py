"""The rules of a client's settings files, and how the client asks for approval."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class SettingsLevel(StrEnum):
    """Whose settings a rule stands in, strongest first."""

    MANAGED = "managed"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    STATE = "state"  # what the client wrote down of the user's own answers


class Effect(StrEnum):
    """What a rule does to the servers it names."""

    EXCLUDES = "excludes"  # managed servers exist: all others are left out
    TRUSTS = "trusts"  # subject `project`: the repository; `folder`: the launch directory or one above it
    APPROVES_ALL = "approves_all"  # subject `true` or `false`
    APPROVES = "approves"  # exact name
    REJECTS = "rejects"  # normalised name
    DENIES = "denies"  # a matcher
    ALLOWS = "allows"  # a matcher, or empty: the list exists
    ALLOWS_MANAGED_ONLY = "allows_managed_only"
    ADMITS_REMIT = "admits_remit"  # a matcher: Remit put itself on a list, which counts for nothing else here
    SWITCHES_PLUGIN = "switches_plugin"  # `<plugin>=true` or `=false`; the strongest level decides
    DISABLES = "disables"  # exact name, a plugin's as `plugin:<plugin>:<server>`
    OVERRIDES_SKILL = "overrides_skill"  # `<skill or command>=off`, or another word; the strongest decides
    ADMITS_PLUGINS_ONLY = "admits_plugins_only"  # subject `mcp`, `skills` or `agents`
    WITHHOLDS = "withholds"  # the directory whose servers wait until it is trusted; empty: all servers wait


class ApprovalPrompt(StrEnum):
    """When a client asks its user before it uses a project's servers."""

    NEVER = "never"
    AT_A_TERMINAL = "at_a_terminal"
    ALWAYS = "always"  # without a terminal, what was not approved before is left out


class ClientBehavior(NamedTuple):
    """What a client does in its own way, whatever its settings say."""

    asks: ApprovalPrompt = ApprovalPrompt.AT_A_TERMINAL
    off_shadows: bool = True  # an entry that is switched off stands in the way of weaker ones of its name


ASKS_AT_A_TERMINAL = ClientBehavior()


NEVER_ASKS = ClientBehavior(asks=ApprovalPrompt.NEVER)


FORGOTTEN_URL = "forgotten-url"  # a matcher of which only this much was stored


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRule:
    """One line of one settings file.

    A matcher is `name:<exact name>`, `command:<digest of the exact words>` or `url:<pattern>`; of a pattern,
    which may hold a secret, nothing is stored but that there is one.
    """

    source: str
    level: SettingsLevel
    effect: Effect
    subject: str = ""

    @property
    def storable_subject(self) -> str:
        """The subject as it may be stored."""
        is_pattern = self.effect in (Effect.DENIES, Effect.ALLOWS) and self.subject.startswith("url:")
        return FORGOTTEN_URL if is_pattern else self.subject
