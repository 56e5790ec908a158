"""Handles the events of calls: decides before a call, and counts a use afterwards."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.catalog import tools_named
from remit.config import Configuration, Configurations, data_directory
from remit.decision import (
    MCP,
    NO_RULES,
    STARTERS,
    ClientPermissions,
    Context,
    Decision,
    LaunchFlags,
    Tool,
    Verdict,
    served_name,
)
from remit.errors import StoreError
from remit.files import (
    ANYWHERE,
    FileError,
    Fingerprints,
    Machine,
    locate,
    read_bytes,
    read_start,
    this_machine,
)
from remit.hooks.client_calls import (
    CallDecision,
    decide_call,
    depends_on_caller,
    inner_tool,
    names_of,
    used_rows,
)
from remit.hooks.event import MAX_PATH, Answer, permission, refused_request
from remit.hooks.kept import CLIENT, NEVER_KEPT, version
from remit.hooks.main import log_failure
from remit.store import KeptKey, Store, open_store

if TYPE_CHECKING:
    from remit.hooks.event import Event
    from remit.hooks.main import Hook
    from remit.store import Call

HOOK = "hook"  # the endpoint of logged calls
_DECIDING, _COUNTING = 2.0, 0.5  # seconds to wait for a locked database; a use must be counted within one
_FILTERING = 0.8  # seconds for filters in Python
_MAX_DEPTH = 16  # agents above each other
_MAX_META = 8 * 1024 * 1024  # bytes; it holds text of a model, which must not reach the limit
_HEAD = 4_096  # bytes of a transcript that contain its first line
_MAX_NAME, _MAX_REASON = 256, 1_000
_NONE = ClientPermissions()


class _Scene(NamedTuple):
    """What decides about the calls of an event."""

    store: Store
    machine: Machine
    context: Context  # with rules and permissions
    configurations: Configurations
    revision: int

    @property
    def configuration(self) -> Configuration:
        return self.configurations.current(self.context.workspace)

    def rows(self, call: "Event") -> list[Tool]:
        return tools_named(self.store, self.configuration, names_of(call), self.context)


def _open(patience: float) -> Store:
    return open_store(os.path.join(data_directory(this_machine()), "remit.sqlite"), patience=patience)


def _scene(event: "Event", hook: "Hook", store: Store) -> _Scene:
    """Read the rules and permissions of an event; files that changed are read again first."""
    machine = this_machine()
    context = Context(locate(event.directory), CLIENT, LaunchFlags(event.is_headless), home=machine.home)
    view = context.view(CLIENT)
    if not Fingerprints(store.scans.inputs(view), machine).are_unchanged():
        with hook.parts.open_registry() as registry:
            registry.clients.refresh(context)
    configurations = Configurations(store, machine, hook.now)
    rules = configurations.current(context.workspace).rules  # which may raise the revision
    revision = store.catalog.revision()
    facts = store.scans.clients(view).get(CLIENT)
    permissions = {} if facts is None else {CLIENT: ClientPermissions(facts.permissions)}
    context = context._replace(rules=rules, permissions=permissions)
    return _Scene(store, machine, context, configurations, revision)


def before_call(event: "Event", hook: "Hook") -> Answer:
    """Deny a call, or ask about it, unless nothing objects.

    Raises:
        NotFoundError: the directory does not exist.
        StoreError: the database cannot be used.
        ValueError: the event names no tool, or its name is too long.
    """
    call = _read_call(event)
    with _open(_DECIDING) as store:
        scene = _scene(event, hook, store)
        decided, is_lasting = _decide(call, hook, scene)
        verdict, answer = decided.decision.verdict, _answer(call, decided)
        if verdict is Verdict.HIDDEN or (verdict is Verdict.ASK and event.is_unattended):
            _log_refusal(call, decided, hook, scene)
        elif answer is None and is_lasting:
            with suppress(StoreError):  # the answer is right even if it cannot be kept
                _keep(call, hook, scene)
    return answer


def _read_call(event: "Event") -> "Event":
    if event.tool is None:
        raise ValueError("no readable `tool_name`")
    return event._replace(parents=find_parents(event)) if event.is_agents else event


def _decide(call: "Event", hook: "Hook", scene: _Scene) -> tuple[CallDecision, bool]:
    """Decide about a call, and tell whether the decision stays until a file or the catalog changes."""
    rows, context = scene.rows(call), scene.context
    conditions = [
        part
        for name in dict.fromkeys((*names_of(call), *(row.name for row in rows)))
        for rule in context.rules.of(name)
        for part in (rule.condition, rule.call, rule.approval)
        if not isinstance(part, bool | None)
    ]
    if conditions:
        from remit.states import States  # few rules have conditions

        states = States(scene.store.states, scene.configurations, scene.machine, hook.now)
        names = sorted({name for part in conditions for name in part.mentions.states})
        context = context._replace(snapshot=states.snapshot(context, names), args=call.arguments)
    if scene.configuration.filters:
        with hook.parts.open_registry() as registry:
            catalog = registry.catalog(scene.context._replace(rules=NO_RULES, permissions={}))
            caller = registry.as_agent(call.agent, context, call.parents)
            used = used_rows(call, rows, context)
            if catalog.filters is not None:
                refusals = catalog.filters.refusals(used, catalog.definitions, caller, _FILTERING)
                context = context._replace(refusals=refusals)
    is_lasting = not conditions and not scene.configuration.filters and not depends_on_caller(call, context)
    return decide_call(call, rows, context), is_lasting


def _answer(call: "Event", decided: CallDecision) -> Answer:
    """Write what the client is told; a refusal names the rule, and who can change it."""
    decision = decided.decision
    if decision.verdict is Verdict.VISIBLE:
        return permission("allow", "Remit: a rule of the client allows it.") if decided.lifts else None
    if decision.verdict is Verdict.ASK and not call.is_unattended:
        return permission("ask", f"Remit: {_line(decision.full_reason)}.")
    tool, name = _line(decided.tool, _MAX_NAME), _line(call.subject or call.called, _MAX_NAME)
    way = f"Only the user can change this: `remit why {tool}` says how."
    if decision.verdict is Verdict.ASK:  # `claude -p` refuses with this text, so it says what to change
        reason = f"needs the user's permission: {_line(decision.full_reason)}"
        return permission("ask", f"Remit: `{name}` {reason}. {way}")
    if decision.next_step is not None:
        steps = " or ".join(f"`{tool}`" for tool in decision.next_step.tools)
        way = f"{decision.next_step.text}{' of ' if steps else ''}{steps}."
    reason = f"is not available here: {_line(decision.reason)}"
    return permission("deny", f"Remit: `{name}` {reason}. {way}")


def _line(text: str, most: int = _MAX_REASON) -> str:
    from remit.text import one_line  # most calls are answered with nothing

    return one_line(text, most)


def _keep(call: "Event", hook: "Hook", scene: _Scene) -> None:
    """Keep that there is nothing to say about a call."""
    tool = call.text("tool_name") or ""
    if tool in NEVER_KEPT or call.agent == "":
        return
    flags, workspace = scene.context.flags.key, scene.context.workspace
    server, source, agent = call.label or "", call.source or "", call.agent or ""
    key = KeptKey(CLIENT, flags, tool, server, source, "", agent, call.mode)
    scene.store.usage.keep_answer(key, version(workspace.dir), scene.revision, workspace, hook.now())


def permission_requested(event: "Event", hook: "Hook") -> Answer:
    """Where nobody can answer the client's question about a tool, name the rule that would allow it."""
    call = _read_call(event)
    if not event.is_unattended or not call.called.startswith(MCP):
        return None
    with _open(_DECIDING) as store:
        scene = _scene(event, hook, store)
        rows = scene.rows(call)
        tool = inner_tool(call, rows) or next((row for row in rows if row.name == call.called), None)
        rule = None if tool is None else scene.context.permissions.get(CLIENT, _NONE).asking(tool)
        name = call.called if tool is None else tool.name
        if rule is not None:
            place = scene.context.reads(rule.origin)
            reason = f"the rule `{rule.text}` asks about it; to allow it, the user removes that from {place}"
        else:
            folder = scene.machine.variables.get("CLAUDE_CONFIG_DIR") or "~/.claude"
            reason = (
                f"no permission rule allows it; to allow it, the user adds `{name}` to `permissions.allow` "
                f"in {folder}/settings.json, or in .claude/settings.local.json for this project"
            )
        decided = CallDecision(Decision(Verdict.ASK, None, reason), tool=name)
        _log_refusal(call, decided, hook, scene)
    shown = _line(call.called, _MAX_NAME)
    return refused_request(f"Remit: `{shown}` needs the user's permission: {_line(reason)}.")


