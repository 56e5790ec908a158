"""What Remit writes into Claude Code: hooks, its gateway, switches of served servers, and copies of rules.

Copies hold even where hooks do not run: the client itself denies, asks and hides. What was observed decides:
one wrong value voids a whole settings file; `ask` cannot be lifted, so it is never written for tools of
servers; and a denied command line stops its servers in every project.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from remit.clients.claude_code import (
    config_home,
    managed_directory,
    managed_servers_path,
    state_path,
)
from remit.clients.record import CLAUDE_CODE, OPTION, InstallLevel, records_folder
from remit.config import data_directory, machine_path, managed_path
from remit.decision import (
    MCP,
    SERVER,
    Declaration,
    Kind,
    Project,
    Scope,
    Tool,
    full_label,
    identify,
    server_name,
)
from remit.errors import InstallError
from remit.files import (
    ANYWHERE,
    Edit,
    FileError,
    Format,
    Machine,
    is_tracked,
    link_in_checkout,
    parse_json,
    read_text,
)
from remit.secrets import may_be_secret
from remit.text import as_list, as_object

DENIED, ASKED = ("permissions", "deny"), ("permissions", "ask")
_DENIED_SERVERS, _ALLOWED_SERVERS = ("deniedMcpServers",), ("allowedMcpServers",)
_SKILLS = "skillOverrides"
_LIMIT = 256 * 2**20  # bytes: the client keeps its history in the file of its servers
# The client's own plugin that decides about modules: with this option, only an administrator's are loaded.
_ONLY_MANAGED_MODS = ("pluginConfigs", "cc-plugin-sec-default@builtin", "options", "allowManagedModsOnly")

SCRIPT = "remit-hook"
_KEPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hooks", "kept.py")
_STARTERS = "Skill|Agent"  # the tools by which a model uses skills, commands and agents
_PLAIN = re.compile(r"[A-Za-z0-9_\- ]+")  # what a list of exact names may have; all else is a pattern
_BACKGROUND = {"timeout": 60, "async": True}
_COUNTING: Mapping[str, Sequence[str]] = {  # events that only count uses, and their matchers
    "PostToolUse": (_STARTERS, f"^(?:{MCP}(?!{SERVER}__).*)$"),  # the gateway counts its own calls
    "PostToolUseFailure": (_STARTERS, f"^(?:{MCP}(?!{SERVER}__).*)$"),
    "UserPromptExpansion": ("",),
}


class Wanted(NamedTuple):
    """What the rules and the gateway want of a client's files."""

    served: Sequence[Declaration] = ()  # servers that the gateway serves, so the client need not load them
    declared: Sequence[Declaration] = ()  # all servers that the client may start, in any directory
    blocks: Sequence[str] = ()  # permission rules of what is hidden whatever the state
    asks: Sequence[str] = ()  # permission rules of the client's own tools that need approval
    hidden: Sequence[Tool] = ()  # skills, commands and agents
    matcher: Sequence[str] = ()  # names and patterns of the tools that a rule concerns
    has_approvals: bool = False  # a rule asks for approval, which a prompt of the user may have given


class TargetFile(NamedTuple):
    """A client's file, and the edits that it should have."""

    path: str
    format: Format
    edits: Sequence[Edit] = ()


def claude_edits(
    level: InstallLevel, wanted: Wanted, entry: Sequence[str], record: str, machine: Machine
) -> list[TargetFile]:
    """Return the user's files to edit, the server first; `entry` is the gateway's command line."""
    settings, state = os.path.join(config_home(machine), "settings.json"), state_path(machine)
    written = hooks(level, wanted, record, machine)
    if level is InstallLevel.CONTEXT:
        return [TargetFile(settings, Format.JSON, written)]
    # Even in the mode that asks about nothing, an agent must not remove Remit's entry and hooks unasked.
    asked = [_item(ASKED, rule) for path in (settings, state) for rule in edit_rules(path)]
    own = [_item(DENIED, rule) for rule in own_files(machine)]
    written += [*asked, *own, *copies(wanted)]
    if level is InstallLevel.HOOKS:
        return [TargetFile(settings, Format.JSON, written)]
    denied, disabled = _switches(wanted, state)
    # A repository's server of that name would hide ours.
    rejected = _item(("disabledMcpjsonServers",), SERVER)
    admitted = _admitting(settings, entry)
    return [
        TargetFile(state, Format.JSON, [_gateway(entry), *disabled]),
        TargetFile(settings, Format.JSON, _once([*written, *denied, *admitted, rejected])),
    ]


