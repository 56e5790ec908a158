"""`remit memory`: switches project memory on or off, and reads it."""

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from remit.bootstrap import open_memory, open_registry
from remit.cli import render
from remit.cli.options import (
    JSON,
    NOTHING_DONE,
    YES,
    Here,
    confirm,
    limit_option,
    name_change,
    require_person,
)
from remit.cli.render import Line, Shape
from remit.config import personal_path, read_table, remove_key, set_key
from remit.decision import shorten
from remit.errors import NotFoundError
from remit.files import locate, this_machine
from remit.text import moment

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context
    from remit.memory import Memory
    from remit.store import Artifact, MemoryProject

_LIMIT = 50
_LONGEST_NAME = 80  # characters in a table
_KEY = ("memory", "enabled")
_NAMES = ("objective", "title", "trigger", "topic", "entity_name", "content")  # fields that name a note

_PROJECT = click.option(
    "-C",
    "--project",
    "directory",
    metavar="DIR",
    default=".",
    help="The directory; default: the current one.",
)
_ID = click.option("--id", "project_id", metavar="ID", help="The project id; default: this directory's.")


@click.group("memory")
def memory() -> None:
    """Switch project memory on or off, and read it.

    Agents keep decisions and notes of a project for later sessions, on this machine. It is off until you
    switch it on.
    """


@memory.command("on")
@_PROJECT
@click.option("--from", "moved", metavar="DIR", help="Take over the memory of a checkout that was in DIR.")
@YES
def switch_on(*, directory: str, moved: str | None, yes: bool) -> None:
    """Let agents keep a memory of this project."""
    require_person("switch memory on", yes=yes)
    with open_registry() as registry:
        context = Here(directory).context(registry)
        path = personal_path(context.workspace, this_machine())
        name_change("remit memory on")
        is_on = registry.config.current(context.workspace).memory
        if not is_on:
            set_key(path, _KEY, value=True)
        cost = _cost(registry, context)
    render.out("Memory is already on." if is_on else f"Memory is on here: {shorten(path, context)}")
    render.note(cost)
    if moved is not None:
        from remit.decision import identify

        with open_memory(directory) as opened:
            projects = opened.take_over(identify(moved))
        render.out(f"Took over the memory of {', '.join(projects) or 'no project'}.")
    render.note("hint: `remit memory off` switches it off; what is stored stays until `remit memory delete`")


def _cost(registry: "Registry", context: "Context") -> str:
    """Say what memory's tools cost, and when more tools are found by search because of them."""
    from remit.catalog import make_plan
    from remit.memory import offer
    from remit.text import definition_tokens, plural, rounded

    tools = offer().tools
    tokens = sum(
        definition_tokens(tool.name, tool.description, json.dumps(json.loads(tool.raw)["inputSchema"]))
        for tool in tools
    )
    budget = make_plan(registry.catalog(context).configuration).token_budget
    return (
        f"Its {plural(len(tools), 'tool')} take about {rounded(tokens):,} tokens per request, "
        f"counted in `token_budget` ({budget:,}): above it, tools are found by search instead"
    )


@memory.command("off")
@_PROJECT
def switch_off(*, directory: str) -> None:
    """Keep no memory of this project; what is stored stays."""
    with open_registry() as registry:
        context = Here(directory).context(registry)
        path = personal_path(context.workspace, this_machine())
        name_change("remit memory off")
        if read_table(path).get("memory", {}).get("enabled"):
            remove_key(path, _KEY)
        if registry.config.current(context.workspace).memory:  # another file switches it on
            set_key(path, _KEY, value=False)
    render.out("Memory is off here.")
    render.note("hint: `remit memory on` switches it on again; `remit memory delete` erases what is stored")


@memory.command("id")
@_PROJECT
@JSON
def print_id(*, directory: str, as_json: bool) -> None:
    """Print the project id of this directory's memory."""
    with open_memory(directory) as opened:
        project_id = _id(opened, directory)
        exists = any(project.project_id == project_id for project in opened.projects())
    if as_json:
        render.data({"project_id": project_id, "exists": exists})
    else:
        render.out(project_id)


@memory.command("list")
@_PROJECT
@_ID
@click.option("--projects", "lists_projects", is_flag=True, help="List the projects that have a memory.")
@limit_option(most=10_000, default=_LIMIT)
@JSON
def list_notes(
    *, directory: str, project_id: str | None, lists_projects: bool, limit: int, as_json: bool
) -> None:
    """List what is stored, newest first."""
    with open_memory(directory) as opened:
        project_id = _id(opened, directory, project_id)
        projects = opened.projects()
        is_known = any(project.project_id == project_id for project in projects)
        found = opened.artifacts(project_id, limit) if is_known and not lists_projects else []
    if as_json and lists_projects:
        render.data({"projects": [_project(item) for item in projects]})
    elif as_json:
        render.data({"project_id": project_id, "artifacts": [_artifact(item) for item in found]})
    elif lists_projects:
        rows = [
            (item.project_id, str(item.artifacts), _time(item.created_at), _time(item.updated_at))
            for item in projects
        ]
        columns = ("project", "notes", "created", "changed")
        render.out(render.table(columns, rows, numbers=("notes",)) if rows else ["No memory yet."])
    else:
        rows = [(item.key, item.kind, _scope(item), _time(item.created_at), _name(item)) for item in found]
        columns = ("id", "kind", "scope", "saved", "name")
        render.paged(render.table(columns, rows) if rows else [f"No memory for {project_id}."])


