"""The tools of memory, as raw messages of the protocol: for the gateway to serve beside others, or alone."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import anyio
import anyio.to_thread

from remit.apps.memory_schemas import DEFINITIONS
from remit.core.memory.results import BatchSaveResult, SaveStatus
from remit.core.memory.scopes import MAX_ID, memory_id
from remit.core.projects import Workspace
from remit.errors import (
    ArtifactError,
    NotApprovedError,
    RemitError,
    ScopeError,
    StoreError,
    UnknownArtifactError,
)
from remit.memory.project_memory import Memory

Raw = dict[str, Any]
_REFUSED = frozenset({SaveStatus.BLOCKED_SCOPE, SaveStatus.FAILED})
_FAILED_READS = frozenset({"failed", "timed_out"})


class MemoryTools:
    """The group of tools that memory has; calls are made one after the other, off the event loop."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._turn = anyio.Lock()

    def tools(self) -> list[Raw]:
        """Define the tools, always the same and in the same order."""
        return [dict(definition) for definition in DEFINITIONS.values()]

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """What a tool takes; None where there is no such tool."""
        found = DEFINITIONS.get(name)
        return None if found is None else found["inputSchema"]

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None, *, bound_projects: frozenset[str] | None = None
    ) -> Raw:
        """Call a tool, for an endpoint that may know of some projects, or of all.

        Raises:
            KeyError: there is no such tool.
        """
        if name not in DEFINITIONS:
            raise KeyError(name)
        method: Callable[[Mapping[str, Any], frozenset[str] | None], object] = getattr(self._memory, name)
        async with self._turn:
            return await anyio.to_thread.run_sync(lambda: _answer(method, arguments or {}, bound_projects))


def instructions(workspace: Workspace) -> str:
    """Tell a model how to begin and to end."""
    return (
        f"The memory of the project here has the project_id `{memory_id(workspace.project)}`. "
        "Start with retrieve_context; end with save_session."
    )


def _answer(
    method: Callable[[Mapping[str, Any], frozenset[str] | None], object],
    arguments: Mapping[str, Any],
    bound: frozenset[str] | None,
) -> Raw:
    try:
        made = method(arguments, bound)
    except RemitError as error:
        return _result(problem(error, arguments), is_error=True)
    except Exception as error:  # whatever goes wrong, the server goes on
        return _result(_unexpected(error), is_error=True)
    content: Raw = asdict(made)  # pyright: ignore[reportArgumentType] - every tool answers a dataclass
    if isinstance(made, BatchSaveResult):
        content["overall"] = made.overall
    status = content.get("overall", content.get("status"))
    is_refused = status in _REFUSED or content.get("retrieval_status") in _FAILED_READS
    return _result(content, is_error=is_refused)


def problem(error: RemitError, arguments: Mapping[str, Any]) -> Raw:
    """Say what is wrong, in the one shape that all errors have."""
    context: Raw = {key: arguments[key] for key in ("project_id", "focus") if _is_plain(arguments.get(key))}
    if isinstance(error, ArtifactError):
        context |= {"field": error.field, "rule": error.rule, "got": error.got}
    if isinstance(error, NotApprovedError):
        context["approval_id"] = error.approval_id
    code = next(code for sort, code in _CODES.items() if isinstance(error, sort))
    return {"error": True, "code": code, "message": str(error), "context": context, "next_step": error.hint}


_CODES: dict[type[RemitError], str] = {
    UnknownArtifactError: "ENTITY_NOT_FOUND",
    ArtifactError: "INVALID_INPUT",
    ScopeError: "SCOPE_VIOLATION",
    NotApprovedError: "WRITE_NOT_APPROVED",
    StoreError: "GRAPH_UNHEALTHY",
    RemitError: "INTERNAL_ERROR",
}


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and len(value) <= MAX_ID


def _unexpected(error: Exception) -> Raw:
    message = f"this should not have happened ({type(error).__name__}); nothing was written"
    return {"error": True, "code": "INTERNAL_ERROR", "message": message, "context": {}, "next_step": None}


def _result(content: Raw, *, is_error: bool) -> Raw:
    text = json.dumps(content, ensure_ascii=False)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": json.loads(text),
        "isError": is_error,
    }
