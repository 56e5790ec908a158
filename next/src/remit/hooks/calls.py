"""Handles the events of calls: decides before a call, and counts a use afterwards."""

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, cast

# Past its package, for the start-up of each call: the rows need nothing else of the catalog.
from remit.catalog.rows import tools_named
from remit.config import Configuration, Configurations, data_directory
from remit.decision import (
    MCP,
    STARTERS,
    ClientPermissions,
    Context,
    Decision,
    LaunchFlags,
    Snapshot,
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
from remit.hooks.client_calls import CallDecision, ClientCall, decide_call, depends_on_caller, inner_tool
from remit.hooks.event import MAX_PATH, Answer, permission, refused_request
from remit.hooks.kept import CLIENT, NEVER_KEPT, version
from remit.hooks.main import log_failure
from remit.store import KeptKey, Store, open_store

if TYPE_CHECKING:
    from remit.hooks.event import Event
    from remit.hooks.main import Hook

HOOK = "hook"  # the endpoint of logged calls
_DECIDING, _COUNTING = 2.0, 0.5  # seconds to wait for a locked database; a use must be counted within one
_MAX_DEPTH = 16  # agents above each other
_MAX_META = 8 * 1024 * 1024  # bytes; it holds text of a model, which must not reach the limit
_HEAD = 4_096  # bytes of a transcript that contain its first line
_MAX_NAME, _MAX_REASON = 256, 1_000


class _Here(NamedTuple):
    """The store, and the context of an event, with rules and permissions."""

    store: Store
    machine: Machine
    context: Context
    configuration: Configuration
    configurations: Configurations
    revision: int

    def snapshot(self, names: Sequence[str]) -> Snapshot:
        from remit.states import States  # few rules depend on states

        states = States(self.store.states, self.configurations, self.machine, _now)
        return states.snapshot(self.context, names)


def _now() -> int:
    import time

    return time.time_ns() // 1_000_000


@contextmanager
def _opened(patience: float) -> Generator[Store]:
    with open_store(os.path.join(data_directory(this_machine()), "remit.sqlite"), patience=patience) as store:
        yield store


def _here(event: "Event", hook: "Hook", store: Store) -> _Here:
    """Read what decides about the calls of an event; files that changed are read again first."""
    machine = this_machine()
    context = Context(locate(event.directory), CLIENT, LaunchFlags(event.is_headless), home=machine.home)
    view = context.view(CLIENT)
    if not Fingerprints(store.scans.inputs(view), machine).are_unchanged():
        with hook.parts.open_registry() as registry:
            registry.clients.refresh(context)
    revision = store.catalog.revision()
    configurations = Configurations(store, machine, hook.now)
    configuration = configurations.current(context.workspace)
    facts = store.scans.clients(view).get(CLIENT)
    permissions = (
        {CLIENT: ClientPermissions(facts.permissions)} if facts is not None and facts.permissions else {}
    )
    context = context._replace(rules=configuration.rules, permissions=permissions)
    return _Here(store, machine, context, configuration, configurations, revision)


def before_call(event: "Event", hook: "Hook") -> Answer:
    """Deny a call, or ask about it, unless nothing objects.

    Raises:
        NotFoundError: the directory does not exist.
        StoreError: the database cannot be used.
        ValueError: the event names no tool, or its name is too long.
    """
    call = read_call(event)
    with _opened(_DECIDING) as store:
        here = _here(event, hook, store)
        decided, is_lasting = _decide(call, event, hook, here)
        answer = _answer(call, decided, event)
        is_refused = decided.decision.verdict is Verdict.HIDDEN
        if is_refused or (decided.decision.verdict is Verdict.ASK and event.is_unattended):
            _log_refusal(call, decided, event, hook, here)
        elif answer is None and is_lasting:
            with suppress(StoreError):  # the answer is right even if it cannot be kept
                _keep(event, hook, here)
    return answer


def read_call(event: "Event") -> ClientCall:
    """Read the call of an event.

    Raises:
        ValueError: the event names no tool, or its name is too long.
    """
    if event.tool is None:
        raise ValueError("no readable `tool_name`")
    is_agents = event.fields.get("agent_id") is not None
    return ClientCall(
        event.tool,
        event.server,
        event.label,
        event.source,
        event.subject,
        event.reached,
        event.text("agent_type") or ("" if is_agents else None),
        find_parents(event) if is_agents else (),
        event.text("permission_mode"),
        event.calls_another,
    )


def _decide(call: ClientCall, event: "Event", hook: "Hook", here: _Here) -> tuple[CallDecision, bool]:
    """Decide about a call, and tell whether the decision stays until a file or the catalog changes."""
    rows = tools_named(here.store, here.configuration, call.names, here.context)
    context = here.context
    conditions = [
        part
        for name in dict.fromkeys((*call.names, *(row.name for row in rows)))
        for rule in context.rules.of(name)
        for part in (rule.condition, rule.call, rule.approval)
        if not isinstance(part, bool | None)
    ]
    if conditions:
        names = sorted({name for part in conditions for name in part.mentions.states})
        context = context._replace(snapshot=here.snapshot(names), args=event.arguments)
    if here.configuration.filters:
        with hook.parts.open_registry() as registry:
            catalog = registry.catalog(here.context)
            context = context._replace(refusals=catalog.with_answers(registry.snapshot(catalog)).refusals)
    is_lasting = not conditions and not here.configuration.filters and not depends_on_caller(call, context)
    return decide_call(call, rows, context), is_lasting


def _answer(call: ClientCall, decided: CallDecision, event: "Event") -> Answer:
    decision = decided.decision
    if decision.verdict is Verdict.VISIBLE:
        is_asked = decided.lifts and call.mode != "plan"
        return permission("allow", "Remit: allowed by the client's permission rules.") if is_asked else None
    if decision.verdict is Verdict.ASK and not event.is_unattended:
        return permission("ask", f"Remit: {_line(decision.full_reason)}.")
    return permission("deny" if decision.verdict is Verdict.HIDDEN else "ask", _refusal(call, decided))


def _refusal(call: ClientCall, decided: CallDecision) -> str:
    """Write what a model reads of a refusal: the rule, and who can change it."""
    decision, name = decided.decision, _line(call.subject or call.name, _MAX_NAME)
    if decision.verdict is Verdict.ASK:  # `claude -p` refuses with this text, so it says what to change
        reason = _line(decision.full_reason)
        return f"Remit: `{name}` needs the user's permission: {reason}. {_only_user(decided)}"
    gate = f" (gate `{decision.gate}`)" if decision.gate else ""
    step = f"{decision.next_step.text}. " if decision.next_step is not None else ""
    return (
        f"Remit: `{name}` is not available here{gate}: {_line(decision.reason)}. {step}{_only_user(decided)}"
    )


def _only_user(decided: CallDecision) -> str:
    return f"Only the user can change this: `remit why {_line(decided.tool, _MAX_NAME)}` says how."


def _line(text: str, most: int = _MAX_REASON) -> str:
    from remit.text import one_line  # most calls are answered with nothing

    return one_line(text, most)


def _keep(event: "Event", hook: "Hook", here: _Here) -> None:
    """Keep that there is nothing to say about a call."""
    tool, agent = event.text("tool_name") or "", event.text("agent_type") or ""
    if tool in NEVER_KEPT or (event.fields.get("agent_id") is not None and not agent):
        return
    workspace = here.context.workspace
    key = KeptKey(
        CLIENT,
        here.context.flags.key,
        tool,
        event.label or "",
        event.source or "",
        "",
        agent,
        event.text("permission_mode") or "",
    )
    here.store.usage.keep_answer(key, version(workspace.dir), here.revision, workspace, hook.now())


def permission_requested(event: "Event", hook: "Hook") -> Answer:
    """Where nobody can answer the client's question about a server's tool, name the rule that would allow it."""
    call = read_call(event)
    if not event.is_unattended or not call.name.startswith(MCP):
        return None
    with _opened(_DECIDING) as store:
        here = _here(event, hook, store)
        rows = tools_named(store, here.configuration, call.names, here.context)
        tool = inner_tool(call, rows) or next((row for row in rows if row.name == call.name), None)
        permissions = here.context.permissions.get(CLIENT) or ClientPermissions()
        asking = None if tool is None else permissions.asking(tool)
        name = call.name if tool is None else tool.name
        if asking is not None:
            place = here.context.reads(asking.origin)
            reason = (
                f"the rule `{asking.text}` asks about it; to allow it, the user removes that from {place}"
            )
        else:
            folder = here.machine.variables.get("CLAUDE_CONFIG_DIR") or "~/.claude"
            reason = (
                f"no permission rule allows it; to allow it, the user adds `{name}` to `permissions.allow` "
                f"in {folder}/settings.json, or in .claude/settings.local.json for this project"
            )
        decision = Decision(Verdict.ASK, None, reason)
        _log_refusal(call, CallDecision(decision, tool=name), event, hook, here)
    return refused_request(
        f"Remit: `{_line(call.name, _MAX_NAME)}` needs the user's permission: {_line(reason)}."
    )


def _log_refusal(call: ClientCall, decided: CallDecision, event: "Event", hook: "Hook", here: _Here) -> None:
    """Log a refused call; if that fails, it is still refused."""
    from remit.store import Call

    decision = decided.decision
    entry = Call(
        hook.now(),
        HOOK,
        CLIENT,
        call.agent,
        None,
        decided.tool or call.name,
        decision.verdict.value,
        None if decision.gate is None else decision.gate.value,
        "refused",
        session=event.session,
        call_id=event.call_id,
    )
    try:
        here.store.calls.add([entry], here.context.workspace)
    except StoreError as error:
        log_failure(event.name, error)


def after_call(event: "Event", hook: "Hook") -> Answer:
    """Count a call that succeeded."""
    return _count(event, hook, "done")


def after_failed_call(event: "Event", hook: "Hook") -> Answer:
    """Count a call that failed; an interrupted call has no outcome, nor has a failing command of a tool."""
    is_tools = (event.tool or "").startswith(MCP) or event.tool in STARTERS
    return _count(
        event, hook, "failed" if is_tools and event.fields.get("is_interrupt") is not True else "cancelled"
    )


def prompt_expanded(event: "Event", hook: "Hook") -> Answer:
    """Count a skill or command that a person started by its name."""
    name = event.text("command_name")
    if name is not None and event.fields.get("expansion_type") == "slash_command":
        started = {"tool_name": "Skill", "tool_input": {"skill": name}}
        _count(event._replace(fields=started), hook, "done", is_known=True)
    return None


def _count(event: "Event", hook: "Hook", outcome: str, *, is_known: bool = False) -> Answer:
    """Log and count a use; the gateway counts its own."""
    name = event.tool
    if name is None or served_name(name) is not None:
        return None
    from remit.store import Call

    with _opened(_COUNTING) as store:
        machine, workspace = this_machine(), locate(event.directory)
        context = Context(workspace, CLIENT, LaunchFlags(event.is_headless))
        started = _started(event, store, context)
        if started is None and is_known:
            return None
        name = started or name
        answer = event.fields.get("tool_response" if outcome == "done" else "error")
        entry = Call(
            hook.now(),
            HOOK,
            CLIENT,
            event.text("agent_type"),
            None,
            name,
            "visible",  # it ran, so the client or its user allowed it
            None,
            outcome,
            event.number("duration_ms") or 0,
            _size(event.arguments),
            0 if answer is None else _size(answer),
            event.session,
            event.call_id,
        )
        store.calls.add([entry], workspace)
        if outcome == "done":
            configurations = Configurations(store, machine, hook.now)
            if any(state.on or state.off for state in configurations.current(workspace).states.values()):
                from remit.states import States  # few projects have workflows

                States(store.states, configurations, machine, hook.now).advance(name, context)
    return None


def _started(event: "Event", store: Store, context: Context) -> str | None:
    """Return the skill, command or agent that a call starts, by its name in the catalog; it counts itself."""
    subject, kinds = event.subject, STARTERS.get(event.tool or "", ())
    if subject is None:
        return None
    rows = store.catalog.named([subject, f"/{subject}"], context)
    return next((row.tool.name for row in rows if row.tool.kind in kinds), None)


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
