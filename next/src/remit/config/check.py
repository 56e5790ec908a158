"""Finds mistakes in conditions, names that no file declares, and rules that match no known tool."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remit.config.compile import Configuration, condition_of, has_condition, own_globs
from remit.config.detectors import COUNTING
from remit.config.fields import Mistake
from remit.config.merge import Found, LoadedFile
from remit.decision import (
    BUILTINS,
    MCP,
    MEMORY_SERVER,
    Glob,
    Implications,
    Kind,
    ListTarget,
    Origin,
    RuleStrength,
    Tool,
    full_label,
    near_names,
    server_name,
    tool_globs,
    tool_name,
    tool_prefix,
)
from remit.decision.when import LOCATION, CelType, Condition, Schema, Vocabulary, mistakes_in
from remit.errors import StateError
from remit.store import Problem
from remit.text import as_question, did_you_mean

_GIT: Schema = {
    "repository": CelType.BOOL,
    "branch": CelType.STRING,
    "detached": CelType.BOOL,
    "merging": CelType.BOOL,
    "rebasing": CelType.BOOL,
}
VARIABLES: Schema = {
    "git": _GIT,
    "location": LOCATION,
    "project": {"name": CelType.STRING, "path": CelType.STRING},
    "workspace": {"path": CelType.STRING},
    "client": CelType.STRING,
    "agent": {"name": CelType.STRING},
    "os": CelType.STRING,
    "args": CelType.MAP,
}
_ANYWHERE = Vocabulary((), {**VARIABLES, "env": CelType.MAP, "entities": CelType.MAP})


def mistakes_in_logic(content: Mapping[str, Any]) -> Iterator[Mistake]:
    """List the mistakes in one file's states and conditions that do not depend on other files."""
    states: Mapping[str, Mapping[str, Any]] = content.get("states", {})
    if any("implies" in table for table in states.values()):
        try:
            Implications(states, {name: table.get("implies", ()) for name, table in states.items()})
        except StateError as error:
            yield Mistake(("states",), str(error), error.hint)
    for pattern, table in content.get("tools", {}).items():
        for mistake, is_unknown in _in_rule(pattern, table, _ANYWHERE):
            if not is_unknown:
                yield mistake


def _in_rule(
    pattern: str, table: Mapping[str, Any], vocabulary: Vocabulary
) -> Iterator[tuple[Mistake, bool]]:
    """List the mistakes in a rule's conditions, and whether each is a name that another file may declare."""
    conditions: list[tuple[str, Condition]] = []
    if has_condition(table):
        conditions.append(("", condition_of(table)))
    if isinstance(table.get("approval"), str):
        conditions.append(("approval", Condition(when=table["approval"])))
    for key, condition in conditions:
        for mistake in mistakes_in(condition, vocabulary):
            path = ("tools", pattern, key or mistake.key)
            found = Mistake(path, mistake.message, mistake.hint, mistake.line, mistake.column)
            yield found, mistake.is_unknown_name


def mistakes_by_merging(merged: Mapping[str, Any], loaded: Sequence[LoadedFile]) -> Iterator[Found]:
    """List undeclared names in conditions, and states that nothing makes true."""
    for file in loaded:
        rules = file.section("tools")
        if rules:
            vocabulary = _vocabulary(merged, is_projects=file.is_projects)
            for pattern, table in rules.items():
                for mistake, is_unknown in _in_rule(pattern, table, vocabulary):
                    if is_unknown:
                        yield file.file, mistake
        if states := file.section("states"):
            yield from ((file.file, mistake) for mistake in _idle(states, merged))


def _vocabulary(merged: Mapping[str, Any], *, is_projects: bool) -> Vocabulary:
    """Return the names that a file's conditions may use, without those of weaker files."""
    known = Implications(merged["names"], merged["implies"]).names
    states = {name for name in known if is_projects or name in merged["foreign"]}
    if is_projects:
        states |= set(merged["waiting"])
    counted = {
        name: CelType.INT
        for name, state in merged["states"].items()
        if name in states and any(kind in state["table"] for kind in COUNTING)
    }
    env = dict.fromkeys(merged["settings"].get("env", ()), CelType.STRING)
    return Vocabulary(states, {**VARIABLES, "env": env, "entities": counted})


