"""`remit memory`: shows, exports, imports and cleans up project memory."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import click

from remit.bootstrap import open_memory
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import JSON, NOTHING_DONE, PROJECT, YES, confirm, limit_option
from remit.cli.output.json_output import Shape
from remit.errors import BadFileError, NoSuchFileError, NotApprovedError
from remit.files import private_files
from remit.files.bounded_reader import ANYWHERE, FileError, read_bytes
from remit.files.checkout import link_in_checkout
from remit.memory.artifacts import ArtifactKind, StoredArtifact, body_of, name_of
from remit.memory.memory_scopes import memory_id
from remit.memory.project_memory import Memory
from remit.text.times import moment

_LIMIT = 50
_NAME = 80  # characters of an artifact's name in a table
_LARGEST = 2**26  # bytes of an export

ID = click.option(
    "--id", "project_id", metavar="ID", help="The project id of the memory; default: this directory's."
)
GLOBAL = click.option("--global", "is_global", is_flag=True, help="Global memory, which all projects share.")


def _which(memory: Memory, project_id: str | None, *, is_global: bool) -> str | None:
    """Return the project id of the selected memory; None stands for the global scope."""
    if is_global and project_id is not None:
        raise click.UsageError("pass --id or --global, not both")
    return None if is_global else project_id or memory_id(memory.workspace.project)


def for_a_memory(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select a memory."""
    for option in (JSON, GLOBAL, ID, PROJECT):
        command = option(command)
    return command


@click.group("memory")
def memory() -> None:
    """View, export and clean up project memory."""


@memory.command("id")
@PROJECT
@JSON
def print_id(*, project: str, as_json: bool) -> None:
    """Print the project_id of this directory's memory."""
    with open_memory(project) as opened:
        found = memory_id(opened.workspace.project)
        state = opened.get_scope_state({"project_id": found})
    if as_json:
        render.data({"project_id": found, "exists": state.project_exists})
    else:
        render.out(found)


