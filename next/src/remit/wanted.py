"""What a client's files should have: no servers that Remit serves, and the rules that clients hold.

Rules of the user's and the administrator's files go into the user's settings; those of one project into its.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from remit.catalog import Catalog, Registry
from remit.clients import Wanted
from remit.config import machine_path, managed_path
from remit.decision import (
    BUILTINS,
    GATEWAY_TOOLS,
    MCP,
    OWN,
    REMIT,
    STARTERS,
    Context,
    Declaration,
    Face,
    Gate,
    Glob,
    Key,
    Kind,
    ListTarget,
    Rules,
    Scope,
    Status,
    Tool,
    ToolDecision,
    ToolList,
    builtin_tool,
    glob,
    normalise,
)
from remit.errors import NotFoundError
from remit.files import Machine, this_machine

_STARTED = (Kind.SKILL, Kind.SLASH_COMMAND, Kind.SUBAGENT)
_EVERY_SERVER = f"{MCP}*"
_EXPRESSIBLE = re.compile(r"[\w*-]+", re.ASCII)  # a name of a tool, in which `*` matches any characters


def wanted(
    registry: Registry, client: str, directories: Iterable[str], *, is_managed: bool = False
) -> Wanted:
    """Collect what the user's files of a client should have, or the administrator's."""
    machine = this_machine()
    paths = {managed_path(machine)} if is_managed else {managed_path(machine), machine_path(machine)}
    parts: list[Wanted] = []
    for directory in dict.fromkeys(directories):
        with suppress(NotFoundError):
            context = registry.at(directory, client, face=Face.GATEWAY)
            listed, catalog = registry.tools(context), registry.catalog(context)
            loaded = _loaded(catalog)
            unserved = unserved_servers(catalog, listed, machine)
            rules = _Copies(catalog.context.rules, listed, client, lambda path: path in paths)
            parts.append(
                Wanted(
                    served=[item for item in loaded if item.key not in unserved],
                    declared=loaded,
                    blocks=rules.blocks(),
                    asks=rules.asks(),
                    hidden=rules.refused(),
                    matcher=rules.concerned(has_filters=bool(catalog.configuration.filters)),
                    has_approvals=any(rule.approval for rule in catalog.context.rules.tools),
                )
            )
    return Wanted(
        served=_unique(item for part in parts for item in part.served),
        declared=_unique(item for part in parts for item in part.declared),
        blocks=[*dict.fromkeys(rule for part in parts for rule in part.blocks)],
        asks=[*dict.fromkeys(rule for part in parts for rule in part.asks)],
        hidden=_unique(tool for part in parts for tool in part.hidden),
        matcher=[*dict.fromkeys(name for part in parts for name in part.matcher)],
        has_approvals=any(part.has_approvals for part in parts),
    )


_Row = TypeVar("_Row", Declaration, Tool)


def _unique(rows: Iterable[_Row]) -> list[_Row]:
    return [*{row.key: row for row in rows}.values()]


def wanted_of_project(registry: Registry, context: Context) -> Wanted:
    """Collect the rules that a project's settings of the user should have: those that hold there alone."""
    machine = this_machine()
    paths = (machine_path(machine), managed_path(machine))
    listed, catalog = registry.tools(context), registry.catalog(context)
    rules = _Copies(catalog.context.rules, listed, context.client or "", lambda path: path not in paths)
    now_hidden = [tool for tool, decision in listed if tool.kind in _STARTED and decision.gate is Gate.STATE]
    declared = [item for item in _loaded(catalog) if item.project_hash is not None]
    return Wanted(
        declared=declared,
        blocks=rules.blocks(),
        asks=rules.asks(),
        hidden=_unique([*rules.refused(), *now_hidden]),
    )


def unserved_servers(catalog: Catalog, listed: Iterable[ToolDecision], machine: Machine) -> Mapping[Key, str]:
    """Say why Remit does not serve some of the servers that a client loads, by their keys."""
    from remit.upstream import start_obstacles

    loaded = _loaded(catalog)
    obstacles = start_obstacles(loaded, machine, catalog.context.workspace.dir, by_remit=True)
    reasons = {key: obstacle.reason for key, obstacle in obstacles.items()}
    rows = [tool for tool, _ in listed if tool.kind is Kind.MCP_SERVER]
    reasons |= {tool.key: tool.failure for tool in rows if tool.failure is not None}
    reasons |= {tool.key: "it is not trusted" for tool in rows if tool.is_trusted is False}
    reasons |= {item.key: "Remit does not serve such servers" for item in loaded if not item.is_served}
    return {item.key: reasons[item.key] for item in loaded if item.key in reasons}