def _log_refusal(call: "Event", decided: CallDecision, hook: "Hook", scene: _Scene) -> None:
    """Log a refused call; if that fails, it is still refused."""
    verdict, gate = decided.decision.verdict.value, decided.decision.gate
    entry = _entry(call, hook, decided.tool or call.called, "refused")
    entry = entry._replace(verdict=verdict, gate=None if gate is None else gate.value)
    try:
        scene.store.calls.add([entry], scene.context.workspace)
    except StoreError as error:
        log_failure(call.name, error)


def _entry(event: "Event", hook: "Hook", tool: str, outcome: str) -> "Call":
    """Make the entry of a call for the log; it ran, or its verdict is set later."""
    from remit.store import Call  # most calls are not logged

    entry = Call(hook.now(), HOOK, CLIENT, event.agent or None, None, tool, "visible", None, outcome)
    return entry._replace(session=event.session, call_id=event.call_id)


def after_call(event: "Event", hook: "Hook") -> Answer:
    """Count a call that succeeded."""
    return _count(event, hook, "done")


def after_failed_call(event: "Event", hook: "Hook") -> Answer:
    """Count a call that failed; an interrupted one has no outcome, nor has a failing command of a tool."""
    is_tools = (event.tool or "").startswith(MCP) or event.tool in STARTERS
    is_failure = is_tools and event.fields.get("is_interrupt") is not True
    return _count(event, hook, "failed" if is_failure else "cancelled")


