"""What a server answers when it is asked for its lists."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from remit.decision.tools import Definition


class Failure(NamedTuple):
    """Why a server did not answer, without secrets."""

    reason: str
    hint: str | None = None  # for people
    next_step: str | None = None  # for a model: sign in or wait; None: only a person can do something
    output: Sequence[str] = ()  # the last lines of the server's stderr


class Quarantined(NamedTuple):
    """A tool with an unusable definition."""

    tool: str
    reason: str


class DeclaredTool(NamedTuple):
    """A tool that a server declares under states: it is listed only while they hold."""

    definition: Definition
    states: Sequence[str] = ()  # names in the server's own set, all of which must hold
    namespace: str | None = None
    danger: str | None = None


class DeclaredStates(NamedTuple):
    """What a server that knows states declares: its whole set of tools and states."""

    tools: Sequence[DeclaredTool] = ()
    states: Mapping[str, Mapping[str, Any]] = {}  # each with its description and detector, as in `remit.toml`
    directory: str | None = None  # that its detectors look into


class Offer(NamedTuple):
    """The answer of a server; after a failure, its tools are unknown."""

    tools: Sequence[Definition] = ()
    quarantined: Sequence[Quarantined] = ()
    resources: Sequence[Any] = ()  # raw JSON, as are templates and prompts
    templates: Sequence[Any] = ()
    prompts: Sequence[Any] = ()
    capabilities: Mapping[str, Any] = {}
    instructions: str | None = None
    protocol_version: str | None = None
    server_version: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    is_partial: bool = (
        False  # clients with other capabilities may be offered more: what is missing is not gone
    )
    declared: DeclaredStates | None = None  # of a server that knows states
