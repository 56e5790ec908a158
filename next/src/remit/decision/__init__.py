"""Decides, purely, which tools are available in a context: shapes, scopes, rules, and the gates."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.decision.agents import Agent, AgentProfile, check_servers, resolve_agent, tool_refusal
    from remit.decision.context import (
        Context,
        Decision,
        Face,
        FilterRefusal,
        Gate,
        ToolDecision,
        Verdict,
        shorten,
    )
    from remit.decision.danger import LEVELS, Danger, Rating, by_annotations, by_name, of_command
    from remit.decision.decisions import decide, explain, holds_text, offered_alone, told_to_models
    from remit.decision.gates import REQUEST_APPROVAL, UNKNOWN, UNKNOWN_TOOL, status_reason, trust_command
    from remit.decision.globs import Glob, GlobIndex, glob, tool_globs
    from remit.decision.index import DecisionIndex
    from remit.decision.launch import (
        Launch,
        OAuthClient,
        Transport,
        VariableSyntax,
        command_digest,
        needs_trust,
        program,
    )
    from remit.decision.lookup import closest_to_being_visible, find, near_names, suggest, with_bare_name
    from remit.decision.names import (
        CALL_TOOL,
        CLIENT_TITLES,
        GATEWAY_TOOLS,
        MCP,
        MEMORY_SERVER,
        OWN,
        READ_RESULT,
        REMIT,
        SEPARATOR,
        SERVER,
        canonical,
        classify,
        full_label,
        is_covered,
        meant_names,
        normalise,
        served_name,
        served_spellings,
        server_name,
        server_rows,
        spellings,
        tool_name,
        tool_prefix,
    )
    from remit.decision.offers import DeclaredStates, DeclaredTool, Failure, Offer, Quarantined
    from remit.decision.permissions import ClientPermissions, PermissionEffect, PermissionRule, parse_subject
    from remit.decision.resolution import Resolved, adopt, resolve, server_of, servers_by_name
    from remit.decision.rules import (
        NO_RULES,
        AnnotationTrust,
        ListTarget,
        Mode,
        ModeSetting,
        NextStep,
        Rules,
        RuleStrength,
        ToolDanger,
        ToolList,
        ToolRule,
    )
    from remit.decision.scopes import (
        PRECEDENCE,
        Kind,
        LaunchFlags,
        Project,
        Scope,
        View,
        Workspace,
        ancestors,
        identify,
        in_scope,
        is_at_or_below,
        project_called,
        runs_headless,
        strength,
    )
    from remit.decision.snapshot import UNDECLARED, Implications, JsonValue, Snapshot, StateValue
    from remit.decision.tools import (
        BUILTINS,
        COULD_RUN,
        NEVER_SHADOW,
        RUNS,
        STARTERS,
        Authority,
        Declaration,
        Definition,
        Held,
        Key,
        Origin,
        Status,
        Tool,
        Winner,
        builtin_tool,
        client_title,
        is_builtin,
        is_demoted,
        without_text,
    )

_MODULES = {
    "agents": "Agent AgentProfile check_servers resolve_agent tool_refusal",
    "context": "Context Decision Face FilterRefusal Gate ToolDecision Verdict shorten",
    "danger": "LEVELS Danger Rating by_annotations by_name of_command",
    "decisions": "decide explain holds_text offered_alone told_to_models",
    "gates": "REQUEST_APPROVAL UNKNOWN UNKNOWN_TOOL status_reason trust_command",
    "globs": "Glob GlobIndex glob tool_globs",
    "index": "DecisionIndex",
    "launch": "Launch OAuthClient Transport VariableSyntax command_digest needs_trust program",
    "lookup": "closest_to_being_visible find near_names suggest with_bare_name",
    "names": "CALL_TOOL CLIENT_TITLES GATEWAY_TOOLS MCP MEMORY_SERVER OWN READ_RESULT REMIT SEPARATOR SERVER"
    " canonical classify full_label is_covered meant_names normalise served_name served_spellings server_name"
    " server_rows spellings tool_name tool_prefix",
    "offers": "DeclaredStates DeclaredTool Failure Offer Quarantined",
    "permissions": "ClientPermissions PermissionEffect PermissionRule parse_subject",
    "resolution": "Resolved adopt resolve server_of servers_by_name",
    "rules": "NO_RULES AnnotationTrust ListTarget Mode ModeSetting NextStep RuleStrength Rules ToolDanger"
    " ToolList ToolRule",
    "scopes": "PRECEDENCE Kind LaunchFlags Project Scope View Workspace ancestors identify in_scope"
    " is_at_or_below project_called runs_headless strength",
    "snapshot": "UNDECLARED Implications JsonValue Snapshot StateValue",
    "tools": "BUILTINS COULD_RUN NEVER_SHADOW RUNS STARTERS Authority Declaration Definition Held Key Origin"
    " Status Tool Winner builtin_tool client_title is_builtin is_demoted without_text",
}
_HOMES = {name: f"remit.decision.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.decision` has no attribute `{name}`")