def _idle(states: Mapping[str, Mapping[str, Any]], merged: Mapping[str, Any]) -> Iterator[Mistake]:
    """List the states that can never become true, and names of states that look misspelled."""
    declared: Mapping[str, Any] = merged["states"]
    implied = {
        other
        for name, state in declared.items()
        for other in (*_above(name), *state["table"].get("implies", ()))
    }
    sources = ("file", "glob", "git", "env", "value", "entities", "command", "http", "push", "on", "off")
    for name, table in states.items():
        is_workflow = table.get("kind") == "workflow"
        if not is_workflow and name not in implied and not any(key in table for key in sources):
            message = "it has no detector, and no state implies it: nothing makes it true"
            yield Mistake(("states", name), message, 'give it a detector, or `kind = "workflow"`')
        for other in table.get("implies", ()):
            hint = None if other in declared or other in implied - {other} else did_you_mean(other, declared)
            if hint is not None:
                yield Mistake(("states", name, "implies"), f"`{other}` is not declared", hint)


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def place_of(mistake: Mistake, places: Mapping[str, Sequence[int]]) -> str:
    """Return the line and column of a mistake in words, as far as they are known."""
    path = mistake.path
    while path and "\0".join(path) not in places:
        path = path[:-1]
    if path:
        line, column, inner_line, inner_column = places["\0".join(path)]
        if mistake.line and path == mistake.path:
            column = mistake.column if mistake.line > 1 else inner_column + mistake.column - 1
            line = inner_line + mistake.line - 1
        return f"line {line} column {column}"
    if mistake.path:  # a table without a header of its own, such as `tool` of `[tool.x]`
        inside = f"{mistake.path[0]}\0"
        first = next((at for key, at in places.items() if key.startswith(inside)), None)
        return f"line {first[0]} column {first[1]}" if first else ""
    return ""


class Finding(NamedTuple):
    """A rule that matches nothing known; a warning if a name looks misspelled or a limit has no effect."""

    problem: Problem
    is_warning: bool


class _Known(NamedTuple):
    """The names that exist in a workspace."""

    names: Collection[str]
    servers: Collection[str]
    agents: Collection[str]
    own_names: Collection[tuple[str, str]]  # servers with their tools


def unmatched(configuration: Configuration, tools: Iterable[Tool]) -> list[Finding]:
    """List the rules that match no known tool, server or agent, in files that are valid now."""
    patterns = [*_patterns(configuration)]
    if not patterns and not configuration.servers and not configuration.rules.lists:
        return []
    known = _known(tools)
    findings = [
        *(finding for pattern, origin in patterns if (finding := _of_pattern(pattern, origin, known))),
        *_of_servers(configuration, known),
        *_of_lists(configuration, known),
    ]
    invalid = configuration.invalid
    return [*dict.fromkeys(finding for finding in findings if finding.problem.source not in invalid)]


def _known(tools: Iterable[Tool]) -> _Known:
    from remit.decision import GATEWAY_TOOLS, OWN

    listed = list(tools)
    servers = [(tool.server, tool.plugin) for tool in listed if tool.kind is Kind.MCP_SERVER and tool.server]
    labels = {label for server, plugin in servers for label in (server, full_label(server, plugin))}
    own = [
        (tool.server, tool.name.removeprefix(tool_prefix(tool.server, tool.plugin)))
        for tool in listed
        if tool.kind is Kind.MCP_TOOL and tool.server is not None
    ]
    agents = {tool.name for tool in listed if tool.kind is Kind.SUBAGENT}
    builtins = {name for names in BUILTINS.values() for name in names}
    names = {tool.name for tool in listed} | builtins | {OWN + name for name in GATEWAY_TOOLS}
    return _Known(names, labels | {MEMORY_SERVER}, agents, own)


