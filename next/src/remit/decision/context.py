"""What a decision is asked and answers: the caller, the workspace and the rules; verdict and reason."""

import os
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from remit.decision.agents import Agent
from remit.decision.permissions import ClientPermissions
from remit.decision.rules import NO_RULES, Mode, NextStep, Rules
from remit.decision.scopes import LaunchFlags, View, Workspace
from remit.decision.snapshot import Snapshot
from remit.decision.tools import Key, Origin, Tool

_NO_FLAGS = LaunchFlags()


class Verdict(StrEnum):
    """What an agent may do with a tool."""

    VISIBLE = "visible"
    ASK = "ask"  # callable after approval
    HIDDEN = "hidden"


class Gate(StrEnum):
    """The gates, in the order in which they run."""

    SCOPE = "scope"
    CONFIG = "config"
    PRECEDENCE = "precedence"
    AGENT = "agent"
    POLICY = "policy"
    DEFINITION = "definition"
    STATE = "state"
    ARGUMENTS = "arguments"
    DANGER = "danger"


class Face(StrEnum):
    """Who starts the servers that a decision is about."""

    CLIENT = "client"  # the client alone
    GUARDED = "guarded"  # the client, with Remit's hooks
    GATEWAY = "gateway"  # Remit


class Decision(NamedTuple):
    """Whether a tool may be used here and now, and why.

    It speaks with two voices. A model reads `reason` and `next_step`: which rule objects, and what the model
    itself can do. How to change the rule is for people, who read `full_reason` and `unlock`.
    """

    verdict: Verdict
    gate: Gate | None  # None: every gate passed
    reason: str  # names a state or rule, never its file or how a state is detected
    unlock: str | None = None  # what would change the verdict, if anything
    detail: str | None = None  # the reason with files, lines and detectors, if it has any
    next_step: NextStep | None = None
    by_client: bool = False  # a rule of the client asks or denies

    @property
    def full_reason(self) -> str:
        """The reason for people."""
        return self.detail or self.reason

    @property
    def is_available(self) -> bool:
        """Whether the tool is listed and can be called, perhaps after approval."""
        return self.verdict is not Verdict.HIDDEN

    @property
    def frees_name(self) -> bool:
        """Whether the tool is never served here, so another tool may use its name."""
        return not self.is_available and self.gate in (Gate.SCOPE, Gate.CONFIG, Gate.PRECEDENCE)


class ToolDecision(NamedTuple):
    """A tool and the decision about it."""

    tool: Tool
    decision: Decision


class FilterRefusal(NamedTuple):
    """Why a Python filter refuses a tool; `Decision` says who reads which part."""

    reason: str
    detail: str | None = None
    unlock: str | None = None


class Context(NamedTuple):
    """The caller, the workspace, and the rules of a decision."""

    workspace: Workspace
    client: str | None  # None: all clients, for an inventory
    flags: LaunchFlags = _NO_FLAGS
    agent: Agent | None = None  # None: the main session
    face: Face = Face.CLIENT
    home: str = ""  # shortens paths in reasons
    rules: Rules = NO_RULES
    permissions: Mapping[str, ClientPermissions] = {}  # by client
    refusals: Mapping[Key, FilterRefusal] = {}  # of Python filters
    snapshot: Snapshot | None = None  # None: no detectors ran, because no rule mentions a state
    mode: Mode | None = None  # None: the configured mode
    args: Mapping[str, object] | None = None  # of the call; None: listing
    run_context: object = None  # passed to filters by the host application

    def view(self, client: str) -> View:
        """Return the view of one client's configuration from this workspace."""
        return View(client, self.workspace, self.flags)

    def reads(self, origin: Origin) -> str:
        """Name a rule for people: its key, its file and its line."""
        key = f"`{origin.key}` in " if origin.key else ""
        return key + shorten(origin.path, self) + (f" line {origin.line}" if origin.line else "")

    @property
    def agent_names(self) -> Collection[str]:
        """The agent and those above it, nearest first."""
        agent = self.agent
        return () if agent is None else (agent.name, *(parent.name for parent in agent.parents))


def shorten(path: str, context: Context) -> str:
    """Shorten a path relative to the workspace or the home directory."""
    for base, sign in ((context.workspace.dir, ""), (context.home, "~" + os.sep)):
        inside = base.rstrip(os.sep) + os.sep
        if base and path.startswith(inside):
            return sign + path[len(inside) :]
    return path
