"""Parses the content of a configuration file, and lists all its mistakes."""

import os
import re
from typing import Literal

from remit.configuration.access_tables import ACCESS_SECTIONS, read_access, read_identity, read_limits
from remit.configuration.config_model import (
    ANY_PROJECT,
    CREDENTIALS,
    PRINCIPAL,
    AccessLists,
    ConfigurationContent,
    ConfigurationMistake,
    Namespace,
    PresentationOptions,
    RetentionOptions,
    Room,
    SandboxOptions,
    ServerOptions,
    SessionOptions,
    StateEntry,
    Strategy,
    ToolEntry,
)
from remit.configuration.detector_kinds import TRAITS, DetectorKind
from remit.configuration.detector_tables import is_showable, read_detector
from remit.configuration.store_place import (
    ADDRESSES,
    KEY_FILE,
    address_problem,
    password_file_of,
    path_problem,
)
from remit.configuration.table_fields import TableFields, listed
from remit.decision.definitions.definition_changes import ChangePolicy
from remit.decision.requirements import LocationScope, StateScope
from remit.decision.tool_names import GATEWAY_TOOLS
from remit.text.spelling import did_you_mean

DANGERS = ("safe", "low", "moderate", "destructive", "critical")
KINDS = ("location", "capability", "entity", "workflow")
WORKFLOW = "workflow"
LOCATION = "location"

SINGLE = "single"  # one session, at one gateway of all that share a store
SESSIONS = ("shared", "own", SINGLE)
PROMOTE_IN_SESSION, PROMOTE_ON_REOPEN = "session", "reopen"  # when a tool that was found is listed
FOUND, LISTED, OFF = "found", "listed", "off"  # how to serve the memory tools

MODES = ("plan", "default", "acceptEdits", "dontAsk", "bypass")

_TABLES = (
    "states",
    "tools",
    "servers",
    "agents",
    "rooms",
    "namespaces",
    "context",
    "suggestions",
    "memory",
    "filters",
    "retention",
    "trust",
)
_STORE_CHECKS = {
    **dict.fromkeys(ADDRESSES, address_problem),
    **dict.fromkeys((KEY_FILE, *map(password_file_of, ADDRESSES)), path_problem),
}
_PRESENTATION = ("strategy", "token_budget")
_SECTIONS = (
    *_PRESENTATION,
    "result_budget",
    "promote",
    "pinned",
    "own_tools",
    "env",
    "mode",
    "ask_from",
    "notifications",
    "allow",
    "block",
    *_STORE_CHECKS,
    *_TABLES,
    *ACCESS_SECTIONS,
)
_SERVER_OPTIONS = ("prefix", "sessions", "inherit_env", "deadline", "credentials")
_PROJECTS = f'for example `["~/code/shop"]`, or `["{ANY_PROJECT}"]` for all projects'
_SANDBOX_EXAMPLE = 'for example `{ network = false, read = ["."], write = ["out"] }`'
_STATE = ("kind", "description", "implies", "on", "off", "agents")
_TOOL = ("states", "when", "location", "namespace", "danger", "approval", "ai_enabled", "result_budget")
_NAME = r"[a-z0-9]+([-_][a-z0-9]+)*(\.[a-z0-9]+([-_][a-z0-9]+)*)*"
_LONGEST_NAME = 100
_LARGEST_BUDGET = 1_000_000
_SMALLEST_RESULT = 500  # tokens; less has no room for the shape of a result
_LONGEST_CALL = 86_400.0  # seconds
_BY_EVENT = ("on", "off")
_LONGEST_ANSWER = 10_000  # characters of a hook's output that reach the model


def read(content: object) -> tuple[ConfigurationContent, list[ConfigurationMistake]]:
    """Parse a file; do not use its content if it has mistakes."""
    mistakes: list[ConfigurationMistake] = []
    top = TableFields(content, (), mistakes)
    top.only(_SECTIONS)
    memory = top.table("memory")
    found = ConfigurationContent(
        strategy=top.one_of("strategy", tuple(Strategy)),
        token_budget=top.whole("token_budget", 0, _LARGEST_BUDGET),
        result_budget=_result_budget(top),
        promote=top.one_of("promote", (PROMOTE_IN_SESSION, PROMOTE_ON_REOPEN)),
        pinned=top.texts("pinned") or (),
        own_tools=_own_tools(top),
        env=_variables(top),
        states=tuple(_state(name, fields) for name, fields in top.tables("states")),
        tools=tuple(_tool(pattern, fields) for pattern, fields in top.tables("tools")),
        servers=tuple(_server(name, fields) for name, fields in top.tables("servers")),
        agents=tuple(_agent(name, fields) for name, fields in top.tables("agents")),
        rooms=tuple(_room(name, fields) for name, fields in top.tables("rooms")),
        namespaces=tuple(_namespace(name, fields) for name, fields in top.tables("namespaces")),
        everyone=_both("", top),
        mode=top.one_of("mode", MODES),
        ask_from=top.one_of("ask_from", DANGERS),
        notifications=top.flag("notifications"),
        session=_session(top.table("context"), top.table("suggestions"), memory),
        memory=_memory(memory),
        filters=_filters(top.table("filters")),
        memory_projects=memory.texts("projects"),
        names_store=_names_store(top),
        retention=_retention(top.table("retention")),
        changes=_changes(top.table("trust")),
        identity=read_identity(top),
        access=read_access(top),
        limits=read_limits(top),
    )
    return found, mistakes