@memory.command("show")
@click.argument("id")
@_PROJECT
@JSON
def show(id: str, *, directory: str, as_json: bool) -> None:
    """Show one note with its relations."""
    with open_memory(directory) as opened:
        found = opened.find(id)
        relations = opened.relations(id)
    if as_json:
        render.data(
            {
                **_artifact(found),
                "relations": [{**item._asdict(), "properties": dict(item.properties)} for item in relations],
            }
        )
        return
    lines: list[Line] = [f"{found.key} ({found.kind}, {_scope(found)})"]
    lines += [f"  {key:10} {_value(value)}" for key, value in found.content.items()]
    lines += [f"  saved      {_time(found.created_at)}"]
    lines += [f"  {item.source} {item.relation} {item.target}" for item in relations]
    render.out(lines)


@memory.command("search")
@click.argument("query", nargs=-1, required=True)
@_PROJECT
@_ID
@limit_option(most=50, default=5)
@JSON
def search(
    *, query: tuple[str, ...], directory: str, project_id: str | None, limit: int, as_json: bool
) -> None:
    """Find notes by words and meaning; exits with 1 if nothing is found."""
    with open_memory(directory) as opened:
        project_id = _id(opened, directory, project_id)
        found = opened.call(
            "memory_surface", {"query": " ".join(query), "project_id": project_id, "limit": limit}
        )
    matches: list[dict[str, Any]] = found.get("items", [])
    if as_json:
        render.data(found)
    else:
        render.out(_match_lines(matches))
    if not matches:
        render.note("Nothing found.")
        sys.exit(NOTHING_DONE)


@memory.command("delete")
@click.argument("id", required=False)
@_PROJECT
@_ID
@YES
@JSON
def delete(id: str | None, *, directory: str, project_id: str | None, yes: bool, as_json: bool) -> None:
    """Erase one note, or without an ID a project's whole memory."""
    require_person("erase memory", yes=yes)
    with open_memory(directory) as opened:
        project_id = _id(opened, directory, project_id)
        if id is not None:
            opened.find(id)
            confirm(f"Erase {render.printable(id)}?", yes=yes)
            opened.delete_artifact(id)
        else:
            if all(project.project_id != project_id for project in opened.projects()):
                raise NotFoundError(f"`{project_id}` has no memory here")
            confirm(f"Erase all memory of {render.printable(project_id)}?", yes=yes)
            opened.delete(project_id)
    erased = id or project_id
    if as_json:
        render.data({"erased": erased})
    else:
        render.out(f"erased {erased}")


def _id(opened: "Memory", directory: str, given: str | None = None) -> str:
    """Return the project id that was given, or the one that agents of a directory use."""
    projects = sorted(opened.projects(), key=lambda project: -project.updated_at)
    own = projects[0].project_id if projects else locate(directory).project.short_name
    return given or own


def _match_lines(matches: list[dict[str, Any]]) -> Iterator[Line]:
    for match in matches:
        texts = [value for key, value in match.items() if key in _NAMES and isinstance(value, str)]
        yield f"{match['id']}  {match['score']}  {match['scope']}"
        yield from (f"  {' '.join(text.split())}" for text in texts)


def _project(item: "MemoryProject") -> Shape:
    return {**item._asdict(), "created_at": _time(item.created_at), "updated_at": _time(item.updated_at)}


def _artifact(item: "Artifact") -> Shape:
    return {
        "id": item.key,
        "kind": item.kind,
        "scope": "project" if not item.focus else "focus",
        "project_id": item.project_id,
        "focus": item.focus or None,
        "status": "current" if item.is_live else "superseded",
        "created_at": _time(item.created_at),
        "updated_at": _time(item.updated_at),
        "content": dict(item.content),
    }


def _scope(item: "Artifact") -> str:
    replaced = "" if item.is_live else ", replaced"
    return (f"focus {item.focus}" if item.focus else "project") + replaced


def _name(item: "Artifact") -> str:
    fields = (item.content.get(key) for key in _NAMES)
    text = next((value for value in fields if isinstance(value, str) and value), "")
    return " ".join(text.split())[:_LONGEST_NAME]


def _value(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _time(milliseconds: int) -> str:
    return moment(milliseconds, "seconds")
