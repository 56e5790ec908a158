"""Events: what a client tells a hook, read without trusting any of it."""

import json
import os
from collections.abc import Mapping
from typing import NamedTuple, cast

from remit.decision.tool_names import MCP, served_name, storable
from remit.decision.views import runs_headless

_LONGEST = 1_000  # characters of a name or an id
_LONGEST_CALL = 2**53  # milliseconds
_CALL = "call_tool"  # by which the gateway calls what it does not list
_SUBJECTS = {
    "Skill": ("skill", "command"),
    "SlashCommand": ("command",),
    "Agent": ("subagent_type",),
    "Task": ("subagent_type",),
}


class Event(NamedTuple):
    """One event; what is missing or of another kind than it should be reads as nothing."""

    name: str
    directory: str  # where the client was started, else where the event happened
    session_id: str | None
    is_headless: bool
    fields: Mapping[str, object]
    at: int | None = None  # when it happened, in Unix milliseconds; None: now

    def text(self, name: str, most: int = _LONGEST) -> str | None:
        """Read a text that is not empty and not too long."""
        return _text(self.fields.get(name), most)

    def number(self, name: str) -> int | None:
        """Read a whole number of milliseconds."""
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return int(value) if 0 <= value < _LONGEST_CALL else None

    def inner(self, name: str) -> "Event":
        """Read an object as if it were an event of its own; one that is missing is empty."""
        return self._replace(fields=_object(self.fields.get(name)))

    @property
    def tool(self) -> str | None:
        """The tool that it is about, as the client calls it; what the gateway calls for another is that."""
        name = self.text("tool_name")
        if not self._calls_another:
            return name
        called = self.inner("tool_input").text("name")
        if name is None or called is None:
            return None
        own = name.removesuffix(_CALL)
        return own + (served_name(called) or called.removeprefix(MCP))

    @property
    def arguments(self) -> "Event":
        """What the tool is given."""
        given = self.inner("tool_input")
        return given.inner("arguments") if self._calls_another else given

    @property
    def _calls_another(self) -> bool:
        return served_name(self.text("tool_name") or "") == _CALL

    @property
    def server(self) -> str | None:
        """The server of its tool; before that of a plugin's server, the client puts the plugin's name."""
        label = self.inner("mcp_server").text("name") or ""
        return (
            label.split(":", 2)[2] if label.startswith("plugin:") and label.count(":") > 1 else label
        ) or None

    @property
    def subject(self) -> str | None:
        """Of a tool that starts a skill, a command or an agent: which."""
        given = self.inner("tool_input")
        found = [given.text(key) for key in _SUBJECTS.get(self.tool or "", ())]
        words = next((text for text in found if text), "").split()
        return words[0].removeprefix("/") or None if words else None


def read(data: bytes, variables: Mapping[str, str]) -> Event:
    """Read an event, as a process gets it with these variables.

    Raises:
        ValueError: it is no event.
    """
    content: object = json.loads(data.decode(errors="replace"))
    if not isinstance(content, dict):
        raise ValueError("not an object")
    fields = cast("dict[str, object]", content)
    name = _text(fields.get("hook_event_name"), _LONGEST)
    if name is None:
        raise ValueError("no `hook_event_name`")
    session_id = _text(fields.get("session_id"), _LONGEST)
    launched = variables.get("CLAUDE_PROJECT_DIR")
    is_this_session = variables.get("CLAUDE_CODE_SESSION_ID", session_id) == session_id
    here = _text(fields.get("cwd"), 100_000) or os.curdir
    return Event(
        name=name,
        directory=launched if launched and is_this_session else here,
        session_id=session_id,
        is_headless=runs_headless(variables),
        fields=fields,
    )


def _text(value: object, most: int) -> str | None:
    return storable(value) if isinstance(value, str) and 0 < len(value) <= most else None


def _object(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