def _patterns(configuration: Configuration) -> Iterator[tuple[str, Origin]]:
    for rule in configuration.rules.tools:
        if rule.origin.key:  # not of an invalid file
            yield rule.pattern, rule.origin
    for listed in configuration.rules.lists:
        if listed.target is not ListTarget.SERVER:
            yield from ((pattern, listed.origin) for pattern, _ in listed.patterns)
    for item in (*configuration.pinned, *(item for room in configuration.rooms for item in room.tools)):
        yield item.pattern, item.origin
    for state in configuration.states.values():
        yield from ((pattern, state.origin) for pattern in (*state.on, *state.off))


def _of_pattern(pattern: str, origin: Origin, known: _Known) -> Finding | None:
    if any(form.matches(name) for form in tool_globs(pattern) for name in known.names):
        return None
    if tool_name(MEMORY_SERVER, "") in pattern:  # listed only while the gateway serves memory
        return None
    if any(own == pattern for _, own in known.own_names):
        full = (name for name in known.names if name.startswith(MCP) and name.endswith(f"__{pattern}"))
        message = f"`{pattern}` has no effect, because it does not name the tool's server"
        hint = f"write {' or '.join(map('`{}`'.format, sorted(full)))}"
        return _finding(origin, message, hint, is_warning=True)
    return _finding(origin, f"`{pattern}` matches no known tool", _meant(pattern, known))


def _meant(pattern: str, known: _Known) -> str | None:
    """Ask whether a name, or all tools of a server, is meant by a misspelled one."""
    if "*" not in pattern:
        return as_question(near_names(pattern, known.names))
    is_server = pattern.startswith(MCP) and pattern.endswith("__*") and pattern.count("*") == 1
    return did_you_mean(pattern, {server_name(label) for label in known.servers}) if is_server else None


def _of_servers(configuration: Configuration, known: _Known) -> Iterator[Finding]:
    for rule in configuration.servers:
        name = "*".join(rule.name.parts)
        if any(map(rule.name.matches, known.servers)):
            own = [tool for server, tool in known.own_names if rule.name.matches(server)]
            for key in ("allow", "block"):
                for pattern in rule.table.get(key, ()) if own else ():
                    if not _matches(own_globs(pattern), [*own, *known.names]):
                        message = f"`{pattern}` matches no known tool of the server"
                        yield _finding(rule.origin, message, did_you_mean(pattern, own))
            continue
        limits = [key for key in ("sandbox", "block", "allow") if rule.table.get(key) not in (None, False)]
        hint = did_you_mean(name, known.servers)
        message = f"no server `{name}` is known here"
        if limits:
            listed = " and ".join(f"`{key}`" for key in limits)
            message += f", so {listed} {'has' if len(limits) == 1 else 'have'} no effect"
        is_near = rule.strength is RuleStrength.NARROWING
        yield _finding(rule.origin, message, hint, is_warning=is_near or bool(hint and limits))


def _of_lists(configuration: Configuration, known: _Known) -> Iterator[Finding]:
    for listed in configuration.rules.lists:
        name = "*".join(listed.owner.parts)
        if listed.target is ListTarget.AGENT and not any(map(listed.owner.matches, known.agents)):
            hint = did_you_mean(name, known.agents)
            yield _finding(listed.origin, f"no agent `{name}` is known here", hint)


def _matches(globs: Iterable[Glob], names: Collection[str]) -> bool:
    return any(form.matches(name) for form in globs for name in names)


def _finding(origin: Origin, message: str, hint: str | None, *, is_warning: bool = False) -> Finding:
    place = f"line {origin.line}" if origin.line else ""
    reason = f"{origin.key}: {message}{f' ({hint})' if hint else ''}"
    return Finding(Problem(origin.path, place, reason), is_warning)
