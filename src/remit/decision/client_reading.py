"""A reading: all that one client's files say for one workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remit.decision.declarations import Declaration, Key
from remit.decision.problems import Problem
from remit.decision.scopes import Scope
from remit.decision.settings_rules import ASKS_AT_A_TERMINAL, ClientBehavior, SettingsRule


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReading:
    """What was found, and what was looked at to find it."""

    client: str
    declarations: Sequence[Declaration]
    rules: Sequence[SettingsRule] = ()
    inputs: dict[str, str]  # each file or variable that was looked at, with its fingerprint
    unreadable: frozenset[str] = frozenset()  # files that exist but could not be used
    lost: frozenset[Scope] = frozenset()  # scopes whose files one of those leads to: not all were found
    problems: Sequence[Problem] = ()
    files: Sequence[str] = ()  # those that exist, of all that were looked for
    behavior: ClientBehavior = ASKS_AT_A_TERMINAL
    own_rules: Sequence[SettingsRule] = ()  # those that Remit wrote: they count for the client, and not here


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReading:
    """What is still known of files that cannot be read."""

    declarations: Sequence[Declaration]
    rules: Sequence[SettingsRule]
    denied: Mapping[Key, bool]  # what policies made of every declaration, by its key
