"""A machine with configuration files in a temporary directory, and what they mean together."""

from pathlib import Path

from remit.config import Configuration, Configurations, Layer
from remit.decision import Workspace
from remit.files import Machine, locate
from remit.store import Store, open_store

SECOND = 1_000


class Files:
    """The files of one user, one administrator and one project, whose clock the test moves."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.home = self.root / "home"
        self.shop = self.root / "shop"
        (self.shop / ".git").mkdir(parents=True)
        self.home.mkdir()
        self.machine = Machine(home=str(self.home), variables={}, root=str(self.root / "system"))
        self.now = 4_000_000_000 * SECOND  # long after every file was written
        self.store: Store = open_store(str(self.root / "remit.db"))
        self.configurations = self.open()

    def open(self, *layers: Layer) -> Configurations:
        """Open them as another process would."""
        return Configurations(self.store, self.machine, lambda: self.now, layers)

    def workspace(self, path: Path | None = None) -> Workspace:
        return locate(str(path or self.shop))

    def mine(self, text: str) -> Path:
        return self.write(self.home / ".config/remit/remit.toml", text)

    def shared(self, text: str) -> Path:
        return self.write(self.shop / "remit.toml", text)

    def managed(self, text: str) -> Path:
        return self.write(self.root / "system/etc/remit/remit.toml", text)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def now_says(self) -> Configuration:
        return self.configurations.current(self.workspace())

    def problems(self) -> list[str]:
        """List the errors, each with the last part of its path, its position and the reason."""
        return [
            f"{Path(problem.source).name} {problem.place}: {problem.reason}"
            for problem in self.configurations.problems(self.workspace())
        ]
