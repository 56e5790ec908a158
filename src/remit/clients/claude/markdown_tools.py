"""Claude Code's commands, skills and subagents: Markdown files with front matter, in folders."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import cast

from remit.clients.claude.claude_entries import NAME, read_entry
from remit.clients.parsing.client_reader import (
    MAX_DEPTH,
    ClientReader,
    EntryOrigin,
    ParsedFile,
    declare_servers,
)
from remit.clients.parsing.entry_fields import EntryFields
from remit.decision.agents import AgentProfile
from remit.decision.declarations import Declaration
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope, ancestors
from remit.decision.tool_names import storable
from remit.files.front_matter import split
from remit.text.json_values import as_list

FOLDERS = {Kind.SLASH_COMMAND: "commands", Kind.SKILL: "skills", Kind.SUBAGENT: "agents"}
SKILL_FILE = "SKILL.md"

_HEAD = 64 * 2**10  # bytes of a file that are read: its front matter and first lines
_MAX_DESCRIPTION = 1_536
_MAX_FIRST_LINE = 100
_WORD = re.compile(r"[^\s,(]+(?:\([^)]*\)?)?")  # `Bash(git add:*, git commit:*)` is one word
_YES, _NO = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFolder:
    """A folder of commands, skills and agents, and the scope they apply to."""

    folder: str
    scope: Scope
    client: str = NAME
    project_hash: str | None = None
    dir: str | None = None
    plugin: str | None = None

    @property
    def prefix(self) -> str:
        """Return the prefix of every name: the plugin's."""
        return "" if self.plugin is None else f"{self.plugin}:"

    def declaration(self, kind: Kind, name: str, source: str, description: str | None) -> Declaration:
        """Declare an item of this folder."""
        sign = "/" if kind is Kind.SLASH_COMMAND else ""
        return Declaration(
            name=storable(f"{sign}{self.prefix}{name}"),
            kind=kind,
            client=self.client,
            scope=self.scope,
            source=source,
            project_hash=self.project_hash,
            dir=self.dir,
            plugin=self.plugin,
            description=description,
        )


def read_tool_folders(reader: ClientReader, home: str, managed: str) -> None:
    """Read the commands, skills and agents of every scope except plugins."""
    bases = [
        ToolFolder(folder=os.path.join(managed, ".claude"), scope=Scope.MANAGED),
        ToolFolder(folder=home, scope=Scope.GLOBAL),
    ]
    for dir in project_dirs(reader):
        folder = os.path.join(dir, ".claude")
        if folder != home:
            hash = reader.workspace.project.hash
            bases.append(ToolFolder(folder=folder, scope=Scope.PROJECT, project_hash=hash, dir=dir))
    for base in bases:
        for kind, folder in FOLDERS.items():
            read_folder(reader, base, kind, os.path.join(base.folder, folder))


def project_dirs(reader: ClientReader) -> Iterator[str]:
    """List the directories whose `.claude` counts: up to the root of the checkout, else up to the home."""
    checkout, home = reader.workspace.checkout, os.path.realpath(reader.machine.home)
    root = checkout if reader.look_at(os.path.join(checkout, ".git")) else None
    return takewhile(lambda dir: dir != home, ancestors(reader.workspace.dir, up_to=root))


def read_folder(reader: ClientReader, base: ToolFolder, kind: Kind, folder: str) -> None:
    """Read all files of one kind in a folder."""
    # The first of two agents with one name wins, and the last declaration wins: read in reverse.
    for name in reversed(reader.files_below(folder, depth=1 if kind is Kind.SKILL else MAX_DEPTH)):
        if kind is not Kind.SKILL and name.endswith(".md"):
            read_file(reader, base, kind, os.path.join(folder, name), _invoked_by(name))
        elif os.path.basename(name) == SKILL_FILE and os.path.dirname(name):
            read_file(reader, base, kind, os.path.join(folder, name), _skill_name(base, name))


def _skill_name(base: ToolFolder, name: str) -> str:
    """Name a skill after its folder; a plugin's keeps only characters that a tool name may have."""
    folder = os.path.dirname(name)
    return folder if base.plugin is None else dashed(folder)


def dashed(text: str) -> str:
    """Replace everything except letters, digits, `_` and `-` with `-`."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", text)


def _invoked_by(name: str) -> str:
    """Name a command by its path: `db/seed.md` is `db:seed`; a skill among commands has its folder's name."""
    folder, file = os.path.split(name)
    stem = folder if file == SKILL_FILE and folder else name.removesuffix(".md")
    return stem.replace(os.sep, ":")


