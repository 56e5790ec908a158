"""Parses the events that a client sends to hooks, and builds the answers, both as JSON."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from remit.decision.client_reports import stored_call_id
from remit.decision.projects import runs_headless
from remit.decision.tool_names import CALL_TOOL, MCP, served_name, storable
from remit.text.json_values import as_object

_MAX_TEXT = 1_000  # characters of a name or id
_MAX_DIRECTORY = 100_000
_MAX_DURATION = 2**53  # milliseconds
_SUBJECTS = {
    "Skill": ("skill", "command"),
    "SlashCommand": ("command",),
    "Agent": ("subagent_type",),
    "Task": ("subagent_type",),
}
_RESOURCES = "McpResource"  # in the names of the client's tools for resources
_EDITED = {  # the fields with the file that a tool of the client changes
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Write": "file_path",
}

Answer = dict[str, object] | None  # None: no answer


class Event(NamedTuple):
    """An event; fields that are missing or have the wrong type read as absent."""

    name: str
    directory: str  # where the client was started, or else where the event occurred
    session_id: str | None
    is_headless: bool
    fields: Mapping[str, object]
    at: int | None = None  # Unix milliseconds; None: now
    is_unattended: bool = False  # `claude -p`, which refuses what it would ask about

    def text(self, name: str, limit: int = _MAX_TEXT) -> str | None:
        """Read a non-empty text within the length limit."""
        return _text(self.fields.get(name), limit)

    def number(self, name: str) -> int | None:
        """Read an integer number of milliseconds."""
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return int(value) if 0 <= value < _MAX_DURATION else None

    def inner(self, name: str) -> "Event":
        """Read an object as an event; empty if missing."""
        return self._replace(fields=as_object(self.fields.get(name)))

    @property
    def tool(self) -> str | None:
        """The called tool, as the client names it; for `call_tool`, the tool that it names, if any."""
        name = self.text("tool_name")
        called = self.inner("tool_input").text("name") if self._calls_another else None
        if name is None or called is None:
            return name
        own = name.removesuffix(CALL_TOOL)
        return own + (served_name(called) or called.removeprefix(MCP))

    @property
    def through(self) -> str | None:
        """The gateway's tool that calls another; None if the tool is called directly."""
        return self.text("tool_name") if self._calls_another else None

    @property
    def arguments(self) -> "Event":
        """The arguments of the called tool."""
        given = self.inner("tool_input")
        return given.inner("arguments") if self._calls_another else given

    @property
    def _calls_another(self) -> bool:
        return served_name(self.text("tool_name") or "") == CALL_TOOL

    @property
    def call_id(self) -> str | None:
        """The client's id of the call, as it is stored."""
        found = self.text("tool_use_id")
        return None if found is None else stored_call_id(found)

    @property
    def label(self) -> str | None:
        """The client's whole name for the server of the tool."""
        return self.inner("mcp_server").text("name")

    @property
    def source(self) -> str | None:
        """Where the client found the server's declaration."""
        return self.inner("mcp_server").text("source")

    @property
    def server(self) -> str | None:
        """The server of the tool, without the prefix of the plugin that it comes from."""
        label = self.label or ""
        is_plugins = self.source == "plugin" and label.startswith("plugin:") and label.count(":") > 1
        return (label.split(":", 2)[2] if is_plugins else label) or None

    @property
    def reached(self) -> str | None:
        """For a tool of the client that lists or reads resources: the server in its arguments; empty: all."""
        name = self.text("tool_name") or ""
        is_reader = _RESOURCES in name and not name.startswith(MCP)
        return (self.inner("tool_input").text("server") or "") if is_reader else None

    @property
    def edited_file(self) -> str | None:
        """The file that a tool of the client changes, as the model wrote it."""
        path = self.inner("tool_input").fields.get(_EDITED.get(self.tool or "", ""))
        return path if isinstance(path, str) else None

    @property
    def cwd(self) -> str:
        """The directory that relative paths start from."""
        return _text(self.fields.get("cwd"), _MAX_DIRECTORY) or self.directory

    @property
    def subject(self) -> str | None:
        """The skill, command or agent that the tool starts."""
        given = self.inner("tool_input")
        found = [given.text(key) for key in _SUBJECTS.get(self.tool or "", ())]
        words = next((text for text in found if text), "").split()
        return words[0].removeprefix("/") or None if words else None


def read_event(data: bytes, variables: Mapping[str, str]) -> Event:
    """Parse the event of a hook process that has these environment variables.

    Raises:
        ValueError: the data is not an event.
    """
    content: object = json.loads(data.decode(errors="replace"))
    if not isinstance(content, dict):
        raise ValueError("not an object")
    fields = cast("dict[str, object]", content)
    name = _text(fields.get("hook_event_name"), _MAX_TEXT)
    if name is None:
        raise ValueError("no `hook_event_name`")
    session_id = _text(fields.get("session_id"), _MAX_TEXT)
    launched = variables.get("CLAUDE_PROJECT_DIR")
    is_this_session = variables.get("CLAUDE_CODE_SESSION_ID", session_id) == session_id
    here = _text(fields.get("cwd"), _MAX_DIRECTORY) or os.curdir
    return Event(
        name=name,
        directory=launched if launched and is_this_session else here,
        session_id=session_id,
        is_headless=runs_headless(variables),
        fields=fields,
        is_unattended=variables.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli",
    )


def permission_decision(decision: str, reason: str) -> Answer:
    """Build the answer that denies a call, asks for approval, or allows it without asking."""
    return _answer("PreToolUse", permissionDecision=decision, permissionDecisionReason=reason)


def added_context(event: str, text: str, watched: Sequence[str] = ()) -> Answer:
    """Build the answer with context for the model and files to watch; None if both are empty."""
    context = {"additionalContext": text} if text else {}
    watching = {"watchPaths": list(watched)} if watched else {}
    return _answer(event, **context, **watching) if context or watching else None


def with_message(answer: Answer, notices: Sequence[str]) -> Answer:
    """Add a message that the client shows to its user, and not to the model."""
    if not notices:
        return answer
    return {**(answer or {}), "systemMessage": "\n".join(f"Remit: {notice}" for notice in notices)}


def _answer(event: str, **fields: object) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _text(value: object, limit: int) -> str | None:
    return storable(value) if isinstance(value, str) and 0 < len(value) <= limit else None