def prompt_expanded(event: "Event", hook: "Hook") -> Answer:
    """Count a skill or command that a person started by its name."""
    name = event.text("command_name")
    if name is not None and event.fields.get("expansion_type") == "slash_command":
        _count(event._replace(fields={"tool_name": "Skill", "tool_input": {"skill": name}}), hook, "typed")
    return None


def _count(event: "Event", hook: "Hook", outcome: str) -> Answer:
    """Log and count a use of a tool, or of what it starts; the gateway counts its own."""
    name = event.tool
    if name is None or served_name(name) is not None:
        return None
    with _open(_COUNTING) as store:
        machine, context = this_machine(), Context(locate(event.directory), CLIENT)
        started, kinds = event.subject, STARTERS.get(name, ())
        rows = () if started is None else store.catalog.named([started, f"/{started}"], context)
        known = next((row.tool.name for row in rows if row.tool.kind in kinds), None)
        if known is None and outcome == "typed":
            return None
        outcome = "done" if outcome == "typed" else outcome
        answer = event.fields.get("tool_response" if outcome == "done" else "error")
        sizes = {"bytes_in": _size(event.arguments), "bytes_out": 0 if answer is None else _size(answer)}
        entry = _entry(event, hook, known or name, outcome)
        entry = entry._replace(duration_ms=event.number("duration_ms") or 0, **sizes)
        store.calls.add([entry], context.workspace)
        configurations = Configurations(store, machine, hook.now)
        if outcome == "done" and configurations.current(context.workspace).transitions(entry.tool):
            from remit.states import States  # few projects have workflows

            States(store.states, configurations, machine, hook.now).advance(entry.tool, context)
    return None


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def find_parents(event: "Event") -> tuple[str, ...] | None:
    """Return the agents above the calling agent, nearest first; None if they are not known.

    An event names the calling agent and not its parent. Before the agent's first call, the client writes
    `SESSION/subagents/agent-ID.meta.json` with its type and `parentAgentId`, and the transcript of a session
    that runs as an agent begins with an `agent-setting`.
    """
    transcript = event.text("transcript_path", MAX_PATH)
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
    if not agent_id.replace("-", "").replace("_", "").isalnum() or not agent_id.isascii():
        return {}
    try:
        path = os.path.join(folder, f"agent-{agent_id}.meta.json")
        return _object(read_bytes(path, limit=_MAX_META, within=ANYWHERE) or b"")
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
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