def _loaded(catalog: Catalog) -> list[Declaration]:
    """List the servers that the client loads in a directory that its user trusts, without Remit."""
    client = catalog.context.client
    loaded = [
        item._replace(status=Status.ENABLED)
        if item.status is Status.PENDING and item.scope is not Scope.PROJECT
        else item
        for item, shadowed_by in catalog.resolved
        if item.kind is Kind.MCP_SERVER and item.client == client and shadowed_by is None
    ]
    return [item for item in loaded if item.status is Status.ENABLED and item.source != REMIT]


class _Copies:
    """What the rules of some files say of the tools here, in the words of Claude Code."""

    def __init__(
        self, rules: Rules, listed: Iterable[ToolDecision], client: str, is_of: Callable[[str], bool]
    ) -> None:
        self._rules = rules
        self._is_of = is_of  # whether the rules of a file are meant
        own = (builtin_tool(name, client) for name in BUILTINS.get(client, ()))
        self._own = [tool for tool in own if tool is not None]
        self._tools = [tool for tool, _ in listed if tool.client == client]

    def blocks(self) -> list[str]:
        """List permission rules of what is blocked in every state: patterns, and known tools by name."""
        kinds = (Kind.MCP_SERVER, Kind.MCP_TOOL, Kind.BUILTIN)
        tools = [tool for tool in [*self._own, *self._tools] if tool.kind in kinds]
        written = [*self._blocked_patterns(), *(tool.name for tool in tools if self._refuses(tool))]
        names = [name for name in dict.fromkeys(written) if _is_expressible(name)]
        patterns = [glob(name) for name in names if "*" in name]
        return [
            name for name in names if not any("*".join(p.parts) != name and p.matches(name) for p in patterns)
        ]

    def asks(self) -> list[str]:
        """List the client's own tools whose calls need approval."""
        approvals = [(tool.name, self._rules.rate(tool).approval) for tool in self._own]
        return sorted(name for name, origin in approvals if origin is not None and self._is_of(origin.path))

    def refused(self) -> list[Tool]:
        """List the skills, commands and agents that are blocked in every state."""
        return [tool for tool in self._tools if tool.kind in _STARTED and self._refuses(tool)]

    def concerned(self, *, has_filters: bool) -> list[str]:
        """List the names and patterns of the tools that any rule is about."""
        rules = self._rules
        names = [name for form in self._concerning() for name in self._called(form)]
        if has_filters or rules.mode or rules.fixed_mode or rules.ask_from:
            names.append(_EVERY_SERVER)
        return [*dict.fromkeys(names)]

    def _refuses(self, tool: Tool) -> bool:
        refusal = self._rules.refusal(tool, ())
        return refusal is not None and self._is_of(refusal.origin.path)

    def _blocked_patterns(self) -> Iterator[str]:
        for listed in self._rules.lists:
            is_here = self._is_of(listed.origin.path) and listed.target is not ListTarget.AGENT
            for form in _forms(listed) if is_here and not listed.allows else ():
                yield "*".join(form.parts)
        for rule in self._rules.tools:
            if rule.ai_enabled is False and self._is_of(rule.origin.path):
                yield from ("*".join(form.parts) for form in rule.globs)

    def _concerning(self) -> Iterator[Glob]:
        for rule in self._rules.tools:
            says = (rule.condition, rule.call, rule.danger, rule.approval, rule.ai_enabled)
            if any(part is not None for part in says):
                yield from rule.globs
        for listed in self._rules.lists:
            if listed.target is ListTarget.SERVER:
                yield glob(f"{MCP}{'*'.join(map(normalise, listed.owner.parts))}__*")
            elif listed.allows:
                yield glob("*")
            else:
                yield from _forms(listed)

    def _called(self, form: Glob) -> Iterator[str]:
        """Yield what a client calls when a tool is used that matches."""
        if form.parts[0].startswith(MCP):
            yield "*".join(form.parts)
            return
        if form.may_match(MCP) and not form.is_name:
            yield _EVERY_SERVER
        yield from sorted(tool.name for tool in self._own if form.matches(tool.name))
        kinds = {tool.kind for tool in self._tools if tool.kind in _STARTED and form.matches(tool.name)}
        yield from (name for name, started in STARTERS.items() if kinds.intersection(started))


def _forms(listed: ToolList) -> Iterator[Glob]:
    """Yield the patterns of a list as canonical names."""
    owner = f"{MCP}{'*'.join(map(normalise, listed.owner.parts))}__"
    for _, forms in listed.patterns:
        for form in forms:
            is_own = listed.target is ListTarget.SERVER and not form.parts[0].startswith(MCP)
            yield glob(owner + "*".join(form.parts)) if is_own else form


def _is_expressible(name: str) -> bool:
    """Return whether a permission rule can say it, and it leaves Remit's own tools alone."""
    is_tool = name.startswith((MCP, "*")) or name[:1].isupper()
    own = [f"{OWN}{tool}" for tool in GATEWAY_TOOLS]
    return is_tool and _EXPRESSIBLE.fullmatch(name) is not None and not any(map(glob(name).matches, own))
