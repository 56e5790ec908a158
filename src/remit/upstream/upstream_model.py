"""Models of upstream servers, and of the lists that they return."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from remit.decision.declarations import Declaration, Key
from remit.decision.launch import Launch
from remit.decision.scopes import Scope
from remit.decision.tool_names import tool_name
from remit.decision.tools import Definition
from remit.settings import DEADLINE

PATIENCE = 600.0  # seconds; a tool may run for long


class Sharing(StrEnum):
    """Which callers share a session of a server."""

    SHARED = "shared"  # all callers: the server remembers nothing about them
    OWN = "own"  # the requests of one caller's session


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A server to start or to reach; its launch is not expanded yet."""

    key: Key  # of its declaration
    label: str  # the server's name, as written in the file
    client: str
    launch: Launch = field(repr=False)
    directory: str  # its project, and where it starts
    plugin: str | None = None
    source: str  # the file of its entry
    deadline: float = DEADLINE  # seconds to start and connect
    patience: float = PATIENCE  # seconds for one call without progress
    sharing: Sharing | None = None  # None: depends on whether the server keeps state
    inherits: bool | tuple[str, ...] = True  # variables: all, the minimum, or the minimum and these

    @property
    def place(self) -> str:
        """The working directory."""
        within = self.launch.cwd
        return os.path.normpath(os.path.join(self.directory, within)) if within else self.directory

    def canonical(self, tool: str) -> str:
        """Return the canonical name of one of its tools."""
        return tool_name(self.label, tool, self.plugin)


def upstream(declaration: Declaration, *, workspace: str, home: str, deadline: float) -> Upstream | None:
    """Create an upstream from a declared server; None if its entry is unavailable.

    Servers that do not belong to the workspace start in the home directory: package runners look for programs
    in their working directory, and must not find those of a project.
    """
    if declaration.launch is None or declaration.server is None:
        return None
    is_everywhere = declaration.scope is Scope.PLUGIN and declaration.project_hash is None
    is_everywhere |= declaration.scope in (Scope.GLOBAL, Scope.MANAGED)
    return Upstream(
        key=declaration.key,
        label=declaration.server,
        client=declaration.client,
        launch=declaration.launch,
        directory=home if is_everywhere else workspace,
        plugin=declaration.plugin,
        source=declaration.source,
        deadline=deadline,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A tool with an unusable definition."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a server did not answer, without secrets."""

    reason: str
    hint: str | None = None  # for people
    next_step: str | None = None  # for a model: sign in or wait; None: only a person can do something
    output: Sequence[str] = ()  # the last lines of the server's stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerExtras:
    """The lists of a server besides its tools, as raw JSON, and its instructions."""

    resources: Sequence[Any] = ()
    templates: Sequence[Any] = ()
    prompts: Sequence[Any] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    instructions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The answer of a server; after a failure, its tools are unknown."""

    tools: Sequence[Definition] = ()
    quarantined: Sequence[Quarantined] = ()
    protocol_version: str | None = None
    server_version: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    extras: ServerExtras | None = None  # None: only its tools were listed
