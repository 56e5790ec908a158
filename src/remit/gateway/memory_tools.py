"""The memory tools as raw protocol messages, served along with other tools or alone."""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from remit.approvals.approvals import Approval
from remit.errors import (
    ArtifactError,
    NotApprovedError,
    RemitError,
    ScopeError,
    StoreError,
    StoreRefusedError,
    StoreTooNewError,
    StoreUnreachableError,
    UnknownArtifactError,
)
from remit.memory.memory_scopes import MAX_ID, team_memories
from remit.memory.memory_server import tool_definitions
from remit.memory.results import BatchSaveResult, SaveStatus
from remit.memory.tool_permissions import TOOLS
from remit.memory.value_checks import MAX_TEXT
from remit.presentation.refusals import STORE_DOWN
from remit.text.json_values import as_object
from remit.text.untrusted_text import clean_values

if TYPE_CHECKING:  # loaded when memory is first called
    from remit.memory.project_memory import Memory

Raw = dict[str, Any]
Result = TypeVar("Result")
_log = logging.getLogger(__name__)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_REFUSED = frozenset({SaveStatus.BLOCKED_SCOPE, SaveStatus.FAILED})
_FAILED_READS = frozenset({"failed", "timed_out"})


class MemoryTools:
    """The memory tools; calls run one at a time, off the event loop."""

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory
        self._turn = anyio.Lock()

    @property
    def of_team(self) -> frozenset[str]:
        """The memory that the projects of a team share; empty for other projects."""
        return team_memories(self._memory.workspace)

    def tools(self) -> list[Raw]:
        """Return the tool definitions, always in the same order."""
        return [dict(definition) for definition in tool_definitions().values()]

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the input schema of a tool; None for an unknown tool."""
        found = tool_definitions().get(name)
        return None if found is None else found["inputSchema"]

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None, *, bound_projects: frozenset[str] | None = None
    ) -> Raw:
        """Call a tool, limited to `bound_projects` unless that is None.

        Raises:
            KeyError: there is no such tool.
        """
        if name not in TOOLS:
            raise KeyError(name)
        given: Mapping[str, Any] = {} if arguments is None else arguments
        return await self._do(lambda: _answer(self._memory, name, given, bound_projects))

    async def waiting(self, approval_id: str) -> Approval | None:
        """Find a write that needs approval; None once it was answered or has expired."""
        return await self._do(lambda: self._memory.global_writes.waiting(approval_id))

    async def settle(self, asked: Approval, *, approve: bool) -> bool:
        """Record the user's answer to a question; return whether the write may be tried now."""
        return await self._do(lambda: self._memory.global_writes.settle(asked, approve=approve))

    async def _do(self, work: Callable[[], Result]) -> Result:
        async with self._turn:
            return await anyio.to_thread.run_sync(work)


def refused(error: RemitError) -> Raw:
    """Return an error result."""
    return result(problem(error), is_error=True)


def _answer(memory: "Memory", name: str, arguments: Mapping[str, Any], bound: frozenset[str] | None) -> Raw:
    try:
        made = memory.call(name, arguments, bound)
    except RemitError as error:
        return result(_with_example(problem(error, as_object(arguments)), name), is_error=True)
    except Exception as error:  # an unexpected error must not stop the server
        _log.exception("the memory tool %s failed", name)
        return result(_unexpected(error), is_error=True)
    found: Raw = asdict(made)  # pyright: ignore[reportArgumentType] - every tool returns a dataclass
    content: Raw = clean_values(found, MAX_TEXT)  # an import or another agent may have written it
    if isinstance(made, BatchSaveResult):
        content["overall"] = made.overall
    status = content.get("overall", content.get("status"))
    is_refused = status in _REFUSED or content.get("retrieval_status") in _FAILED_READS
    return result(content, is_error=is_refused)


def problem(error: RemitError, arguments: Mapping[str, Any] = _NOTHING) -> Raw:
    """Convert an error to the format of all memory errors."""
    context: Raw = {key: arguments[key] for key in ("project_id", "focus") if _is_plain(arguments.get(key))}
    if isinstance(error, ArtifactError):
        context |= {"field": error.field, "rule": error.rule, "got": error.got}
    if isinstance(error, NotApprovedError):
        context["approval_id"] = error.approval_id
    code = next(code for sort, code in _CODES.items() if isinstance(error, sort))
    message, hint = str(error), error.hint
    if isinstance(error, (StoreUnreachableError, StoreTooNewError)):  # its address is for people
        _log.warning("a memory tool needs the store: %s", error)
        message, hint = STORE_DOWN, None
    return {"error": True, "code": code, "message": message, "context": context, "next_step": hint}


def _with_example(problem: Raw, tool: str) -> Raw:
    """Add a working example call to an error about invalid input."""
    if problem["code"] != "INVALID_INPUT":
        return problem
    from remit.memory.tool_models import example_call  # already loaded: it just rejected a call

    project_id = problem["context"].get("project_id", "the id that the session context states")
    shown = f"A call that works: {example_call(tool, project_id)}"
    hint = problem["next_step"]
    between = "" if not hint else " " if hint.endswith("?") else ". "
    return {**problem, "next_step": f"{hint or ''}{between}{shown}"}


_CODES: dict[type[RemitError], str] = {
    UnknownArtifactError: "ENTITY_NOT_FOUND",
    ArtifactError: "INVALID_INPUT",
    ScopeError: "SCOPE_VIOLATION",
    NotApprovedError: "WRITE_NOT_APPROVED",
    StoreRefusedError: "INVALID_INPUT",
    StoreError: "GRAPH_UNHEALTHY",
    RemitError: "INTERNAL_ERROR",
}


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and len(value) <= MAX_ID


def _unexpected(error: Exception) -> Raw:
    message = f"this should not have happened ({type(error).__name__}); nothing was written"
    return {"error": True, "code": "INTERNAL_ERROR", "message": message, "context": {}, "next_step": None}


def result(content: Raw, *, is_error: bool) -> Raw:
    """Return a result with structured content and the same content as text."""
    text = json.dumps(content, ensure_ascii=False)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": json.loads(text),
        "isError": is_error,
    }
