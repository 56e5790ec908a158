"""Facts about servers before any of them starts, obstacles that keep one from starting, and what to do."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from remit.decision.declarations import Declaration, Key, Resolved
from remit.decision.declared_launch import Launch
from remit.decision.kinds import RUNS, Kind
from remit.text.secrets import shown, words_of
from remit.upstream.launch.variable_expansion import unset

_ENTRY = "correct its entry"
_NOT_SIGNED_IN = ("answers 401", "answers 403")
_REMEDIES = (  # of failures; the first match wins
    (r"cannot be started: its command was not found", "install it, or correct its entry"),
    (r"cannot be started in its sandbox", "check its `sandbox` in Remit's configuration"),
    (r"cannot be started", _ENTRY),
    (r"cannot be reached|answers \d", "check that it runs, and its `url`"),
    (r"its .+ contain a character", _ENTRY),
    (r"ended before it answered", "run its command by hand to see why"),
    (r"needs `.+ not set$", "set it in your environment, or give it a default in its entry"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """Facts about the servers of a workspace on this machine."""

    variables: frozenset[str] = frozenset()  # names of the set environment variables
    # Members of entries (`command`, `args[0]`) that name missing programs and files.
    absent: Mapping[Key, Sequence[str]] = field(default_factory=dict[Key, Sequence[str]])
    tracked: frozenset[str] = frozenset()  # files in a git index
    sandboxed: frozenset[Key] = frozenset()  # servers with a sandbox
    sandbox_obstacles: Mapping[Key, str] = field(default_factory=dict[Key, str])  # why one is not possible
    sandbox_fixes: Mapping[Key, str] = field(default_factory=dict[Key, str])  # how to make one possible


class LaunchValue(NamedTuple):
    """One value in an entry."""

    place: str
    name: str  # of its variable, header or option; may be empty
    text: str


def launch_values(launch: Launch) -> Iterator[LaunchValue]:
    """Yield the values in an entry, with their places."""
    if launch.is_remote:
        yield LaunchValue("url", "", launch.url)
    else:
        yield LaunchValue("command", "", launch.command)
    for at, word in enumerate(words_of(launch.args)):
        yield LaunchValue(f"args[{at}]", word.name, word.value)
    for name, text in launch.env.items():
        yield LaunchValue(f"env.{name}", name, text)
    for name, text in launch.headers.items():
        yield LaunchValue(f"headers.{name}", name, text)


def started_servers(resolved: Iterable[Resolved]) -> list[Declaration]:
    """List the servers that the client starts here."""
    return [
        item.declaration
        for item in resolved
        if item.declaration.kind is Kind.MCP_SERVER
        and item.config_status in RUNS
        and item.shadowed_by is None
    ]


def start_obstacles(resolved: Iterable[Resolved], facts: LaunchFacts, *, by_remit: bool) -> dict[Key, str]:
    """Explain why servers cannot start here.

    Missing variables and sandboxes count only if Remit starts the servers: clients start them anyway.
    """
    found = {
        item.key: ", ".join(
            [
                *(describe_absence(item.launch, place) for place in facts.absent.get(item.key, ())),
                *(f"`{name}` is not set" for name in (_unset(item.launch, facts) if by_remit else ())),
                *filter(None, (facts.sandbox_obstacles.get(item.key) if by_remit else None,)),
            ]
        )
        for item in started_servers(resolved)
        if item.launch is not None
    }
    return {key: reason for key, reason in found.items() if reason}


def start_fixes(resolved: Iterable[Resolved], facts: LaunchFacts) -> dict[Key, str]:
    """Say how to remove the obstacles of servers, where one step is enough."""
    found = {
        item.key: [
            *(absence_fix(item.launch, place) for place in facts.absent.get(item.key, ())),
            *(f"set `{name}` before the client is started" for name in _unset(item.launch, facts)),
            *filter(None, (facts.sandbox_fixes.get(item.key),)),
        ]
        for item in started_servers(resolved)
        if item.launch is not None
    }
    return {key: fixes[0] for key, fixes in found.items() if len(fixes) == 1}


def failure_remedy(failure: str, server: str) -> str | None:
    """Say what to do about a failure before the next attempt; None if another attempt may be enough."""
    scope = re.search(r": it wants the scope `(.+)`$", failure)
    if scope or failure.startswith(_NOT_SIGNED_IN):
        words = ("remit", "login", server)
        return f"sign in with `{shlex.join((*words, '--scope', scope[1]) if scope else words)}`"
    return next((remedy for pattern, remedy in _REMEDIES if re.match(pattern, failure)), None)


def failure_fix(remedy: str | None, server: str) -> str:
    """Say how to get a server to work whose last connection failed, up to the next attempt."""
    again = f"`remit scan --connect {shlex.quote(server)}`"
    return f"{remedy}, then run {again}" if remedy else f"try again with {again}"


def absence_fix(launch: Launch, place: str) -> str:
    """Say what to do about a missing program, or a missing file that it should run."""
    if words := _command_words(launch, place):
        program, *arguments = words
        told = f": `{program}` is the command, and `{json.dumps(arguments)}` its `args`"
        return f"put the arguments into `args`{told if all(map(shown, words)) else ''}"
    if is_path(launch, place):
        return "correct the path"
    return "install it, or write the whole path of the program"


def describe_absence(launch: Launch, place: str) -> str:
    """Describe a missing program, or a missing file that it should run."""
    is_command = place == "command"
    name = shown(launch.program) if is_command else None
    subject = f"`{name}`" if name else "its program" if is_command else "the file to run"
    if _command_words(launch, place):
        return "its `command` contains arguments"
    return f"{subject} does not exist" if is_path(launch, place) else f"{subject} is not on PATH"


def _command_words(launch: Launch, place: str) -> list[str]:
    """Return the words of a command that has its arguments in it; empty if it is a program or a path."""
    words = launch.program.split() if place == "command" else []
    return words if len(words) > 1 and not {"/", "\\"} & {*words[0]} else []


def is_path(launch: Launch, place: str) -> bool:
    """Check whether a missing program is given as a path, not looked up on PATH."""
    return place != "command" or "/" in launch.program or "\\" in launch.program


def _unset(launch: Launch, facts: LaunchFacts) -> dict[str, None]:
    """Return the missing variables, in order."""
    values = launch_values(launch)
    return dict.fromkeys(name for value in values for name in unset(value.text, launch, facts.variables))
