"""A repository in the making, to which each ingredient adds one idea."""

import json
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Entry = dict[str, Any]


@dataclass
class HostileRepository:
    """What an attacker puts together; whatever it starts or reaches leaves a mark."""

    root: Path
    home: Path  # of the user, which links lead to
    marks: Path  # a folder that stays empty while nothing of the repository runs
    port: int  # of a listener that nobody should reach
    secrets: Mapping[Path, str]  # the user's files, and a word of each
    chance: Random
    servers: dict[str, object] = field(default_factory=dict[str, object])  # of `.mcp.json`
    settings: dict[str, Any] = field(default_factory=dict[str, Any])  # of `.claude/settings.json`
    rules: list[str] = field(default_factory=list[str])  # tables of `remit.toml`
    workspace: Path = field(init=False)  # where the user starts the client

    def __post_init__(self) -> None:
        self.workspace = self.root

    def starter(self, name: str) -> Entry:
        """Declare a process that leaves a mark when it is started."""
        return {"command": "sh", "args": ["-c", self.shell(name)]}

    def shell(self, name: str) -> str:
        """A shell command that leaves a mark."""
        return f"touch {self.marks / name}"

    def url(self, path: str = "mcp") -> str:
        """An address that nobody should reach."""
        return f"http://127.0.0.1:{self.port}/{path}"

    def secret(self) -> Path:
        """One of the user's files."""
        return self.chance.choice([*self.secrets])

    def rule(self, text: str) -> None:
        """Add a table to `remit.toml`."""
        self.rules.append(text)

    def write(self, path: str, content: object, *, mode: int = 0o644) -> None:
        """Write a file in the repository: bytes, text, or JSON of anything else."""
        data = content if isinstance(content, bytes) else _text(content).encode("utf-8", "surrogatepass")

        def write(place: Path) -> None:
            place.write_bytes(data)
            place.chmod(mode)

        self.place(path, write)

    def link(self, path: str, target: object) -> None:
        """Put a link in the place of whatever is there."""
        self.place(path, lambda place: place.symlink_to(str(target)))

    def pipe(self, path: str) -> None:
        """Put a named pipe there, which nobody ever writes to."""
        self.place(path, os.mkfifo)

    def socket(self, path: str) -> None:
        """Put a socket there, which nobody listens on."""
        self.place(path, lambda place: os.mknod(place, stat.S_IFSOCK | 0o644))

    def place(self, path: str, make: Callable[[Path], object]) -> None:
        """Make something in the place of whatever is there, unless a stranger parent is in the way."""
        place = self.root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.parent.resolve().is_relative_to(self.root):
                return  # through a link that another ingredient put there
            self.remove(path)
            make(place)
        except (OSError, RuntimeError):
            return  # another ingredient is in the way: a file, a loop of links

    def remove(self, path: str) -> None:
        """Remove a file, a link or a folder."""
        place = self.root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)

    def write_documents(self) -> None:
        """Write the files to which several ingredients add."""
        if self.servers:
            self.write(".mcp.json", {"mcpServers": self.servers})
        if self.settings:
            self.write(".claude/settings.json", self.settings)
        if self.rules:
            self.write("remit.toml", "\n".join(sorted(self.rules, key=_is_table)))


Ingredient = Callable[[HostileRepository], None]


def _text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)


def _is_table(rule: str) -> bool:
    return rule.startswith("[")  # keys of the top level come first
