"""The events that a client sends to hooks, and the answers, both as JSON."""

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, cast

from remit.decision import CALL_TOOL, MCP, STARTERS, runs_headless, served_name
from remit.store import storable

_MAX_TEXT = 1_000  # characters of a name or id
MAX_PATH = 4_096
_MAX_DIRECTORY = 100_000
_MAX_DURATION = 2**53  # milliseconds
_LONGEST_ID = 256  # characters of a call's id as it is stored
_SUBJECTS = ("skill", "command", "subagent_type")  # arguments that name what a tool starts
_RESOURCES = "McpResource"  # in the names of the client's tools for resources

Answer = Mapping[str, object] | None  # None: nothing to say


class Event(NamedTuple):
    """An event; fields that are missing or have the wrong type read as absent."""

    name: str
    directory: str  # where the client was launched, or else where the event happened
    session: str | None
    is_headless: bool
    is_unattended: bool  # `claude -p`, which refuses what it would ask about
    fields: Mapping[str, object]
    parents: tuple[str, ...] | None = ()  # the agents above the calling one, nearest first; None: unknown

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
        value = self.fields.get(name)
        return self._replace(fields=cast("dict[str, object]", value) if isinstance(value, dict) else {})

    @property
    def calls_another(self) -> bool:
        """Whether the gateway's `call_tool` is called, whose arguments name the tool."""
        return served_name(self.text("tool_name") or "") == CALL_TOOL

    @property
    def tool(self) -> str | None:
        """The called tool, as the client names it; for `call_tool`, the tool that it names, if any."""
        name = self.text("tool_name")
        called = self.inner("tool_input").text("name") if self.calls_another else None
        if name is None or called is None:
            return name
        return name.removesuffix(CALL_TOOL) + (served_name(called) or called.removeprefix(MCP))

    @property
    def called(self) -> str:
        """The called tool; empty if the event names none that can be read."""
        return self.tool or ""

    @property
    def is_agents(self) -> bool:
        """Whether a subagent makes the call."""
        return self.fields.get("agent_id") is not None

    @property
    def agent(self) -> str | None:
        """The calling agent; None: the main session."""
        return self.text("agent_type") or ("" if self.is_agents else None)

    @property
    def mode(self) -> str:
        """The client's mode."""
        return self.text("permission_mode") or ""

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments of the called tool."""
        given = self.inner("tool_input")
        return given.inner("arguments").fields if self.calls_another else given.fields

    @property
    def call_id(self) -> str | None:
        """The client's id of the call, as it is stored."""
        id = self.text("tool_use_id")
        return id if id is None or len(id) <= _LONGEST_ID else sha256(id.encode()).hexdigest()

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
        """For a tool of the client that reads resources: the server in its arguments, if it names one."""
        name = self.text("tool_name") or ""
        is_reader = _RESOURCES in name and not name.startswith(MCP)
        return self.inner("tool_input").text("server") if is_reader else None

    @property
    def subject(self) -> str | None:
        """The skill, command or agent that the tool starts."""
        if self.tool not in STARTERS:
            return None
        given = self.inner("tool_input")
        words = next((text for key in _SUBJECTS if (text := given.text(key))), "").split()
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
    session = _text(fields.get("session_id"), _MAX_TEXT)
    launched = variables.get("CLAUDE_PROJECT_DIR")
    is_this_session = variables.get("CLAUDE_CODE_SESSION_ID", session) == session
    here = _text(fields.get("cwd"), _MAX_DIRECTORY) or os.curdir
    return Event(
        name,
        launched if launched and is_this_session else here,
        session,
        runs_headless(variables),
        variables.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli",
        fields,
    )


def permission(decision: str, reason: str) -> Answer:
    """Build the answer that denies a call, asks about it, or allows it without a question."""
    return _answer("PreToolUse", permissionDecision=decision, permissionDecisionReason=reason)


def refused_request(reason: str) -> Answer:
    """Build the answer that refuses what a client without a person would refuse anyway."""
    return _answer("PermissionRequest", decision={"behavior": "deny", "message": reason})


def told(event: str, context: str, messages: Sequence[str] = ()) -> Answer:
    """Build the answer with context for the model, and messages that the client shows to its user."""
    answer = dict(_answer(event, additionalContext=context) or {}) if context else {}
    if messages:
        answer["systemMessage"] = "\n".join(f"Remit: {message}" for message in messages)
    return answer or None


def _answer(event: str, **fields: object) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _text(value: object, limit: int) -> str | None:
    return storable(value) if isinstance(value, str) and 0 < len(value) <= limit else None
