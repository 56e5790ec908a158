"""Definitions that differ from what was accepted, and which of them may be used anyway."""

import shlex
from enum import StrEnum
from typing import NamedTuple

from remit.decision.tool_names import MCP


class ChangePolicy(StrEnum):
    """Which changed definitions are accepted without a person, strictest first."""

    HOLD = "hold"  # none
    HARMLESS = "harmless"  # those that cannot matter
    NOTE = "note"  # all, and they are reported


class ChangeVerdict(StrEnum):
    """What a changed definition means."""

    HARMLESS = "harmless"
    MATTERS = "matters"
    FLAGGED = "flagged"  # inspection holds it, whatever the policy
    UNINSPECTED = "uninspected"  # too large to inspect, and held like a flagged one
    REJECTED = "rejected"  # by a person


class DefinitionChange(NamedTuple):
    """Why the current definition of a tool is not the accepted one."""

    verdict: ChangeVerdict
    reason: str  # without a word of the server, because models read it
    detail: str  # for people, with excerpts


REJECTED = "its changed definition was rejected"

_PASSING = {
    ChangePolicy.HOLD: frozenset[ChangeVerdict](),
    ChangePolicy.HARMLESS: frozenset({ChangeVerdict.HARMLESS}),
    ChangePolicy.NOTE: frozenset({ChangeVerdict.HARMLESS, ChangeVerdict.MATTERS}),
}


def is_held(change: DefinitionChange | None, policy: ChangePolicy) -> bool:
    """Return whether a tool waits for a person because its definition changed."""
    return change is not None and change.verdict not in _PASSING[policy]


def settling_name(name: str) -> str:
    """Return the name that settles a definition and nothing else: `notes:instructions` of `mcp__notes__*`."""
    server = name.removeprefix(MCP).removesuffix("__*")
    return f"{server}:instructions" if name == f"{MCP}{server}__*" else name


def ways_to_settle(change: DefinitionChange, name: str) -> str:
    """Tell a person how to settle a definition; one that looks like an attack is better rejected."""
    name = settling_name(name)
    accept = f"accept it with `remit trust {shlex.quote(name)}`"
    if change.verdict is ChangeVerdict.REJECTED:
        nothing = "you rejected it, so there is nothing to do"
        return f"{nothing}; if you no longer want its server, remove it; only if you are sure, {accept}"
    if change.verdict is not ChangeVerdict.FLAGGED:
        return accept
    reject = f"reject it with `remit trust --reject {shlex.quote(name)}` or remove its server"
    return f"{reject}; only if you are sure, {accept}"


def steps_to_settle(change: DefinitionChange, name: str) -> str:
    """Tell a person how to read and settle a definition; a rejected one was read before."""
    ways = ways_to_settle(change, name)
    return ways if change.verdict is ChangeVerdict.REJECTED else f"look at it with `remit trust`, then {ways}"


def strictest(policies: list[ChangePolicy]) -> ChangePolicy:
    """Return the policy that holds most; the default is to accept harmless changes."""
    return min(policies, key=list(ChangePolicy).index, default=ChangePolicy.HARMLESS)
