"""Memory as an upstream, so the gateway calls it like any other server."""

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from remit.decision.tool_names import MEMORY_SERVER
from remit.errors import RemitError
from remit.gateway.memory_tools import MemoryTools, refused, result
from remit.memory.global_writes import denied_write
from remit.memory.memory_server import tool_definitions
from remit.memory.tool_permissions import TOOLS
from remit.presentation.approval_question import ask_user, can_elicit
from remit.presentation.served_names import prefix
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.ports import RequestContext, ServerLists
from remit.upstream.upstream_model import Upstream

if TYPE_CHECKING:  # loaded when memory is first called
    from remit.memory.project_memory import Memory

FindReachable = Callable[
    [], Awaitable[frozenset[str] | None]
]  # the memories that an endpoint may use; None: all
_NAMES = re.compile(rf"\b({'|'.join(TOOLS)})\b")
_SERVED = rf"{prefix(MEMORY_SERVER)}\1"


class MemoryUpstream:
    """The memory upstream; it opens memory at the first call and starts no process."""

    def __init__(self, open: "Callable[[], Memory]", find_reachable: FindReachable) -> None:
        self._open = open
        self._find_reachable = find_reachable
        self._opening = anyio.Lock()
        self._memory: Memory | None = None
        self._tools: MemoryTools | None = None

    async def request(
        self,
        upstream: Upstream,  # noqa: ARG002 - part of the interface
        method: str,
        params: Params,
        caller: RequestContext,
    ) -> Answer:
        """Answer a request.

        Raises:
            JsonRpcError: memory has no such tool or method.
        """
        name = params.get("name")
        if method != "tools/call":
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"Method not found: {method}")
        if not isinstance(name, str) or name not in TOOLS:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"Unknown tool: {name}")
        try:
            tools = await self._opened()
        except RemitError as error:
            return refused(error)
        return _as_served(await call_memory(tools, name, params, caller, await self._find_reachable()))

    async def list_all(
        self,
        upstream: Upstream,  # noqa: ARG002 - part of the interface
        *,
        parts: frozenset[str] = frozenset({"tools"}),  # noqa: ARG002
    ) -> ServerLists:
        """List the tools of memory."""
        return ServerLists(tools=list(tool_definitions().values()), capabilities={"tools": {}})

    def close(self) -> None:
        """Close memory; acknowledged writes are already on disk."""
        if self._memory is not None:
            self._memory.close()

    async def _opened(self) -> MemoryTools:
        async with self._opening:
            if self._tools is None:
                self._memory = await to_thread.run_sync(self._open)
                self._tools = MemoryTools(self._memory)
            return self._tools


def _as_served(answer: Answer) -> Answer:
    """Replace tool names in the next step with the names that models can call."""
    told = as_object(answer["structuredContent"])
    next_step = told.get("next_step")
    if not isinstance(next_step, str):
        return answer
    return result({**told, "next_step": _NAMES.sub(_SERVED, next_step)}, is_error=answer["isError"])


async def call_memory(
    tools: MemoryTools, name: str, params: Params, caller: RequestContext, reachable: frozenset[str] | None
) -> Answer:
    """Call a tool; if it needs approval and the client supports elicitation, ask the user at once.

    A caller whose token is bound to projects reaches the memories of these and, at the endpoint of a team's
    project, that of the team; any other reaches those that the endpoint does. The former cannot approve
    writes that all projects see; `remit approve` can.
    """
    arguments = params.get("arguments")
    bound = reachable if caller.bound_projects is None else caller.bound_projects | tools.of_team
    answer = await tools.call(name, arguments, bound_projects=bound)
    id = as_object(as_object(answer["structuredContent"]).get("context")).get("approval_id")
    is_asked = caller.may_approve and can_elicit(caller.capabilities)
    if id is None or caller.bound_projects is not None or not is_asked:
        return answer
    waiting = await tools.waiting(id)
    word = None if waiting is None else await ask_user(name, waiting, caller.send_request)
    if waiting is not None and word is not None and not await tools.settle(waiting, approve=word):
        return refused(denied_write(waiting.reason))
    return await tools.call(name, arguments, bound_projects=bound)
