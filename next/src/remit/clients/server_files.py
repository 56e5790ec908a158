"""Turns maps of servers into declarations, in the files and the form that a client's row describes."""

import os
from collections.abc import Callable, Iterator
from functools import partial

from remit.clients.fields import EntryError, EntryFields, storable_text
from remit.clients.reader import ClientReader, EntryOrigin, Format, Part, off_status, origin
from remit.clients.table import CLIENTS, Entry, File, place
from remit.decision import Declaration, Kind, Launch, Scope, Status, Transport, ancestors, server_name
from remit.files import parse_commented_json, parse_json, parse_jsonc, parse_toml, parse_yaml

MAX_SERVERS = 1_000  # per file

ServerEntry = tuple[Launch, bool]  # with whether its own entry disables it
ReadEntry = Callable[[str, EntryFields], ServerEntry | None]

_FORMATS: dict[str, Format] = {
    "json": parse_json,
    "commented": parse_commented_json,
    "jsonc": parse_jsonc,
    "toml": parse_toml,
    "yaml": parse_yaml,
}
_OFF = {"disabled": True, "enabled": False}


def read_files(reader: ClientReader) -> None:
    """Read the files of a client's row; one that was read already does not count a second time."""
    client = CLIENTS[reader.client]
    for file in client.files:
        if file.platforms and reader.machine.platform not in file.platforms:
            continue
        for path, dir in _paths(file, reader):
            content = None if path in reader.inputs else reader.content(path, _FORMATS[file.format])
            if content is None:
                continue
            with reader.part(path) as part:
                servers = EntryFields(content[0])
                for key in file.keys:
                    if not file.is_settings:
                        servers.require_servers(key)
                    servers = servers.fields(key)
                target = origin(reader, path, file.scope, dir, place=".".join(file.keys))
                declare_servers(servers, target, part, partial(read_entry, client.entry))


def declare_servers(servers: EntryFields, origin: EntryOrigin, part: Part, read: ReadEntry) -> None:
    """Turn a map of entries into declarations; skip what is no server and record invalid entries."""
    items = servers.items()
    if len(items) > MAX_SERVERS:
        part.note(origin.place, f"{len(items):,} servers; only the first {MAX_SERVERS:,} are read")
    for name, entry in items[:MAX_SERVERS]:
        with part.section(f"{origin.place}.{name}"):
            server = read(name, EntryFields(entry))
            if server is not None:
                part.declarations.append(_declaration(name, server, origin))


def read_entry(form: Entry, _name: str, entry: EntryFields) -> ServerEntry | None:
    """Read one entry, given how the client writes entries; None for what is no server.

    Raises:
        EntryError: the client would skip it.
    """
    if form.others == "untyped" and entry.text("type") not in form.types:
        return None
    if form.others == "unlaunched" and "command" not in entry and "url" not in entry:
        return None
    if form.is_exclusive and form.command in entry and any(url in entry for url in form.urls):
        raise EntryError("both `command` and `url` are set; remove one")
    own_form, launched = form, entry
    if form.nested is not None:
        field, command = form.nested
        if entry.is_object(field) or (field in entry and field != form.command):
            own_form, launched = form._replace(command=command), entry.fields(field)
    launch = _launch(own_form, launched)
    return launch, form.switch is not None and entry.flag(form.switch) is _OFF[form.switch]


def process(
    entry: EntryFields, *, command: str = "command", env: str = "env", has_numbers: bool = False
) -> Launch:
    """Read an entry that starts a process, given the names of its fields.

    Raises:
        EntryError: the client could not start it.
    """
    program = entry.text(command)
    if not program:
        raise EntryError(f"{command}: must not be empty")
    variables = entry.scalars(env) if has_numbers else entry.pairs(env)
    return Launch(Transport.STDIO, program, tuple(entry.texts("args")), variables, entry.optional_text("cwd"))


def remote(entry: EntryFields, transport: Transport, *, url: str = "url") -> Launch:
    """Read an entry with a URL.

    Raises:
        EntryError: the client could not connect to it.
    """
    return Launch(transport, url=entry.text(url), headers=entry.pairs("headers"))


def _launch(form: Entry, entry: EntryFields) -> Launch:
    transport = _transport(form, entry)
    if transport is Transport.STDIO:
        return process(entry, command=form.command, env=form.env, has_numbers=form.has_numbers)
    return remote(entry, transport, url=next((url for url in form.urls if url in entry), form.urls[0]))


def _transport(form: Entry, entry: EntryFields) -> Transport:
    if "type" in entry and form.types:
        transport = form.types.get(entry.text("type"))
        if transport is None:
            raise EntryError(f"type: not one of {', '.join(form.types)}")
        return transport
    if form.command in entry or not any(url in entry for url in form.urls):
        return Transport.STDIO
    if form.untyped is None:
        remote = (name for name, transport in form.types.items() if transport is not Transport.STDIO)
        raise EntryError(f"`{form.urls[0]}` without a `type`; expected one of {', '.join(remote)}")
    return form.untyped


def _declaration(name: str, server: ServerEntry, origin: EntryOrigin) -> Declaration:
    launch, is_off = server
    launch = launch._replace(variables=origin.variables, syntaxes=CLIENTS[origin.client].syntaxes)
    status = Status.NESTED if launch.starts_remit else Status.ENABLED
    place = (origin.scope, origin.project_hash, origin.dir, origin.agent)
    return Declaration(
        *(origin.client, Kind.MCP_SERVER, *place, storable_text(name), server_name(name, origin.plugin)),
        plugin=origin.plugin,
        source=origin.source,
        launch=launch,
        digest=launch.digest,
        endpoint=launch.endpoint,
        status=off_status(is_off) if is_off else status,
    )


def _paths(file: File, reader: ClientReader) -> Iterator[tuple[str, str | None]]:
    """Yield the paths of a row's file, each with the directory that it belongs to."""
    workspace = reader.workspace
    head, _, rest = file.path.partition("/")
    if head == "{dir}":
        dirs = ancestors(workspace.dir, up_to=workspace.checkout)
    elif head == "{root}":
        dirs = (workspace.checkout,)
    else:
        yield from ((path, None) for path in _matching(place(file.path, reader.machine), reader))
        return
    for dir in dirs:
        yield os.path.join(dir, *rest.split("/")), dir if file.scope is Scope.PROJECT else None


def _matching(path: str, reader: ClientReader) -> list[str]:
    folder, star, below = path.partition(f"{os.sep}*{os.sep}")
    if not star:
        return [path]
    return [os.path.join(folder, name, below) for name in reader.names_in(folder)]
