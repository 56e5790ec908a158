"""Memory as an in-process server, which no file declares and whose calls nobody else receives."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from remit import __version__
from remit.decision import (
    MEMORY_SERVER,
    REMIT,
    Declaration,
    Kind,
    Offer,
    Resolved,
    Scope,
    Status,
    View,
    Workspace,
    server_name,
    tool_name,
)
from remit.errors import ArtifactError, StoreError
from remit.memory.scope import TOOLS
from remit.memory.session_start import project_ids
from remit.store import Problem, Store, make_definition
from remit.text import as_object, clean

if TYPE_CHECKING:
    from remit.memory.memory import Memory  # loads pydantic, which takes 120 ms

_TOOL = re.compile(rf"\b({'|'.join(TOOLS)})\b")
_GATEWAYS = (Status.ITSELF, Status.NESTED)

Raw = dict[str, Any]


def declaration(client: str) -> Declaration:
    """Declare the server for a client; its digest differs per version of Remit, which lists it again."""
    return Declaration(
        client=client,
        kind=Kind.MCP_SERVER,
        scope=Scope.GLOBAL,
        project_hash=None,
        dir=None,
        agent=None,
        server=MEMORY_SERVER,
        name=server_name(MEMORY_SERVER),
        source=REMIT,
        digest=sha256(f"{MEMORY_SERVER} {__version__}".encode()).hexdigest(),
    )


def with_own_server(
    view: View, resolved: Sequence[Resolved], is_served: bool
) -> tuple[list[Resolved], list[Problem]]:
    """Add the server for a client that starts a gateway, or that a gateway serves.

    No other server gets its name, or it would receive memory's calls. An entry of the user's own that starts
    memory alone takes its place.
    """
    servers = [item for item in resolved if item.declaration.kind is Kind.MCP_SERVER]
    has_gateway = any(map(_starts_gateway, servers))
    if not (has_gateway or is_served) or any(_starts_memory(item.declaration) for item in servers):
        return [*resolved], []
    own = declaration(view.client)._replace(status=Status.ENABLED if has_gateway else Status.UNSERVED)
    reason = f"`{MEMORY_SERVER}` is the name of Remit's own server, so this one is not used: rename it"
    listed, problems = [Resolved(own)], list[Problem]()
    for item in resolved:
        if item.declaration.name != own.name or item.declaration.agent is not None:
            listed.append(item)
            continue
        problems.append(Problem(item.declaration.source, f"mcpServers.{item.declaration.server}", reason))
        if item.declaration.key != own.key:  # both would have one row
            listed.append(Resolved(item.declaration, own))
    return listed, problems


def _starts_gateway(item: Resolved) -> bool:
    return (
        item.declaration.status in _GATEWAYS and item.shadowed_by is None and not _is_alone(item.declaration)
    )


def _starts_memory(entry: Declaration) -> bool:
    is_users = entry.project_hash is None and entry.server == MEMORY_SERVER
    return is_users and entry.status in _GATEWAYS and _is_alone(entry)


def _is_alone(entry: Declaration) -> bool:
    return entry.launch is not None and "--memory" in entry.launch.args


def offer() -> Offer:
    """Return what the server lists."""
    from remit.memory.models import definitions

    tools = [
        make_definition(tool_name(MEMORY_SERVER, name), MEMORY_SERVER, name, raw["description"], raw)
        for raw in definitions()
        for name in [raw["name"]]
    ]
    return Offer(tools=tools, capabilities={"tools": {}})


def instructions(store: Store, workspace: Workspace, prefix: str = "") -> str:
    """Tell a model how to use memory; `prefix` comes before the name of each tool."""
    return (
        f"The memory of this project has the project_id `{project_ids(store, workspace)[0]}`. "
        f"Recall with {prefix}retrieve_context; save with {prefix}save_session at the end."
    )


def answer(
    memory: "Callable[[], Memory]", method: str, params: Mapping[str, Any], prefix: str = ""
) -> Raw | None:
    """Answer a request, opening memory for a call; None if there is no such method or tool."""
    if method == "tools/list":
        from remit.memory.models import definitions

        return {"tools": list(definitions())}
    tool = params.get("name")
    if method != "tools/call" or tool not in TOOLS:
        return None
    try:
        content = memory().call(tool, as_object(params.get("arguments")))
    except (ArtifactError, StoreError) as error:
        content = _failure(error, tool)
    content = cast("Raw", _cleaned(content))  # another agent may have written it
    if "next_step" in content:
        content["next_step"] = _TOOL.sub(rf"{prefix}\1", content["next_step"])
    status = content.get("retrieval_status", content.get("status"))
    return {
        "content": [{"type": "text", "text": json.dumps(content, ensure_ascii=False)}],
        "structuredContent": content,
        "isError": status in ("failed", "blocked_scope"),
    }


def _failure(error: ArtifactError | StoreError, tool: str) -> Raw:
    status = "retrieval_status" if tool in ("retrieve_context", "memory_surface") else "status"
    failure = {status: "failed", "message": str(error)}
    return failure if error.hint is None else {**failure, "next_step": error.hint}


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {_cleaned(key): _cleaned(item) for key, item in cast("Mapping[object, object]", value).items()}
    return [_cleaned(item) for item in cast("list[object]", value)] if isinstance(value, list) else value