@memory.command("list")
@for_a_memory
@click.option("--projects", "whose", is_flag=True, help="List the projects that have a memory.")
@click.option("--all", "everything", is_flag=True, help="Include superseded and held artifacts.")
@limit_option(most=10_000, default=_LIMIT)
def list_artifacts(
    *,
    project: str,
    project_id: str | None,
    is_global: bool,
    whose: bool,
    everything: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List artifacts, newest first."""
    with open_memory(project) as opened:
        if whose:
            _list_projects(opened, as_json=as_json)
            return
        which = _which(opened, project_id, is_global=is_global)
        found = opened.artifacts(which, limit, everything=everything)
    if as_json:
        render.data({"project_id": which, "artifacts": [artifact_shape(each) for each in found]})
    elif found:
        render.table("memory", ("id", "status", "scope", "saved", "name"), [_cells(each) for each in found])
    else:
        render.out(f"No memory for {render.printable(which)}." if which else "No global memory.")


def _list_projects(opened: Memory, *, as_json: bool) -> None:
    found = opened.projects()
    if as_json:
        keys = ("project_id", "created_at", "updated_at", "artifacts")
        shapes = [
            dict(zip(keys, (id, _time(made), _time(last), count), strict=True))
            for id, made, last, count in found
        ]
        render.data({"projects": shapes})
    elif found:
        rows = [(id, str(count), _time(made), _time(last)) for id, made, last, count in found]
        render.table("projects", ("project_id", "artifacts", "created", "changed"), rows)
    else:
        render.out("No project has a memory yet.")


@memory.command("show")
@click.argument("id")
@for_a_memory
def show(id: str, *, project: str, project_id: str | None, is_global: bool, as_json: bool) -> None:
    """Show an artifact and its relations."""
    with open_memory(project) as opened:
        found = opened.find(id, _which(opened, project_id, is_global=is_global))
        relations = opened.relations(found.id)
    if as_json:
        render.data({**artifact_shape(found), "relations": [relation_shape(each) for each in relations]})
        return
    lines = [f"{found.id} ({found.kind}, {found.scope}, {found.status})"]
    lines += [f"  {key:10} {_value(value)}" for key, value in found.content.items()]
    lines += [f"  saved      {_time(found.created_at)}"]
    lines += [f"  {one} {what} {other}" for one, what, other, _ in relations]
    render.print_lines(lines)


@memory.command("search")
@click.argument("query", nargs=-1, required=True)
@PROJECT
@ID
@limit_option(most=50, default=5)
@JSON
def search(
    *, query: tuple[str, ...], project: str, project_id: str | None, limit: int, as_json: bool
) -> None:
    """Find artifacts by words and meaning.

    Searches the project's memory and global memory. Exits with 1 if nothing is found.
    """
    with open_memory(project) as opened:
        which = _which(opened, project_id, is_global=False)
        found = opened.memory_surface({"query": " ".join(query), "project_id": which, "limit": limit})
    if as_json:
        render.data(asdict(found))
    else:
        for each in found.matches:
            render.out(render.printable(f"{each['id']}  {each['score']}  {each['scope']}  {each['name']}"))
            render.out(render.printable(f"  {' '.join(str(each['content']).split())}"))
    if not found.matches:
        render.note(found.next_step or "No matches.")
        sys.exit(NOTHING_DONE)


@memory.command("export")
@PROJECT
@ID
@click.option("--all", "everything", is_flag=True, help="All projects, and global memory.")
@click.option("--output", metavar="FILE", help="Write to a file; default: stdout.")
def export(*, project: str, project_id: str | None, everything: bool, output: str | None) -> None:
    """Export memory as JSON Lines."""
    if everything and project_id is not None:
        raise click.UsageError("pass --id or --all, not both")
    with open_memory(project) as opened:
        which = None if everything else _which(opened, project_id, is_global=False)
        lines = list(opened.export(which))
    if output is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    if (link := link_in_checkout(output)) is not None:
        raise BadFileError(
            f"`{link}` is a link; Remit does not write through links in a project", hint="name another file"
        )
    try:
        with open(output, "w", encoding="utf-8", opener=private_files.open_private) as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise NoSuchFileError(f"`{output}` cannot be written: {error.strerror}") from error
    render.note(f"wrote {_records(len(lines) - 1)}")


@memory.command("import")
@click.argument("file", metavar="FILE")
@PROJECT
@JSON
def restore(file: str, *, project: str, as_json: bool) -> None:
    """Import an export; FILE may be `-` for stdin.

    Adds all records or none; known records stay unchanged. A person must approve records that other projects
    will see: a terminal asks you; otherwise use `remit approve`.
    """
    lines = _lines(file)
    with open_memory(project) as opened:
        try:
            done = opened.restore(lines)
        except NotApprovedError as refused:
            waiting = (
                None if refused.approval_id is None else opened.global_writes.waiting(refused.approval_id)
            )
            if refused.approval_id is None or waiting is None:
                raise
            if not sys.stdin.isatty():
                refused.hint = f"run `remit approve {refused.approval_id}`, then import it again"
                raise
            require_person()
            render.paged(waiting.shown.split("\n"), to_stderr=True)
            confirm("Import records that other projects will see?", yes=False)
            opened.global_writes.answer(refused.approval_id, word=True)
            done = opened.restore(lines)
    if as_json:
        render.data(done._asdict())
    else:
        render.out(f"added {_records(done.added)}; {_records(done.known)} already known")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def _lines(file: str) -> Sequence[str]:
    try:
        data = (
            sys.stdin.buffer.read(_LARGEST + 1)
            if file == "-"
            else read_bytes(file, limit=_LARGEST, within=ANYWHERE)
        )
        if data is None:
            raise NoSuchFileError(f"`{file}` cannot be read: it does not exist")
        if len(data) > _LARGEST:
            raise BadFileError(f"`{file}` has more than {_LARGEST:,} bytes", hint="import it in parts")
        return data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise BadFileError(f"`{file}` is not UTF-8 text", hint="`remit memory export` writes one") from error
    except FileError as error:
        raise BadFileError(f"`{file}` cannot be read: {error.reason}") from error


@memory.command("delete")
@click.argument("id", required=False)
@for_a_memory
@YES
def delete(
    id: str | None, *, project: str, project_id: str | None, is_global: bool, yes: bool, as_json: bool
) -> None:
    """Erase an artifact, or without an ID a project's whole memory.

    Asks for confirmation.
    """
    with open_memory(project) as opened:
        which = _which(opened, project_id, is_global=is_global)
        if id is not None:
            found = opened.find(id, which)
            confirm(f"Erase {render.printable(found.id)}?", yes=yes)
            opened.delete_artifact(found)
            what = found.id
        else:
            if which is None:
                raise click.UsageError("pass the ID of the global artifact to erase")
            if not opened.get_scope_state({"project_id": which}).project_exists:
                render.note(f"{render.printable(which)} has no memory")
                sys.exit(NOTHING_DONE)
            confirm(f"Erase all memory of {render.printable(which)}?", yes=yes)
            opened.delete_project({"project_id": which})
            what = which
    if as_json:
        render.data({"erased": what})
    else:
        render.out(f"erased {render.printable(what)}")


@memory.command("hygiene")
@PROJECT
@ID
@JSON
def hygiene(*, project: str, project_id: str | None, as_json: bool) -> None:
    """Find artifacts that are stale, duplicate, held or never tried."""
    with open_memory(project) as opened:
        which = _which(opened, project_id, is_global=False)
        report = opened.run_hygiene({"project_id": which})
    if as_json:
        render.data(asdict(report))
        return
    for category, ids in report.candidate_ids.items():
        for each in ids:
            render.out(render.printable(f"{category.replace('_', ' ')}: {each}"))
    if report.unresolved_saves:
        render.out(
            render.printable(
                f"{report.unresolved_saves} writes are pending: {', '.join(report.pending_artifact_ids)}"
            )
        )
    render.out(render.printable(report.next_step))


def _cells(kept: StoredArtifact) -> tuple[str, ...]:
    scope = f"focus {kept.focus}" if kept.focus is not None else kept.scope
    words = body_of if kept.kind is ArtifactKind.OBSERVATION else name_of  # an observation is named by type
    name = " ".join(words(kept.kind, kept.content).split())
    return kept.id, kept.status, scope, _time(kept.created_at), name[:_NAME]


def relation_shape(relation: tuple[str, str, str, Mapping[str, object]]) -> Shape:
    """Return a relation of an artifact as JSON."""
    source, name, target, properties = relation
    return {"source": source, "relation": name, "target": target, "properties": dict(properties)}


def artifact_shape(kept: StoredArtifact) -> Shape:
    """Return an artifact as JSON."""
    return {
        "id": kept.id,
        "kind": kept.kind,
        "scope": kept.scope,
        "project_id": kept.project_id or None,
        "focus": kept.focus,
        "status": kept.status,
        "created_at": _time(kept.created_at),
        "updated_at": _time(kept.updated_at),
        "content": dict(kept.content),
    }


def _value(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _time(milliseconds: int) -> str:
    return moment(milliseconds, "seconds")