def _names_store(top: TableFields) -> bool:
    given = top.given(_STORE_CHECKS)
    for key in given:
        problem = _STORE_CHECKS[key](top.text(key))
        if problem:
            top.note(key, problem)
    return bool(given)


def _variables(top: TableFields) -> tuple[str, ...]:
    names = top.texts("env") or ()
    for name in names:
        if not is_showable(name):
            top.note("env", f"`{name}` sounds like a secret, and conditions show the values they compare")
    return names


def _state(name: str, fields: TableFields) -> StateEntry:
    fields.only((*_STATE, *DetectorKind, *_beside(fields)))
    if not is_state_name(name):
        fields.note(
            "", "not the name of a state", "use lowercase letters and digits, joined by `-`, `_` or `.`"
        )
    if name == LOCATION:
        fields.note("", "this name is reserved for the user's location")
    detector = read_detector(fields)
    by_event = fields.given(_BY_EVENT)
    default = WORKFLOW if by_event else "capability"
    kind = fields.one_of("kind", KINDS) or default
    if kind == WORKFLOW and detector is not None:
        fields.note(detector.kind, "a workflow state is set by commands and tools, and has no detector")
    if kind != WORKFLOW and by_event:
        fields.note(by_event[0], "only a state of the kind `workflow` follows what tools do")
    agents = fields.flag("agents")
    if agents and kind != WORKFLOW and (detector is None or not detector.is_pushed):
        fields.note("agents", "only workflow states and pushed states are set by commands")
    implies = fields.texts("implies") or ()
    for other in implies:
        if not is_state_name(other):
            fields.note("implies", f"`{other}` is not the name of a state")
    return StateEntry(
        name=name,
        kind=kind,
        description=fields.text("description") or "",
        detector=detector,
        implies=implies,
        on=fields.text_or_texts("on"),
        off=fields.text_or_texts("off"),
        agents=agents or False,
    )


def _beside(fields: TableFields) -> tuple[str, ...]:
    return tuple(key for kind in fields.given(DetectorKind) for key in TRAITS[DetectorKind(kind)].options)


def is_state_name(name: str) -> bool:
    """Return whether a state may have this name."""
    return len(name) <= _LONGEST_NAME and re.fullmatch(_NAME, name) is not None


def _tool(pattern: str, fields: TableFields) -> ToolEntry:
    fields.only(_TOOL)
    if not pattern.strip():
        fields.note("", "the pattern is empty", "write `*` for all tools")
    return ToolEntry(
        pattern=pattern,
        states=_asked(fields),
        when=fields.text("when"),
        location=_place(fields),
        namespace=fields.text("namespace"),
        danger=fields.one_of("danger", DANGERS),
        approval=fields.flag("approval"),
        ai_enabled=fields.flag("ai_enabled"),
        result_budget=_result_budget(fields),
    )


def _asked(fields: TableFields) -> StateScope | None:
    if "states" not in fields:
        return None
    if not fields.is_table("states"):
        return StateScope(all=fields.texts("states") or ())
    table = fields.table("states")
    table.only(StateScope._fields)
    return StateScope(all=table.texts("all") or (), any=table.texts("any"), none=table.texts("none") or ())


def _place(fields: TableFields) -> LocationScope | None:
    if "location" not in fields:
        return None
    table = fields.table("location")
    table.only(LocationScope._fields)
    return LocationScope(*(table.texts(name) for name in LocationScope._fields))


def _own_tools(top: TableFields) -> tuple[str, ...] | None:
    named = top.texts("own_tools")
    for name in named or ():
        if name not in GATEWAY_TOOLS:
            hint = did_you_mean(name, GATEWAY_TOOLS) or f"expected one of {listed(GATEWAY_TOOLS)}"
            top.note("own_tools", f"`{name}` is not one of Remit's own tools", hint)
    return named


def _agent(name: str, fields: TableFields) -> AccessLists:
    fields.only(("allow", "block", *_PRESENTATION))
    return _both(name, fields)._replace(presentation=_presentation(fields))