def project_edits(wanted: Wanted, project: Project) -> list[TargetFile]:
    """Return the user's own settings in a project, with the copies of the project's rules.

    Raises:
        InstallError: git tracks the file or a link leads to it, so it is the repository's.
    """
    path, rules = project_settings(project), copies(wanted)
    if rules and (link := link_in_checkout(path, project.path)) is not None:
        raise InstallError(
            f"{link} is a link, so Remit does not write your rules behind it",
            hint=f"remove the link, or make {path} a file of its own",
        )
    if rules and is_tracked(path):
        raise InstallError(
            f"git tracks {path}, so Remit does not write your rules into it",
            hint=f"run `git rm --cached {path}`, and commit that",
        )
    guard = [_item(ASKED, rule) for rule in edit_rules(path)] if rules else []
    return [TargetFile(path, Format.JSON, [*rules, *guard])]


def managed_edits(
    level: InstallLevel, wanted: Wanted, entry: Sequence[str], record: str, machine: Machine
) -> list[TargetFile]:
    """Return the administrator's files to edit, which name no user; hooks also run for users' own rules."""
    path = os.path.join(managed_directory(machine), "managed-settings.json")
    every_home = machine._replace(home="~", variables={})
    written = [
        *hooks(level, wanted, record, machine, is_managed=True),
        *(_item(DENIED, rule) for rule in own_files(every_home)),
        *copies(wanted),
        Edit(_ONLY_MANAGED_MODS, value=True),
    ]
    settings = TargetFile(path, Format.JSON, _once(written))
    servers = TargetFile(managed_servers_path(machine), Format.JSON, [_gateway(entry)])
    return [settings, servers] if level is InstallLevel.FULL else [settings]


def project_settings(project: Project) -> str:
    """Return the user's own settings in a project: one file for all its directories and worktrees."""
    return os.path.join(project.path, ".claude", "settings.local.json")


def _gateway(words: Sequence[str]) -> Edit:
    program, *args = words
    # Its tools are part of every request instead of behind the client's search.
    entry = {"type": "stdio", "command": program, "args": args, "alwaysLoad": True}
    return Edit(("mcpServers", SERVER), entry)


def hooks(
    level: InstallLevel, wanted: Wanted, record: str, machine: Machine, *, is_managed: bool = False
) -> list[Edit]:
    """Return the edits that register our hooks: before calls, only for tools that a rule concerns."""
    groups = [("SessionStart", "", "start", {"timeout": 30})]
    groups += [(event, matcher, "open", _BACKGROUND) for event, each in _COUNTING.items() for matcher in each]
    if level is not InstallLevel.CONTEXT:
        *closed, others = _matchers(wanted.matcher, "" if is_managed else MCP)
        blocking = {"timeout": 10, "onFailure": "block"}
        groups += [("PreToolUse", matcher, "closed", blocking) for matcher in closed]
        groups += [("PreToolUse", others, "open", {"timeout": 10})]
        # Where nobody can answer the client, its refusal would not name the rule that allows a tool.
        groups += [("PermissionRequest", f"^{MCP}.*$", "open", {"timeout": 10})]
        groups += [("UserPromptSubmit", "", "open", {"timeout": 15})] if wanted.has_approvals else []
    return [
        _item(
            ("hooks", event),
            {
                **({"matcher": matcher} if matcher else {}),
                "hooks": [_handler(mode, details, record, machine, is_managed=is_managed)],
            },
        )
        for event, matcher, mode, details in groups
    ]


def _matchers(tools: Iterable[str], others: str) -> list[str]:
    """Write matchers for exact names, for patterns, and for all other tools whose name starts as given.

    One character outside of a name makes the whole matcher an unanchored pattern, so each kind has its own.
    """
    names = [tool for tool in dict.fromkeys(tools) if _PLAIN.fullmatch(tool)]
    patterns = [_pattern(tool) for tool in dict.fromkeys(tools) if not _PLAIN.fullmatch(tool)]
    concerned = "|".join([*map(_pattern, names), *patterns])
    closed = ["|".join(names), f"^(?:{'|'.join(patterns)})$" if patterns else ""]
    rest = f"(?!(?:{concerned})$)" if concerned else ""
    return [*filter(None, closed), f"^{rest}{others}.*$"]


def _pattern(tool: str) -> str:
    return ".*".join(re.sub(r"[^\w/:-]", r"\\\g<0>", part) for part in tool.split("*"))