def read_file(
    reader: ClientReader, base: ToolFolder, kind: Kind, path: str, name: str, described: str | None = None
) -> None:
    """Read one command, skill or agent; `described` overrides its description."""
    text = reader.head(path, _HEAD)
    if text is None:
        return
    fields, body = split(text, lambda size: reader.may_parse_yaml(path, size))
    declaration = base.declaration(kind, name, path, described or _described(fields, body))
    with reader.part(path) as parsed:
        if kind is Kind.SUBAGENT:
            _declare_agent(declaration, fields, base, parsed)
        else:
            parsed.declarations.append(replace(declaration, own_status=_own_status(fields, base)))


def _declare_agent(
    declaration: Declaration, fields: Mapping[str, object], base: ToolFolder, into: ParsedFile
) -> None:
    """Declare an agent by the name in its front matter, prefixed with its plugin and folders."""
    folders, _, stem = declaration.name.rpartition(":")
    name = fields.get("name")
    if base.plugin is not None:  # its agents may have any name; the file name is the default
        name = f"{folders}:{_text(name) or stem}"
    elif not isinstance(name, str) or name == "" or ":" in name or name.startswith("-"):
        name = None
    if name is None or not isinstance(fields.get("description"), str):
        if fields:
            into.note(
                "", "an agent needs a `description`, and a `name` without `:` that does not begin with `-`"
            )
        return
    label = storable(name)
    profile = _profile({key.lower(): value for key, value in fields.items()})
    if base.plugin is None:
        _declare_own_servers(declaration, label, fields, into)
    else:  # a plugin's agents declare no servers
        profile = replace(profile, servers=None, own_servers=())
    into.declarations.append(replace(declaration, name=label, profile=profile))


def _profile(fields: Mapping[str, object]) -> AgentProfile:
    """Read the tool lists of an agent; keys are in lower case here."""
    servers = fields.get("mcpservers")
    inline = _entries(servers)
    return AgentProfile(
        servers=None if servers is None else tuple(map(storable, (*_words(servers), *inline))),
        own_servers=tuple(map(storable, inline)),
        inherits_project=_flag(fields.get("inheritprojectmcps")) is not False,
        inherits_parent=_flag(fields.get("inheritparentmcps")) is True,
        tools=_words(fields.get("tools")) or None,  # an empty list means all, as in the client
        denied_tools=_words(fields.get("disallowedtools")),
        allowed_agents=None if fields.get("allowedagents") is None else _words(fields["allowedagents"]),
    )


def _declare_own_servers(
    agent: Declaration, label: str, fields: Mapping[str, object], into: ParsedFile
) -> None:
    origin = EntryOrigin(
        client=agent.client,
        source=agent.source,
        scope=agent.scope,
        place="mcpServers",
        project_hash=agent.project_hash,
        dir=agent.dir,
        agent=label,
    )
    written = next((value for key, value in fields.items() if key.lower() == "mcpservers"), None)
    declare_servers(EntryFields(_entries(written)), origin, into, read_entry=read_entry)


def _entries(servers: object) -> dict[str, object]:
    """Find inline entries: `- name: {command: ...}`, or a map of them."""
    items = cast("list[object]", servers) if isinstance(servers, list) else [servers]
    maps = [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]
    return {name: entry for each in maps for name, entry in each.items()}


def _words(value: object) -> tuple[str, ...]:
    """Read a list of words, or one comma-separated string; skip other types."""
    if isinstance(value, str):
        return tuple(_WORD.findall(value))
    return tuple(item.strip() for item in as_list(value) if isinstance(item, str) and item.strip())


def _own_status(fields: Mapping[str, object], base: ToolFolder) -> ConfigStatus | None:
    """Return MANUAL if the file hides the item from the model, or a plugin's item has no description."""
    is_described = any(_text(fields.get(name)) for name in ("description", "when_to_use"))
    is_kept = _flag(fields.get("disable-model-invocation")) is True
    return ConfigStatus.MANUAL if is_kept or (base.plugin and not is_described) else None


def _flag(value: object) -> bool | None:
    word = str(value).lower()
    return True if word in _YES else False if word in _NO else None


def _described(fields: Mapping[str, object], body: str) -> str | None:
    """Return the description and when to use it, else the first line of the body."""
    said = [_text(fields.get(name)) for name in ("description", "when_to_use")]
    if said[0]:
        return storable(" - ".join(filter(None, said)))[:_MAX_DESCRIPTION]
    first = next((line.strip().lstrip("#").strip() for line in body.splitlines() if line.strip()), "")
    short = first if len(first) <= _MAX_FIRST_LINE else f"{first[: _MAX_FIRST_LINE - 3]}..."
    return storable(short) or None


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, list | dict) else " ".join(str(value).split())
