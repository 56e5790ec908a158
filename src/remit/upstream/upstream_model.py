"""An upstream: a server that Remit starts or reaches itself, and what came of asking it for its tools."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from remit.decision.declarations import Declaration, Key
from remit.decision.defaults import DEADLINE
from remit.decision.launch import Launch
from remit.decision.scopes import Scope
from remit.decision.tool_names import tool_name
from remit.decision.tools import Definition

PATIENCE = 600.0  # seconds; what a tool does may take long


class Sharing(StrEnum):
    """Who uses one session of a server."""

    SHARED = "shared"  # all callers: it remembers nothing of any of them
    OWN = "own"  # the requests of one caller's session


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A server to start or to reach; its launch is as it stands in the file."""

    key: Key  # of its declaration
    label: str  # the server's name, as written in the file
    client: str
    launch: Launch = field(repr=False)
    directory: str  # where it is started, which it takes for its project's
    plugin: str | None = None
    source: str  # the file of its entry
    deadline: float = DEADLINE  # seconds, until it can be asked
    patience: float = PATIENCE  # seconds, for one call that tells nothing of its progress
    sharing: Sharing | None = None  # None: by what it shows of itself
    inherits: bool | tuple[str, ...] = True  # the user's variables: all, the bare minimum, or that and these

    @property
    def place(self) -> str:
        """The directory that it works in."""
        within = self.launch.cwd
        return os.path.normpath(os.path.join(self.directory, within)) if within else self.directory

    def canonical(self, tool: str) -> str:
        """Name one of its tools in the canonical way."""
        return tool_name(self.label, tool, self.plugin)


def upstream(declaration: Declaration, *, workspace: str, home: str, deadline: float) -> Upstream | None:
    """Make an upstream of a declared server; None where its entry is not at hand.

    What is not the workspace's own is started at home: a runner looks for programs in the directory it is
    started in, and there it finds nothing that a project put there.
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
    """A tool that cannot be used as its server describes it."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a server did not answer, in words that hold no secret."""

    reason: str
    hint: str | None = None
    output: Sequence[str] = ()  # the last lines that the server wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerExtras:
    """What a server offers besides its tools, as it came, and its words to those who use it."""

    resources: Sequence[Any] = ()
    templates: Sequence[Any] = ()
    prompts: Sequence[Any] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    instructions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a server answered; with a failure, what it says of tools is not known."""

    tools: Sequence[Definition] = ()
    quarantined: Sequence[Quarantined] = ()
    protocol_version: str | None = None
    server_version: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    extras: ServerExtras | None = None  # None: it was asked for its tools alone