def _handler(
    mode: str, details: Mapping[str, Any], record: str, machine: Machine, *, is_managed: bool
) -> dict[str, Any]:
    """Write a handler; with `args`, so no variable of a repository can replace its shell."""
    # An argument that hooks ignore: if the script itself is gone, the client shows only the command line.
    repair = [f"--if-this-cannot-run={_repair(machine, is_managed=is_managed)}"] if mode == "closed" else []
    words = [mode, OPTION, record, *repair]
    if machine.platform == "win32":
        program, *args = sys.executable, "-I", "-S", _KEPT, *words
    else:
        program = script_path(machine, is_managed=is_managed)
        args = [words[0], sys.executable, _KEPT, *words[1:]]
    return {"type": "command", "command": program, "args": args, **details}


def script_path(machine: Machine, *, is_managed: bool = False) -> str:
    """Return the path of the script that starts hooks."""
    return os.path.join(records_folder(machine, is_managed=is_managed), SCRIPT)


def script(machine: Machine, *, is_managed: bool = False) -> str:
    """Write the script that starts hooks: `remit-hook closed|open|start PYTHON FILE WORD…`.

    Python ends with 0 or has failed. Then `closed` blocks the call, `open` lets it run, and `start` tells the
    user. A repository may set variables and shell functions, so only absolute paths and special built-in
    commands are used. An exiting client ends hooks that it does not wait for, so they ignore its signal.
    """
    broken = f"Remit cannot run. {_repair(machine, is_managed=is_managed)}"
    told = json.dumps({"systemMessage": broken}, ensure_ascii=False)
    return f"""#!/bin/sh
trap '' TERM
unset PYTHONEXECUTABLE __PYVENV_LAUNCHER__
unset -f printf
mode=$1 python=$2 file=$3
shift 3
"$python" -I -S "$file" "$mode" "$@" 2>/dev/null
case $? in 0) exit 0 ;; esac
case $mode in
closed) printf '%s\\n' {_quoted(broken)} >&2; exit 2 ;;
start) printf '%s\\n' {_quoted(told)} ;;
esac
exit 0
"""


