"""Models of upstream servers, and of the lists that they return."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from remit.configuration.config_model import PRINCIPAL, ServerOptions
from remit.decision.declarations import Declaration, Key
from remit.decision.declared_launch import Launch
from remit.decision.tool_names import tool_name
from remit.decision.tools import Definition
from remit.settings import DEADLINE
from remit.trust.held_definitions import WithheldItem
from remit.trust.start_permit import StartPermit

PATIENCE = 600.0  # seconds; a tool may run for long
IN_ITS_SANDBOX = "cannot be started in its sandbox: "  # how the reason of such a failure begins


class Sharing(StrEnum):
    """Which callers share a session of a server."""

    SHARED = "shared"  # all callers: the server remembers nothing about them
    OWN = "own"  # the requests of one caller's session
    SINGLE = "single"  # all callers, and only one process may run the server


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A server to start or to reach, with the permit to do so."""

    key: Key  # of its declaration
    label: str  # the server's name, as written in the file
    client: str
    permit: StartPermit | None  # None: Remit's own server, which starts nothing
    plugin: str | None = None
    source: str  # the file of its entry
    deadline: float = DEADLINE  # seconds to start and connect
    patience: float = PATIENCE  # seconds for one call without progress
    sharing: Sharing | None = None  # None: depends on whether the server keeps state
    # Variables: all, the minimum, or the minimum and these. A project's server gets the minimum by default,
    # and so does a sandboxed one.
    inherits: bool | tuple[str, ...] = True
    project: str | None = None  # the hash of the project that declares it
    is_per_principal: bool = False  # used with the credential of its caller, and with no other

    @property
    def lock(self) -> str | None:
        """The name of the lock that whoever runs it holds; None: any number may run it."""
        if self.sharing is not Sharing.SINGLE:
            return None
        return json.dumps([self.project, self.plugin, self.label])  # whichever client's file declares it

    @property
    def launch(self) -> Launch:
        """The launch that its permit is for, with unexpanded variables."""
        return Launch() if self.permit is None else self.permit.launch

    def canonical(self, tool: str) -> str:
        """Return the canonical name of one of its tools."""
        return tool_name(self.label, tool, self.plugin)


def upstream(declaration: Declaration, permit: StartPermit, *, deadline: float) -> Upstream:
    """Create an upstream from a declared server that may be started."""
    return Upstream(
        key=declaration.key,
        label=declaration.server or declaration.name,
        client=declaration.client,
        permit=permit,
        plugin=declaration.plugin,
        source=declaration.source,
        project=declaration.project_hash,
        deadline=deadline,
        inherits=not (permit.is_projects or permit.sandbox is not None),
    )


def with_options(made: Upstream, options: ServerOptions) -> Upstream:
    """Apply the options of Remit's configuration to an upstream."""
    is_per_principal = options.credentials == PRINCIPAL
    # The user's variables may contain credentials of the machine.
    inherits = made.inherits and not is_per_principal
    return replace(
        made,
        is_per_principal=is_per_principal,
        sharing=None if options.sessions is None else Sharing(options.sessions),
        inherits=inherits if options.inherit_env is None else options.inherit_env,
        patience=options.deadline or PATIENCE,
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
    withheld: Sequence[WithheldItem] = ()  # by inspection, from the lists above


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The answer of a server; after a failure, its tools are unknown."""

    tools: Sequence[Definition] = ()
    quarantined: Sequence[Quarantined] = ()
    protocol_version: str | None = None
    server_version: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    is_elsewhere: bool = False  # another process runs the server, and knows its tools
    extras: ServerExtras | None = None  # None: only its tools were listed
    is_partial: bool = False  # other clients may be offered more: what is missing is not gone
