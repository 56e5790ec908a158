"""The result of reading one client's files for one workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remit.decision.declarations import Declaration, Key
from remit.decision.problems import Problem
from remit.decision.scopes import Scope
from remit.decision.settings_rules import ASKS_AT_A_TERMINAL, ClientBehavior, SettingsRule


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReading:
    """The declarations and rules in a client's files, and the inputs they came from."""

    client: str
    declarations: Sequence[Declaration]
    rules: Sequence[SettingsRule] = ()
    inputs: dict[str, str]  # each file or variable that was read, with its fingerprint
    unreadable: frozenset[str] = frozenset()  # files that exist but are invalid
    lost: frozenset[Scope] = (
        frozenset()
    )  # scopes that an unreadable file contributes to, whose declarations may be incomplete
    problems: Sequence[Problem] = ()
    files: Sequence[str] = ()  # existing files
    behavior: ClientBehavior = ASKS_AT_A_TERMINAL
    own_rules: Sequence[
        SettingsRule
    ] = ()  # rules that Remit wrote, which the client follows and Remit ignores


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReading:
    """The stored content of files that cannot be read."""

    declarations: Sequence[Declaration]
    rules: Sequence[SettingsRule]
    denied: Mapping[Key, bool]  # whether a policy denied each declaration