def _repair(machine: Machine, *, is_managed: bool) -> str:
    """Say how to repair Remit, and how to remove it without Remit."""
    option = " --managed" if is_managed else ""
    settings = os.path.join(config_home(machine), "settings.json")
    files = f"{settings} (hooks, deniedMcpServers) and {state_path(machine)} (the server `remit`)"
    if is_managed:
        files = f"{managed_directory(machine)}{os.sep}managed-settings.json and managed-mcp.json"
    return (
        f"Ask the user to run `remit install {CLAUDE_CODE}{option}` again, or to remove Remit: "
        f"`remit uninstall {CLAUDE_CODE}{option}`, or without it, by deleting what names Remit from {files}"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def copies(wanted: Wanted) -> list[Edit]:
    """Return the edits that make the client itself hold the rules.

    A plugin's skills and commands cannot be hidden, only refused. Rules about tools of servers are never
    written as questions: no answer of the gateway or a hook would lift them, or show its reason.
    """
    off = [
        Edit((_SKILLS, skill), "off", switches=f"Skill({skill})")
        for skill in dict.fromkeys(_called(tool) for tool in wanted.hidden if _is_skill(tool))
    ]
    denied = [*wanted.blocks, *map(_refusal, wanted.hidden)]
    asked = [rule for rule in wanted.asks if not rule.startswith(MCP)]
    servers = [
        _item(_DENIED_SERVERS, {"serverName": item.server})  # a denied tool leaves its resources readable
        for item in wanted.declared
        if item.server not in (None, SERVER) and item.plugin is None and _covers(wanted.blocks, item)
    ]
    rules = [(DENIED, rule) for rule in denied] + [(ASKED, rule) for rule in asked]
    return _once([*off, *(_item(path, rule) for path, rule in rules), *servers])


def _is_skill(tool: Tool) -> bool:
    return tool.kind in (Kind.SKILL, Kind.SLASH_COMMAND) and tool.plugin is None


def _called(tool: Tool) -> str:
    return tool.name.removeprefix("/")


def _refusal(tool: Tool) -> str:
    """Write the rule that refuses a skill, a command or an agent, whatever a project's settings say."""
    return f"Agent({tool.name})" if tool.kind is Kind.SUBAGENT else f"Skill({_called(tool)})"


def _covers(blocks: Sequence[str], server: Declaration) -> bool:
    row = server_name(server.server or "", server.plugin)
    return row in blocks or row.removesuffix("__*") in blocks


def _switches(wanted: Wanted, state: str) -> tuple[list[Edit], list[Edit]]:
    """Return the edits that switch served servers off: in the settings, else in each project's state."""
    denied: list[Edit] = []
    disabled: list[Edit] = []
    projects = {key: identify(key.replace("/", os.sep)).hash for key in _projects(state)}
    for item in wanted.served:
        if item.server in (None, SERVER) or item.scope is Scope.MANAGED or item.launch is None:
            continue
        label = full_label(item.server, item.plugin)
        if item.scope is Scope.GLOBAL and (matcher := _matcher(item, wanted.declared)):
            denied.append(_item(_DENIED_SERVERS, matcher, label))
            continue
        others = {
            other.project_hash
            for other in wanted.declared
            if full_label(other.server or "", other.plugin) == label and other not in wanted.served
        }
        disabled += [
            _item(("projects", key, "disabledMcpServers"), label, label)
            for key, hash in projects.items()
            if item.project_hash in (None, hash) and hash not in others
        ]
    return _once(denied), _once(disabled)


def _matcher(server: Declaration, declared: Sequence[Declaration]) -> dict[str, Any] | None:
    """Write the matcher that denies a server; None where it would stop another one, or copy a secret.

    The client compares command lines alone, after it has filled in variables.
    """
    launch = server.launch
    if launch is None:
        return None
    for other in declared:
        if other.endpoint == server.endpoint and other.launch is not None:
            same = (other.launch.env, other.launch.headers) == (launch.env, launch.headers)
            if not same:
                return None
    words = [launch.url] if launch.is_remote else [launch.command, *launch.args]
    if any("$" in word or may_be_secret(word) for word in words):
        return None
    return {"serverUrl": launch.url} if launch.is_remote else {"serverCommand": words}


def _projects(state: str) -> list[str]:
    """List the directories that the client keeps state for."""
    return [key for key in as_object(_content(state).get("projects")) if os.path.isabs(key)]


def known_projects(machine: Machine) -> list[str]:
    """List the existing directories in which the client was used."""
    return [path for path in _projects(state_path(machine)) if os.path.isdir(path)]


def _admitting(settings: str, words: Sequence[str]) -> list[Edit]:
    """Admit our gateway where a list of allowed servers exists; next to a command, names admit no process."""
    allowed = _content(settings).get(_ALLOWED_SERVERS[0])
    if not isinstance(allowed, list):
        return []
    items = [item for item in map(as_object, cast("list[object]", allowed)) if not _admits_remit(item)]
    has_commands = any("serverCommand" in item for item in items) or not items
    own: dict[str, Any] = {"serverCommand": [*words]} if has_commands else {"serverName": SERVER}
    return [_item(_ALLOWED_SERVERS, own)]


def _admits_remit(item: Mapping[str, Any]) -> bool:
    return item.get("serverName") == SERVER or "serve" in as_list(item.get("serverCommand"))


def _content(path: str) -> dict[str, Any]:
    try:
        text = read_text(path, limit=_LIMIT, within=ANYWHERE)
        return as_object(parse_json(text)) if text is not None else {}
    except FileError:
        return {}


def own_files(machine: Machine) -> list[str]:
    """Write deny rules for Remit's own files: the rules of all layers that no project owns, and its data."""
    usual = machine_path(machine._replace(variables={**machine.variables, "REMIT_CONFIG": ""}))
    folders = [os.path.dirname(path) for path in (managed_path(machine), usual)]
    files = [*(os.path.join(folder, "**") for folder in (*folders, data_directory(machine)))]
    if (own := machine_path(machine)) not in (usual, os.devnull):
        files.append(own)
    return list(dict.fromkeys(rule for path in files for rule in edit_rules(path)))


def edit_rules(path: str) -> list[str]:
    """Write the permission rules for edits of a file: as it is given, and where its links lead."""
    marked = str.maketrans({"[": "\\[", "]": "\\]"})
    if path.startswith("~"):
        return [f"Edit({path.replace(os.sep, '/').translate(marked)})"]
    forms: list[str] = []
    for form in (os.path.abspath(path), os.path.realpath(path)):
        drive, rest = os.path.splitdrive(form)
        root = f"/{drive.rstrip(':').lower()}" if drive else ""
        forms.append(f"Edit(/{root}{rest.replace(os.sep, '/')})".translate(marked))
    return list(dict.fromkeys(forms))


def _item(path: tuple[str, ...], value: Any, switches: str | None = None) -> Edit:
    return Edit(path, value, is_item=True, switches=switches)


def _once(edits: Iterable[Edit]) -> list[Edit]:
    """Drop repeated edits."""
    return list({json.dumps([edit.path, edit.value]): edit for edit in reversed(list(edits))}.values())[::-1]
