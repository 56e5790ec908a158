"""Claude Code's commands, skills and subagents: Markdown files with front matter, in folders."""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

from remit.clients.claude_settings import read_entry
from remit.clients.fields import EntryFields, storable_text
from remit.clients.reader import MAX_DEPTH, ClientReader, EntryOrigin, Part
from remit.clients.server_files import declare_servers
from remit.decision import AgentProfile, Declaration, Kind, Scope, Status, ancestors
from remit.files import split_front_matter
from remit.text import as_list

FOLDERS = {Kind.SLASH_COMMAND: "commands", Kind.SKILL: "skills", Kind.SUBAGENT: "agents"}
SKILL_FILE = "SKILL.md"

_HEAD = 64 * 2**10  # bytes of a file that are read: its front matter and first lines
_MAX_DESCRIPTION = 1_536
_MAX_FIRST_LINE = 100
_WORD = re.compile(r"[^\s,(]+(?:\([^)]*\)?)?")  # `Bash(git add:*, git commit:*)` is one word
_YES, _NO = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


class ToolFolder(NamedTuple):
    """A folder of commands, skills and agents, and the scope they apply to."""

    folder: str
    scope: Scope
    client: str = "claude-code"
    project_hash: str | None = None
    dir: str | None = None
    plugin: str | None = None

    def declaration(self, kind: Kind, name: str, source: str, description: str | None) -> Declaration:
        """Declare an item of this folder."""
        sign = "/" if kind is Kind.SLASH_COMMAND else ""
        prefix = "" if self.plugin is None else f"{self.plugin}:"
        place = (self.client, kind, self.scope, self.project_hash, self.dir, None, None)
        shown = storable_text(f"{sign}{prefix}{name}")
        return Declaration(*place, shown, self.plugin, source, description)


def read_tool_folders(reader: ClientReader, home: str, managed: str) -> None:
    """Read the commands, skills and agents of every scope except plugins."""
    bases = [ToolFolder(os.path.join(managed, ".claude"), Scope.MANAGED), ToolFolder(home, Scope.GLOBAL)]
    hash = reader.workspace.project.hash
    for dir in project_dirs(reader):
        folder = os.path.join(dir, ".claude")
        if folder != home:
            bases.append(ToolFolder(folder, Scope.PROJECT, project_hash=hash, dir=dir))
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
        path = os.path.join(folder, name)
        if kind is not Kind.SKILL and name.endswith(".md"):
            read_file(reader, base, kind, path, _invoked_by(name))
        elif os.path.basename(name) == SKILL_FILE and os.path.dirname(name):
            skill = os.path.dirname(name)
            read_file(reader, base, kind, path, skill if base.plugin is None else dashed(skill))


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
    fields, body = split_front_matter(text, lambda size: reader.may_parse_yaml(path, size))
    declaration = base.declaration(kind, name, path, described or _description(fields, body))
    with reader.part(path) as part:
        if kind is Kind.SUBAGENT:
            _declare_agent(declaration, fields, part)
        else:
            part.declarations.append(declaration._replace(status=_status(fields, base)))


def _declare_agent(agent: Declaration, fields: Mapping[str, object], part: Part) -> None:
    """Declare an agent by the name in its front matter, prefixed with its plugin and folders."""
    folders, _, stem = agent.name.rpartition(":")
    name = fields.get("name")
    if agent.plugin is not None:  # its agents may have any name; the file name is the default
        name = f"{folders}:{_text(name) or stem}"
    elif not isinstance(name, str) or name == "" or ":" in name or name.startswith("-"):
        name = None
    if name is None or not isinstance(fields.get("description"), str):
        if fields:
            part.note(
                "", "an agent needs a `description`, and a `name` without `:` that does not begin with `-`"
            )
        return
    label = storable_text(name)
    profile = _profile({key.lower(): value for key, value in fields.items()})
    if agent.plugin is None:
        _declare_own_servers(agent, label, fields, part)
    else:  # a plugin's agents declare no servers
        profile = profile._replace(servers=None, own_servers=())
    part.declarations.append(agent._replace(name=label, profile=profile))


def _profile(fields: Mapping[str, object]) -> AgentProfile:
    """Read the tool lists of an agent; keys are in lower case here."""
    servers = fields.get("mcpservers")
    inline = _inline_entries(servers)
    return AgentProfile(
        servers=None if servers is None else tuple(map(storable_text, (*_words(servers), *inline))),
        own_servers=tuple(map(storable_text, inline)),
        inherits_project=_flag(fields.get("inheritprojectmcps")) is not False,
        inherits_parent=_flag(fields.get("inheritparentmcps")) is True,
        tools=_words(fields.get("tools")) or None,  # an empty list means all, as in the client
        denied_tools=_words(fields.get("disallowedtools")),
        allowed_agents=None if fields.get("allowedagents") is None else _words(fields["allowedagents"]),
    )


def _declare_own_servers(agent: Declaration, label: str, fields: Mapping[str, object], part: Part) -> None:
    written = next((value for key, value in fields.items() if key.lower() == "mcpservers"), None)
    if servers := _inline_entries(written):
        place = (agent.client, agent.source, agent.scope, "mcpServers", agent.project_hash, agent.dir)
        declare_servers(EntryFields(servers), EntryOrigin(*place, agent=label), part, read_entry)


def _inline_entries(servers: object) -> dict[str, Any]:
    """Find inline entries: `- name: {command: ...}`, or a map of them."""
    maps: list[dict[str, Any]] = [item for item in (as_list(servers) or [servers]) if isinstance(item, dict)]
    return {name: entry for map in maps for name, entry in map.items()}


def _words(value: object) -> tuple[str, ...]:
    """Read a list of words, or one comma-separated string; skip other types."""
    if isinstance(value, str):
        return tuple(_WORD.findall(value))
    return tuple(item.strip() for item in as_list(value) if isinstance(item, str) and item.strip())


def _status(fields: Mapping[str, object], base: ToolFolder) -> Status:
    """Return MANUAL if the file hides the item from the model, or a plugin's item has no description."""
    is_described = any(_text(fields.get(name)) for name in ("description", "when_to_use"))
    is_kept = _flag(fields.get("disable-model-invocation")) is True
    return Status.MANUAL if is_kept or (base.plugin and not is_described) else Status.ENABLED


def _flag(value: object) -> bool | None:
    word = str(value).lower()
    return True if word in _YES else False if word in _NO else None


def _description(fields: Mapping[str, object], body: str) -> str | None:
    """Return the description and when to use it, else the first line of the body."""
    described = [_text(fields.get(name)) for name in ("description", "when_to_use")]
    if described[0]:
        return storable_text(" - ".join(filter(None, described)))[:_MAX_DESCRIPTION]
    first = next((line.strip().lstrip("#").strip() for line in body.splitlines() if line.strip()), "")
    short = first if len(first) <= _MAX_FIRST_LINE else f"{first[: _MAX_FIRST_LINE - 3]}..."
    return storable_text(short) or None


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, list | dict) else " ".join(str(value).split())
