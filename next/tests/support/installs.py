"""A home with clients' files, and an installer of it."""

import json
from pathlib import Path
from typing import Any

from remit.clients import (
    ClientReading,
    Installer,
    environment_of,
    managed_environment,
    read_client,
    read_edits,
)
from remit.decision import View
from remit.files import Machine, locate


class Home:
    """One user's files, the administrator's, and one project that is a repository."""

    def __init__(self, root: Path, platform: str = "linux", **variables: str) -> None:
        self.root = root.resolve()
        self.home = self.root / "home"
        self.shop = self.root / "shop"
        (self.shop / ".git").mkdir(parents=True)
        self.home.mkdir()
        given = {"REMIT_HOME": str(self.root / "data"), **variables}
        self.machine = Machine(str(self.home), given, platform, str(self.root / "system"))
        self.project = locate(str(self.shop)).project

    def write(self, name: str, content: object) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    def json(self, name: str) -> dict[str, Any]:
        return json.loads((self.root / name).read_text())

    def files(self) -> dict[str, bytes]:
        """Return the bytes of all files but Remit's own."""
        data = self.root / "data"
        paths = [path for path in self.root.rglob("*") if path.is_file() and data not in path.parents]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in paths}

    def installer(self, config: str = "", *, is_managed: bool = False) -> Installer:
        config = config or str(self.home / ".config/remit/remit.toml")
        variables = {"PATH": "/bin"}
        environment = (
            managed_environment(variables)
            if is_managed
            else environment_of(str(self.home), str(self.root / "data"), config, variables)
        )
        return Installer(
            self.machine, lambda: ["/opt/remit"], environment, clock=lambda: 1, is_managed=is_managed
        )

    def read(self, client: str = "claude-code") -> ClientReading:
        """Read the client's files as a scan does."""
        view = View(client, locate(str(self.shop)))
        return read_client(view, self.machine, now_ns=4 * 10**18, read_edits=read_edits)
