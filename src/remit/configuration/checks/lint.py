"""Warns about settings that are valid but probably not intended."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from remit.configuration.config_model import (
    OF_A_PROJECT,
    AccessLists,
    ConfigurationFile,
    ConfigurationMistake,
    KeyPath,
    LoadedFile,
    ToolEntry,
    key_path,
)
from remit.configuration.policy_compiler import covers, own_globs, rule_strength
from remit.decision.globs import Glob, glob, tool_globs
from remit.decision.kinds import Kind
from remit.decision.problems import Severity
from remit.decision.tool_lookup import near_names
from remit.decision.tool_names import MCP, MEMORY_SERVER, full_label, server_name, tool_name, tool_prefix
from remit.decision.tools import BUILTINS, Tool
from remit.text.spelling import as_question, did_you_mean

Remark = tuple[Severity, ConfigurationFile, ConfigurationMistake]


class _Known(NamedTuple):
    """The names that exist in a workspace."""

    names: Collection[str]
    servers: Collection[str]
    agents: Collection[str]
    own_names: Collection[tuple[str, str]]  # servers with their tools


def remarks(
    loaded: Sequence[LoadedFile], tools: Iterable[Tool], memory_tools: Sequence[str]
) -> Iterator[Remark]:
    """List contradictions, and patterns that match nothing known."""
    known = _known(tools, memory_tools)
    for each in loaded:
        yield from _unmatched(each, known)
        yield from _blocked(each)
        yield from _overruled(each, loaded)


def _known(tools: Iterable[Tool], memory_tools: Sequence[str]) -> _Known:
    listed = list(tools)
    servers = [tool for tool in listed if tool.kind is Kind.MCP_SERVER and tool.server is not None]
    labels = [
        label for tool in servers for label in (tool.server or "", full_label(tool.server or "", tool.plugin))
    ]
    own = [
        (tool.server, tool.name.removeprefix(tool_prefix(tool.server, tool.plugin)))
        for tool in listed
        if tool.kind is Kind.MCP_TOOL and tool.server is not None
    ]
    agents = [tool.name for tool in listed if tool.kind is Kind.SUBAGENT]
    # Remit's own tools are known even if the gateway has never served them here.
    brought = {tool_name(MEMORY_SERVER, name) for name in memory_tools}
    return _Known(
        {*(tool.name for tool in listed), *brought, *chain.from_iterable(BUILTINS.values())},
        {*labels, MEMORY_SERVER},
        agents,
        [*own, *((MEMORY_SERVER, name) for name in memory_tools)],
    )


def _unmatched(loaded: LoadedFile, known: _Known) -> Iterator[Remark]:
    for path, pattern in _patterns(loaded):
        if not _matches(tool_globs(pattern), known.names):
            if meant := _full_names(pattern, known):
                mistake = ConfigurationMistake(path, _without_effect(pattern), meant)
                yield Severity.WARNING, loaded.file, mistake
                continue
            yield _note(loaded, path, f"`{pattern}` matches no known tool", _meant(pattern, known))
    for each in loaded.content.servers:
        if _matches((glob(each.name),), known.servers):
            yield from _unmatched_of_server(loaded, each, known)
        else:
            mistake = _unknown_server(each, known)
            is_elsewhere = loaded.file.layer not in OF_A_PROJECT and not (mistake.hint or _limits(each))
            yield Severity.NOTE if is_elsewhere else Severity.WARNING, loaded.file, mistake
    for each in loaded.content.agents:
        if not _matches((glob(each.name),), known.agents):
            hint = did_you_mean(each.name, known.agents)
            yield _note(loaded, ("agents", each.name), f"no agent `{each.name}` is known here", hint)


def _meant(pattern: str, known: _Known) -> str | None:
    """Ask whether a name, or all tools of a server, is meant by a misspelled one."""
    if "*" not in pattern:
        return as_question(near_names(pattern, known.names))
    is_server = pattern.startswith(MCP) and pattern.endswith("__*") and pattern.count("*") == 1
    return did_you_mean(pattern, {server_name(label) for label in known.servers}) if is_server else None


def misnamed(loaded: Sequence[LoadedFile], tools: Callable[[], Iterable[Tool]]) -> Iterator[Remark]:
    """List the rules without effect, because they name a known tool without its server, or misspell a server.

    A server that is spelled like no known one may be that of another project.
    """
    named = [(each, path, name) for each in loaded for path, name in _patterns(each) if _may_be_short(name)]
    limited = [(each, lists) for each in loaded for lists in each.content.servers if _limits(lists)]
    if not named and not limited:
        return
    known = _known(tools(), ())
    for each, path, name in named:
        if name not in known.names and (meant := _full_names(name, known)):
            yield Severity.WARNING, each.file, ConfigurationMistake(path, _without_effect(name), meant)
    for each, lists in limited:
        if not _matches((glob(lists.name),), known.servers):
            mistake = _unknown_server(lists, known)
            yield from [(Severity.WARNING, each.file, mistake)] if mistake.hint else ()


def _limits(lists: AccessLists) -> list[str]:
    """List the keys by which the table of a server restricts it."""
    limits = {"sandbox": lists.sandbox, "block": lists.block, "allow": lists.allow is not None}
    return [key for key, is_set in limits.items() if is_set]


def _unknown_server(lists: AccessLists, known: _Known) -> ConfigurationMistake:
    message = f"no server `{lists.name}` is known here"
    if limits := _limits(lists):
        named = " and ".join(f"`{key}`" for key in limits)
        message += f", so {named} {'has' if len(limits) == 1 else 'have'} no effect"
    return ConfigurationMistake(("servers", lists.name), message, did_you_mean(lists.name, known.servers))


def _may_be_short(pattern: str) -> bool:
    is_bare = "__" not in pattern and "*" not in pattern and not pattern.startswith("/")
    return is_bare and not any(pattern in names for names in BUILTINS.values())


def _full_names(pattern: str, known: _Known) -> str | None:
    """Name the tools that their servers call by a pattern; None if there are none."""
    if not any(own == pattern for _, own in known.own_names):
        return None
    names = sorted(name for name in known.names if name.startswith(MCP) and name.endswith(f"__{pattern}"))
    return f"write {' or '.join(f'`{name}`' for name in names)}"


def _without_effect(pattern: str) -> str:
    return f"`{pattern}` has no effect, because it does not name the tool's server"


def _unmatched_of_server(loaded: LoadedFile, lists: AccessLists, known: _Known) -> Iterator[Remark]:
    """List the unmatched patterns of a server, unless its tools are unknown."""
    own = [name for server, name in known.own_names if glob(lists.name).matches(server)]
    for key, patterns in (("allow", lists.allow or ()), ("block", lists.block)):
        for pattern in patterns:
            if own and not _matches(own_globs(pattern), [*own, *known.names]):
                message = f"`{pattern}` matches no known tool of the server"
                yield _note(loaded, ("servers", lists.name, key), message, did_you_mean(pattern, own))


def _patterns(loaded: LoadedFile) -> Iterator[tuple[KeyPath, str]]:
    """List the tool patterns, with the keys that lead to each."""
    content = loaded.content
    yield from ((("tools", entry.pattern), entry.pattern) for entry in content.tools)
    for lists, path in ((content.everyone, ()), *((each, ("agents", each.name)) for each in content.agents)):
        yield from (((*path, "allow"), pattern) for pattern in lists.allow or ())
        yield from (((*path, "block"), pattern) for pattern in lists.block)
    for state in content.states:
        yield from ((("states", state.name, "on"), pattern) for pattern in state.on)
        yield from ((("states", state.name, "off"), pattern) for pattern in state.off)
    yield from ((("pinned",), pattern) for pattern in content.pinned)
    for room in content.rooms:
        yield from ((("rooms", room.name, "tools"), pattern) for pattern in room.tools)


def _matches(globs: Iterable[Glob], names: Collection[str]) -> bool:
    return any(form.matches(name) for form in globs for name in names)


def _note(loaded: LoadedFile, path: KeyPath, message: str, hint: str | None) -> Remark:
    return Severity.NOTE, loaded.file, ConfigurationMistake(path, message, hint)


def _blocked(loaded: LoadedFile) -> Iterator[Remark]:
    """List patterns that are both allowed and blocked."""
    content = loaded.content
    named = [(("servers", each.name), each) for each in content.servers]
    named += [(("agents", each.name), each) for each in content.agents]
    for path, lists in (((), content.everyone), *named):
        for pattern in lists.allow or ():
            blocking = next((each for each in lists.block if covers(each, pattern)), None)
            if blocking is not None:
                message = f"`{pattern}` is also blocked by `{blocking}`, which wins"
                mistake = ConfigurationMistake((*path, "allow"), message, "remove one of them")
                yield Severity.WARNING, loaded.file, mistake


def _overruled(loaded: LoadedFile, all_loaded: Sequence[LoadedFile]) -> Iterator[Remark]:
    """List rules that have no effect, because a stricter rule in an equal or weaker file wins."""
    for entry in loaded.content.tools:
        for other in all_loaded:
            if rule_strength(other.file) > rule_strength(loaded.file):
                continue  # already reported as a mistake
            for theirs in other.content.tools:
                for key in _in_vain(entry, theirs):
                    stricter = f"`{key_path(('tools', theirs.pattern, key))}` in {other.file.path}"
                    message = f"{stricter} is stricter and wins"
                    yield (
                        Severity.WARNING,
                        loaded.file,
                        ConfigurationMistake(("tools", entry.pattern, key), message),
                    )


def _in_vain(entry: ToolEntry, theirs: ToolEntry) -> Iterator[str]:
    undone = ["approval"] if entry.approval is False and theirs.approval else []
    undone += ["ai_enabled"] if entry.ai_enabled and theirs.ai_enabled is False else []
    if undone and covers(
        theirs.pattern, entry.pattern
    ):  # patterns last, because the number of pairs is quadratic
        yield from undone
