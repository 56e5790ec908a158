"""Hostile repositories by number: each mixes several ingredients, on the machine of a user who blocks Bash.

The same number gives the same repository. Every ingredient has a chance of its own, so it does the same when
others are left out: that is how a repository that does harm is reduced to the ingredients that matter.
"""

import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from random import Random

from attacks.ingredients import file_forms, git_forms, markdown, other_clients, rules, servers, settings
from attacks.ingredients.repository import HostileRepository, Ingredient
from attacks.peers import Server, tool
from attacks.worlds import World

CONTENTS: Sequence[Ingredient] = (
    *servers.INGREDIENTS,
    *settings.INGREDIENTS,
    *markdown.INGREDIENTS,
    *other_clients.INGREDIENTS,
    *rules.INGREDIENTS,
)
FORMS: Sequence[Ingredient] = (*git_forms.FORMS, *file_forms.FORMS)  # come last, over what others wrote
SHARE = 0.1  # of the repositories have one ingredient
SECRETS = {  # in the home, and a word of each that must not be told
    ".netrc": "swordfish-harbour-velvet",
    ".ssh/id_ed25519": "marmalade-glacier-thistle",
    ".aws/credentials": "pelican-orchard-saffron",
    ".config/gh/hosts.yml": "juniper-lantern-cobalt",
    "Documents/diary-of-a-tortoise.md": "magnolia-bramble-quartz",
    ".claude/.credentials.json": "obsidian-pepper-willow",
}
TOKEN = "cinnamon-falcon-meadow"  # noqa: S105 - a variable of the user
_DOCUMENT = """---
name: {word}
description: {word}
machine: {word}
---
machine test login ada password {word}
"""
RULES = (  # of the user; Bash is blocked in all of them
    'block = ["Bash"]\n',
    'block = ["Bash"]\nask_from = "destructive"\n[tools."mcp__notes__*"]\nstates = ["git-initialized"]\n',
    'block = ["B*"]\nallow = ["*"]\n[servers.notes]\ntrusted = true\n',
    '[tools.Bash]\nai_enabled = false\n[tools."mcp__notes__write"]\nwhen = "git.repository"\n',
)


class ServerOnPath(Server):
    """A server whose program is looked for on the `PATH`, in a Python that heeds its variables."""

    @property
    def words(self) -> list[str]:
        return ["env", *(word for word in super().words if word != "-IS")]


class Victim:
    """The machine of a user who cloned a hostile repository."""

    def __init__(self, root: Path, number: int) -> None:
        self.world = World(root)
        self.number = number
        self.marks = root / "marks"
        self.marks.mkdir()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.secrets = {self.world.home / path: word for path, word in SECRETS.items()}
        for path, word in self.secrets.items():
            self.world.write(path, _DOCUMENT.format(word=word))
        self.notes = self.world.server("notes", tool("read"), tool("write"), tool("delete"))
        self.diary = ServerOnPath("diary", self.notes.folder)
        self.diary.offer(tool("append"))
        self.world.declare({"notes": self.notes, "diary": self.diary})
        self.world.settle(permissions={"allow": ["Bash", "mcp__notes__read"]})
        self.world.configure(self.chance("rules").choice(RULES))

    def chance(self, about: str) -> Random:
        """Chance that depends on this repository's number and on one matter."""
        return Random(f"{self.number} {about}")  # noqa: S311 - no secrets

    @property
    def environment(self) -> dict[str, str]:
        return {**self.world.environment, "API_TOKEN": TOKEN, "TERM": "dumb", "COLUMNS": "200"}

    @property
    def data(self) -> Path:
        """Remit's own directory."""
        return self.world.home / ".local/share/remit"

    def clone(self, ingredients: Sequence[Ingredient]) -> HostileRepository:
        """Let the user clone a repository with these ingredients, and answer the client's questions."""
        made = HostileRepository(
            root=self.world.repository,
            home=self.world.home,
            marks=self.marks,
            port=self.listener.getsockname()[1],
            secrets=self.secrets,
            chance=self.chance(""),
        )
        for ingredient in (each for each in ingredients if each not in FORMS):
            self._add(ingredient, made)
        made.write_documents()
        for ingredient in (each for each in ingredients if each in FORMS):
            self._add(ingredient, made)
        chance = self.chance("answers")
        for label in made.servers:
            if chance.random() < 0.5:
                self.world.approve(label)
        return made

    def reached(self, repository: HostileRepository) -> dict[str, str]:
        """The variables of a hook that the client starts here, with those of settings that it can read."""
        path = repository.workspace / ".claude/settings.json"
        written = json.dumps(repository.settings).encode()
        is_whole = path.is_file() and path.stat().st_size == len(written) and path.read_bytes() == written
        return {**self.environment, **(repository.settings.get("env", {}) if is_whole else {})}

    def installed_hook(self) -> list[str]:
        """The command that answers before a call, as install wrote it."""
        handler = self.world.user_settings["hooks"]["PreToolUse"][0]["hooks"][0]
        return [handler["command"], *handler["args"]]

    def installed_gateway(self) -> list[str]:
        """The gateway's command, as install wrote it."""
        entry = json.loads((self.world.home / ".claude.json").read_text("utf-8"))["mcpServers"]["remit"]
        return [entry["command"], *entry["args"]]

    def was_reached(self) -> bool:
        """Tell whether anything connected to the listener."""
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def snapshot(self) -> dict[str, tuple[object, ...]]:
        """Everything in the home and in the repository but Remit's own directory."""
        found = dict[str, tuple[object, ...]]()
        folders = [str(self.world.home), str(self.world.repository)]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.path == str(self.data):
                        continue
                    status = entry.stat(follow_symlinks=False)
                    marks = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
                    found[entry.path] = marks if entry.path != str(self.data.parent) else ()
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        return found

    def stored(self, word: str) -> list[str]:
        """The files of Remit's own directory that hold a word."""
        files = [path for path in self.data.rglob("*") if path.is_file()]
        return [str(path) for path in files if word.encode() in path.read_bytes()]

    def close(self) -> None:
        self.listener.close()

    def _add(self, ingredient: Ingredient, repository: HostileRepository) -> None:
        repository.chance = self.chance(ingredient.__name__)
        ingredient(repository)


def mix(number: int) -> list[Ingredient]:
    """The ingredients of a repository; a new ingredient leaves the others where they are."""

    def draw(ingredient: Ingredient) -> float:
        return Random(f"{number} {ingredient.__name__}").random()  # noqa: S311 - no secrets

    some = [each for each in (*CONTENTS, *file_forms.FORMS) if draw(each) < SHARE]
    git = min(git_forms.FORMS, key=draw)
    return [*some, *([git] if draw(git) < SHARE else [])]


def event(name: str, repository: HostileRepository, **fields: object) -> bytes:
    """An event as the client tells it."""
    common = {"session_id": "s-1", "transcript_path": "", "cwd": str(repository.workspace)}
    return json.dumps({**common, "permission_mode": "default", "hook_event_name": name, **fields}).encode()
