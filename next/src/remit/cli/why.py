"""`remit why`: the decision about a name, what changes it, and where else it is declared."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.catalog import ALL_CLIENTS
from remit.cli import answers, render
from remit.cli.doctor.entries import add_command
from remit.cli.options import (
    JSON,
    NOTHING_DONE,
    Here,
    is_agents,
    known_names,
    with_agent,
    with_here,
    with_session,
)
from remit.cli.overview import still_offered
from remit.cli.render import Line, Span
from remit.decision import (
    MCP,
    Context,
    Decision,
    Declaration,
    Face,
    Kind,
    Status,
    Tool,
    ToolDecision,
    Verdict,
    client_title,
    is_covered,
    shorten,
    spellings,
    trust_command,
)
from remit.errors import ToolError
from remit.text import one_line, plural

if TYPE_CHECKING:
    from remit.catalog import Catalog, Elsewhere, Explanation, Registry, UnaskedServer
    from remit.decision import Key, Project, Rating
    from remit.upstream import Obstacle

_LONGEST_DESCRIPTION = 200
_MOST = 5  # servers, projects or files that are named


@click.command()
@click.argument("name", shell_complete=known_names)
@with_here
@with_agent
@with_session
@click.option("--details", is_flag=True, help="Show every check, other declarations and the description.")
@JSON
def why(*, name: str, here: Here, details: bool, as_json: bool) -> None:
    """Explain why a tool is available or hidden.

    NAME is a tool's, with or without its server, or a server's. An agent is told nothing of other projects.
    """
    if not name.strip():
        raise click.UsageError("NAME is empty: name a tool or a server")
    with open_registry() as registry:
        context = here.context(registry)
        explained = explain(name, registry, context, for_person=not (as_json or is_agents()))
        catalog = registry.catalog(context)
        judging = catalog.context
        obstacle = find_obstacle(explained, catalog)
        copies = _copies(name, explained.elsewhere.projects, registry, context)
        problems = registry.problems(context)
        lines = lines_of(explained, context) if as_json or details else {}
        offered = (
            ()
            if explained.tool is None
            else still_offered([ToolDecision(explained.tool, explained.decision)], judging)
        )
    if as_json:
        render.data(answers.explanation(explained, lines, obstacle, allow_step(explained), catalog))
    else:
        render.problems(problems, lambda path: shorten(path, context))
        head, *others = why_lines(explained, obstacle)
        render.out([head])
        if explained.suggestions:
            names = " or ".join(f"`{other}`" for other in explained.suggestions)
            render.note(f"hint: did you mean {names}?")
        render.out(others)
        render.out(elsewhere_lines(explained.elsewhere, copies, context))
        if offered and not explained.decision.is_available:
            render.out(_not_enforced(context))
        if details:
            rating = None if explained.tool is None else judging.rules.rate(explained.tool).rating
            render.out(detail_lines(explained, context, lines, rating))
    if explained.tool is None:
        sys.exit(NOTHING_DONE)


def explain(name: str, registry: "Registry", context: Context, *, for_person: bool) -> "Explanation":
    """Explain a name; a tool may be named without its server.

    Raises:
        ToolError: several servers have a tool of this name.
    """
    explained = registry.explain(name, context, for_person=for_person)
    if explained.tool is not None or not explained.full_names:
        return explained
    if len(explained.full_names) > 1:
        names = ", ".join(f"`{full}`" for full in explained.full_names)
        raise ToolError(f"several tools are called `{name}`", hint=f"name one of them: {names}")
    return registry.explain(explained.full_names[0], context, for_person=for_person)


def find_obstacle(explained: "Explanation", catalog: "Catalog") -> "Obstacle | None":
    """Find why the server of an available tool cannot be used here, without starting it."""
    tool = explained.tool
    if tool is None or tool.server is None or not explained.decision.is_available:
        return None
    from remit.files import this_machine
    from remit.upstream import Obstacle, start_obstacles

    server = next((row for row in catalog.tools if _is_server_of(row, tool)), tool)
    resolved = catalog.declarations.get(server.key)
    if resolved is not None:
        by_remit = catalog.context.face is Face.GATEWAY
        directory = catalog.context.workspace.dir
        found = start_obstacles([resolved.declaration], this_machine(), directory, by_remit=by_remit)
        if obstacle := found.get(server.key):
            return obstacle._replace(reason=f"cannot start: {obstacle.reason}")
    if server.failure is None:
        return None
    again = f"run `remit tools {shlex.quote(tool.server)} --refresh` to try again"
    return Obstacle(f"the last connection failed: {server.failure}", again)


def _is_server_of(row: Tool, tool: Tool) -> bool:
    return row.kind is Kind.MCP_SERVER and (row.client, row.source, row.server) == (
        tool.client,
        tool.source,
        tool.server,
    )


def why_lines(explained: "Explanation", obstacle: "Obstacle | None" = None) -> Iterator[Line]:
    """Write the decision, what changes it, and where else the name is declared."""
    decision, tool = explained.decision, explained.tool
    if tool is None:
        yield ((f"{explained.name}: ", "title"), (_unknown_reason(explained), ""))
        yield from _unasked_lines(explained)
    else:
        style = "bad" if decision.verdict is Verdict.HIDDEN else "title"
        yield (
            (f"{explained.name}: ", "title"),
            (f"{decision.verdict}", style),
            (f", {decision.full_reason}{'' if obstacle is None else f', but {obstacle.reason}'}", ""),
        )
        if explained.is_assumed:
            yield _assumption(explained, tool.server or tool.name)
    if step := _step(explained, obstacle):
        yield step


def _step(explained: "Explanation", obstacle: "Obstacle | None") -> str | None:
    """Say what would change the decision, let the server start, or keep the client from asking."""
    tool, decision = explained.tool, explained.decision
    if obstacle is not None and obstacle.fix is not None:
        return f"to change it: {obstacle.fix}"
    if decision.unlock is not None:
        is_asked = decision.verdict is Verdict.ASK and not decision.by_client
        return f"{'next' if is_asked else 'to change it'}: {decision.unlock}"
    if tool is None:
        return None
    if allow := allow_step(explained):
        return f"{client_title(tool.client)} asks before each call; to allow it, {allow}"
    if tool.is_trusted is False and decision.is_available:
        command = trust_command(tool.server or "")
        return f"{client_title(tool.client)} starts it, and Remit does not: run `{command}`"
    return None


def allow_step(explained: "Explanation") -> str | None:
    """Say how to allow a visible tool that the client asks about; None if it asks nothing."""
    if (
        explained.asking is None
        or explained.tool is None
        or explained.decision.verdict is not Verdict.VISIBLE
    ):
        return None
    return (
        f"add `{explained.tool.name}` to `permissions.allow` in ~/.claude/settings.json, "
        "or in .claude/settings.local.json for this project"
    )


def _not_enforced(context: Context) -> str:
    client = context.client or ""
    return f"{client_title(client)} still offers it: Remit's rules count there after `remit install {client}`"


def _unknown_reason(explained: "Explanation") -> str:
    if explained.decision.detail:
        return explained.decision.detail
    if any(item.can_be_asked for item in _may_have(explained)):
        return "no server listed here has it, and some were not asked yet"
    return "not known here"


def _unasked_lines(explained: "Explanation") -> Iterator[Line]:
    """Name the servers that may have an unknown tool."""
    servers = _may_have(explained)
    for item in servers[:_MOST]:
        step = f": {item.step}" if item.step else ""
        yield f"  the tools of `{item.label}` are not known ({item.reason}){step}"
    if len(servers) > _MOST:
        yield f"  and {plural(len(servers) - _MOST, 'more server')}: `remit tools --all`"


def _may_have(explained: "Explanation") -> "Sequence[UnaskedServer]":
    """Select the servers that an unknown tool could be of: a misspelled or slashed name is none of theirs."""
    name = explained.name
    if name.startswith(MCP):
        forms = spellings(name)
        return [item for item in explained.unasked if any(is_covered(f, item.server.name) for f in forms)]
    return () if explained.suggestions or name.startswith("/") else explained.unasked


def _assumption(explained: "Explanation", server: str) -> str:
    if not explained.unasked:
        return f"`{server}` did not list this tool when it was last asked"
    step = explained.unasked[0].step
    return f"not known yet whether `{server}` has this tool{f': {step}' if step else ''}"


def elsewhere_lines(
    elsewhere: "Elsewhere", copies: "Sequence[Declaration]", context: Context
) -> Iterator[Line]:
    """Say where else a name is declared, and what would bring it here as a command."""
    for project in elsewhere.projects[:_MOST]:
        sources = [item.source for item in copies if item.source.startswith(project.path + os.sep)]
        yield f"declared in another project: {_home((*sources, project.path)[0], context)}"
    if len(elsewhere.projects) > _MOST:
        yield f"  and in {plural(len(elsewhere.projects) - _MOST, 'more project')}"
    for command in filter(None, map(add_command, copies[:1])):
        yield f"to use it here: {command}"
    for source, counts in elsewhere.ignored[:_MOST]:
        yield f"declared in {source}, where the client reads no servers: move it to {counts}"
    for agent, source in elsewhere.agents[:_MOST]:
        yield f"the agent `{agent}` ({source}) lists it, and no file declares it"
    for problem in elsewhere.unreadable[:_MOST]:
        yield f"{shorten(problem.source, context)} could not be read whole: {problem.reason}"


def _copies(
    name: str, projects: "Sequence[Project]", registry: "Registry", context: Context
) -> "list[Declaration]":
    """Read the declarations of a server in other projects again."""
    forms = spellings(name)
    found: list[Declaration] = []
    for project in projects[:_MOST]:
        if os.path.isdir(project.path):
            there = registry.at(project.path, context.client or ALL_CLIENTS)
            found += [
                item.declaration
                for item in registry.clients.last_resolved(there)
                if item.declaration.kind is Kind.MCP_SERVER
                and item.declaration.project_hash == project.hash
                and (
                    item.declaration.is_called(name)
                    or any(is_covered(form, item.declaration.name) for form in forms)
                )
            ]
    return found


def _home(path: str, context: Context) -> str:
    home = context.home.rstrip("/")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def detail_lines(
    explained: "Explanation", context: Context, lines: "Mapping[Key, int]", rating: "Rating | None"
) -> Iterator[Line]:
    """Write every check, the facts of the tool, and the other declarations of its name."""
    rows = [(str(gate.gate or ""), _answer(gate), gate.full_reason) for gate in explained.gates]
    yield ""
    yield from render.table(("check", "answer", "reason"), rows)
    tool = explained.tool
    if tool is None:
        return
    yield ""
    yield f"declared in: {source(tool, context, lines)}"
    if rating is not None:
        yield f"danger: {rating.level.word} ({rating.origin})"
    if tool.tokens is not None:
        yield f"its definition takes about {tool.tokens:,} tokens"
    if listed := [other for other in explained.tools if other.status not in (Status.STALE, Status.UNLISTED)]:
        yield f"its tools: {len(listed):,} known"
    if tool.description:
        yield f"description: {one_line(tool.description, _LONGEST_DESCRIPTION)}"
    if explained.shadowed:
        yield ""
        others = [
            (other.scope, source(other, context, lines), why.full_reason) for other, why in explained.shadowed
        ]
        yield "other declarations of this name"
        yield from render.table(("scope", "file", "reason"), others)


def _answer(gate: Decision) -> Span:
    answers: Mapping[Verdict, Span] = {
        Verdict.VISIBLE: ("passes", ""),
        Verdict.ASK: ("asks", "warn"),
        Verdict.HIDDEN: ("hides", "bad"),
    }
    return answers[gate.verdict]


def source(tool: Tool, context: Context, lines: "Mapping[Key, int]") -> str:
    """Name the file of a declaration, with its line if it has one."""
    line = lines.get(tool.key)
    return shorten(tool.source, context) + (f" line {line}" if line else "")


def lines_of(explained: "Explanation", context: Context) -> "dict[Key, int]":
    from remit.clients import declaration_line

    return {tool.key: declaration_line(tool, context.workspace) for tool in explained.declared}
