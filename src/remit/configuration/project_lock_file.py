"""Reads and writes the content of `remit.lock`, in one order, without secrets and paths of a machine."""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from remit.configuration.config_model import ConfigurationContent, ConfigurationMistake
from remit.configuration.table_fields import TableFields
from remit.decision.definitions.project_lock import (
    UNKNOWN,
    LockedPackage,
    LockedServer,
    LockTexts,
    ProjectLock,
)
from remit.files.bounded_reader import FileError
from remit.files.formats import parse_toml
from remit.text.json_values import as_list, as_object

VERSION = 3
_HEADER = "# Written by `remit lock`. Compare it with `remit lock --check`.\n"
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile(r"[\x7f-\x9f\u2028\u2029]")


def read_lock(content: object) -> tuple[ConfigurationContent, list[ConfigurationMistake]]:
    """Parse a lock; do not use its content if it has mistakes."""
    mistakes: list[ConfigurationMistake] = []
    top = TableFields(content, (), mistakes)
    if (found := top.whole("version", 0, 1_000_000)) != VERSION:
        written = "has no version" if found is None else f"has format {found}"
        top.note("version", f"{written}, and this Remit reads format {VERSION}", "run `remit lock` again")
        return ConfigurationContent(lock=ProjectLock()), mistakes
    top.only(("version", "servers", "visible"))
    servers = {
        (source, name): _server(fields)
        for source, of_file in top.tables("servers")
        for name, fields in of_file.own_tables()
    }
    visible = {
        client: {agent: _texts(fields) for agent, fields in of_client.own_tables()}
        for client, of_client in top.tables("visible")
    }
    return ConfigurationContent(lock=ProjectLock(servers=servers, visible=visible)), mistakes


def _server(fields: TableFields) -> LockedServer:
    fields.only(("entry", "package", "sandbox", "instructions", "tools", "text"))
    return LockedServer(
        entry=fields.text("entry") or "",
        package=_package(fields.table("package")) if "package" in fields else None,
        tools=_texts(fields.table("tools")) if "tools" in fields else None,
        instructions=fields.text("instructions"),
        sandbox=fields.text("sandbox"),
    )


def _texts(fields: TableFields) -> dict[str, str]:
    return {name: fields.text(name) or "" for name in fields.names()}


def _package(fields: TableFields) -> LockedPackage:
    fields.only(LockedPackage._fields)
    return LockedPackage(
        fields.text("kind") or "",
        fields.text("name") or "",
        fields.text("version") or UNKNOWN,
        fields.text("integrity") or UNKNOWN,
        fields.text("files") or UNKNOWN,  # not in a lock of an earlier version
    )


def read_lock_texts(text: str) -> LockTexts:
    """Read what a lock shows of each server; nothing where it cannot be read, because no decision uses it."""
    try:
        files = as_object(as_object(parse_toml(text)).get("servers"))
    except FileError:
        return {}
    return {
        (source, name): {
            part: tuple(line for line in as_list(lines) if isinstance(line, str))
            for part, lines in as_object(as_object(server).get("text")).items()
        }
        for source, servers in files.items()
        for name, server in as_object(servers).items()
    }


def lock_text(lock: ProjectLock, texts: LockTexts = MappingProxyType({})) -> str:
    """Write a lock as TOML, with one line for each text, so that changes can be read and merged."""
    return _HEADER + "\n".join(_lines(lock, texts)) + "\n"


def _lines(lock: ProjectLock, texts: LockTexts) -> Iterator[str]:
    yield f"version = {VERSION}"
    for (source, name), server in sorted(lock.servers.items()):
        yield from ("", f"[servers.{_key(source)}.{_key(name)}]", f"entry = {_text(server.entry)}")
        if server.package is not None:
            parts = server.package._asdict().items()
            yield f"package = {{ {', '.join(f'{key} = {_text(value)}' for key, value in parts)} }}"
        if server.sandbox is not None:
            yield f"sandbox = {_text(server.sandbox)}"
        if server.instructions is not None:
            yield f"instructions = {_text(server.instructions)}"
        if server.tools is not None:
            yield from ("", f"[servers.{_key(source)}.{_key(name)}.tools]", *_pairs(server.tools))
        if shown := texts.get((source, name)):
            yield from ("", f"[servers.{_key(source)}.{_key(name)}.text]")
            for part, lines in sorted(shown.items()):
                yield from (f"{_key(part)} = [", *(f"    {_text(line)}," for line in lines), "]")
    for client, agents in sorted(lock.visible.items()):
        for agent, tools in sorted(agents.items()):
            yield from ("", f"[visible.{_key(client)}.{_key(agent)}]", *_pairs(tools))


def _pairs(values: Mapping[str, str]) -> Iterator[str]:
    return (f"{_key(key)} = {_text(value)}" for key, value in sorted(values.items()))


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    escaped = json.dumps(text, ensure_ascii=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped)
