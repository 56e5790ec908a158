"""Finds the agents that started a subagent, from the files that Claude Code keeps next to its transcript.

An event names the calling agent (`agent_type`, `agent_id`) and not its parent. The client writes
`SESSION/subagents/agent-ID.meta.json` before the agent's first call, with its type and `parentAgentId`, and
begins the transcript of a session that runs as an agent with an `agent-setting`. Whatever is missing or does
not fit leaves the parent unknown.
"""

import json
import os
import re
from collections.abc import Mapping

from remit.files.bounded_reader import ANYWHERE, FileError, read_bytes, read_start
from remit.hooks.event import Event
from remit.text.json_values import as_object

_MAX_PATH = 4_096
_MAX_DEPTH = 16  # agents above each other
_MAX_META = 8 * 1024 * 1024  # bytes; it contains text of a model, which must not reach the limit
_HEAD = 4_096  # bytes of a transcript that contain its first line
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def find_parents(event: Event) -> tuple[str, ...] | None:
    """Return the agents above the calling agent, nearest first; None if they are not known."""
    transcript = event.text("transcript_path", _MAX_PATH)
    agent_id, agent = event.text("agent_id"), event.text("agent_type")
    if agent_id is None or agent is None or transcript is None:
        return None
    folder = os.path.join(transcript.removesuffix(".jsonl"), "subagents")
    chain: list[str] = []
    depth: object = None
    for _ in range(_MAX_DEPTH):
        meta = _meta(folder, agent_id)
        kind, above = meta.get("agentType"), meta.get("parentAgentId")
        if not isinstance(kind, str) or (not chain and kind != agent):
            return None
        chain.append(kind)
        depth = meta.get("spawnDepth") if len(chain) == 1 else depth
        if above is None:
            return (*chain[1:], *_main_agent(transcript)) if depth == len(chain) else None
        if not isinstance(above, str):
            return None
        agent_id = above
    return None


def _meta(folder: str, agent_id: str) -> Mapping[str, object]:
    if not _ID.fullmatch(agent_id):
        return {}
    try:
        data = read_bytes(
            os.path.join(folder, f"agent-{agent_id}.meta.json"), limit=_MAX_META, within=ANYWHERE
        )
        return _object(data or b"")
    except FileError:
        return {}


def _main_agent(transcript: str) -> tuple[str, ...]:
    """Return the agent that the main session runs as, if it does."""
    try:
        first = (read_start(transcript, size=_HEAD, within=ANYWHERE) or b"").partition(b"\n")[0]
    except FileError:
        return ()
    setting = _object(first).get("agentSetting")
    return (setting,) if isinstance(setting, str) else ()


def _object(data: bytes) -> Mapping[str, object]:
    try:
        return as_object(json.loads(data))
    except (ValueError, RecursionError):
        return {}