def _server(name: str, fields: TableFields) -> AccessLists:
    fields.only(("allow", "block", "trusted", "sandbox", "result_budget", "projects", *_SERVER_OPTIONS))
    options = _server_options(fields) if fields.given(_SERVER_OPTIONS) else None
    return _both(name, fields)._replace(
        trusted=fields.flag("trusted"),
        options=options,
        sandbox=_sandbox(fields),
        result_budget=_result_budget(fields),
        projects=_projects(fields),
    )


def _projects(fields: TableFields) -> tuple[str, ...]:
    named = fields.texts("projects") or ()
    for path in named:
        if not (path == ANY_PROJECT or path == "~" or path.startswith("~/") or os.path.isabs(path)):
            fields.note("projects", f"expected the absolute path of a project, found `{path}`", _PROJECTS)
    return named


def _sandbox(fields: TableFields) -> SandboxOptions | Literal[False] | None:
    if "sandbox" not in fields:
        return None
    if not fields.is_table("sandbox"):
        if fields.flag("sandbox"):
            fields.note("sandbox", "expected a table, or false for no sandbox", _SANDBOX_EXAMPLE)
        return False
    table = fields.table("sandbox")
    table.only(SandboxOptions._fields)
    read, write = (table.texts(key) or () for key in ("read", "write"))
    network, unix_sockets = (table.flag(key) or False for key in ("network", "unix_sockets"))
    return SandboxOptions(network, read, write, unix_sockets)


def _server_options(fields: TableFields) -> ServerOptions:
    inherited = fields.texts if fields.is_list("inherit_env") else fields.flag
    if fields.says("sessions", SINGLE) and fields.says("credentials", PRINCIPAL):
        fields.note("sessions", f'`"{SINGLE}"` cannot be combined with `credentials = "{PRINCIPAL}"`')
    return ServerOptions(
        prefix=fields.flag("prefix"),
        sessions=fields.one_of("sessions", SESSIONS),
        inherit_env=inherited("inherit_env"),
        deadline=fields.seconds("deadline", 0.0, _LONGEST_CALL) or None,
        credentials=fields.one_of("credentials", CREDENTIALS),
    )


def _result_budget(fields: TableFields) -> int | None:
    if fields.says("result_budget", OFF):
        return 0
    budget = fields.whole("result_budget", 0, _LARGEST_BUDGET)
    if budget is not None and 0 < budget < _SMALLEST_RESULT:
        fields.note("result_budget", f"expected at least {_SMALLEST_RESULT}, or 0 for no limit")
    return budget


def _presentation(fields: TableFields) -> PresentationOptions:
    return PresentationOptions(
        fields.one_of("strategy", tuple(Strategy)), fields.whole("token_budget", 0, _LARGEST_BUDGET)
    )


def _both(name: str, fields: TableFields) -> AccessLists:
    return AccessLists(name, allow=fields.texts("allow"), block=fields.texts("block") or ())


def _session(context: TableFields, suggestions: TableFields, memory: TableFields) -> SessionOptions:
    context.only(("characters", "tokens", "tools"))
    suggestions.only(("enabled", "shared_patterns"))
    return SessionOptions(
        characters=context.whole("characters", 0, _LONGEST_ANSWER),
        tokens=context.whole("tokens", 0, _LONGEST_ANSWER),
        tools=context.whole("tools", 0, _LONGEST_ANSWER),
        hints=suggestions.flag("enabled"),
        shared_patterns=suggestions.flag("shared_patterns"),
        observes=memory.flag("observe"),
    )


def _retention(fields: TableFields) -> RetentionOptions:
    fields.only(RetentionOptions._fields)
    return RetentionOptions(*(fields.days(name) for name in RetentionOptions._fields))


def _memory(fields: TableFields) -> str | None:
    fields.only(("tools", "observe", "projects"))
    return fields.one_of("tools", (FOUND, LISTED, OFF))


def _filters(fields: TableFields) -> tuple[str, ...]:
    fields.only(("files",))
    files = fields.texts("files") or ()
    for path in files:
        if not os.path.isabs(path):
            fields.note("files", f"`{path}` is not an absolute path", "use an absolute path")
    return files


def _changes(fields: TableFields) -> str | None:
    fields.only(("changes",))
    return fields.one_of("changes", tuple(ChangePolicy))


def _room(name: str, fields: TableFields) -> Room:
    fields.only(("description", "tools", *_PRESENTATION))
    return Room(name, fields.text("description") or "", fields.texts("tools") or (), _presentation(fields))


def _namespace(name: str, fields: TableFields) -> Namespace:
    fields.only(("description",))
    return Namespace(name, fields.text("description") or "")
