"""A user's machine in a temporary directory, on which tests run Remit."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from remit.bootstrap import MEMORY_QUEUE, memory_at, open_states, teams_of
from remit.cli.app import main
from remit.configuration.config_model import ConfigurationLayer
from remit.configuration.editable_file import EditableFile
from remit.configuration.file_paths import editable_path
from remit.decision.projects import TEAM, Workspace
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from remit.hooks.guarded_answer import BUSY, LATE
from remit.install.install_record import EditedFile, Format, InstallRecord, WrittenKey, write
from remit.memory.project_memory import Memory
from remit.registry import Registry
from remit.scanning.client_files import ClientFiles
from remit.search.engine import SearchEngine
from remit.store.open_store import open_store
from remit.store.sqlite.sqlite_database import SqliteDatabase
from support.builders import servers
from support.forked_commands import fork_server
from support.process_state import process_state


@dataclass
class Sandbox:
    """A user's machine in a temporary directory: a home, projects, and Remit's own data."""

    root: Path
    time: int = 1_000_000
    later_ns: int = 0  # added to the time at which files are read
    variables: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def database(self) -> Path:
        return self.root / "data" / "remit.db"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        own = {"HOME": str(self.home), "REMIT_HOME": str(self.root / "data"), "NO_COLOR": "1"}
        return {**kept, **own, **self.variables}

    def project(self, name: str, *, git: bool = True) -> Path:
        """Make a project, with an empty `.git` unless told otherwise."""
        path = self.root / "code" / name
        (path / ".git").mkdir(parents=True) if git else path.mkdir(parents=True)
        return path

    def write(self, path: Path, content: object) -> Path:
        """Write a config file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def provide(self, *labels: str) -> None:
        """Put the programs that `servers` names on the PATH."""
        for label in labels:
            self.write(self.root / "bin" / f"run-{label}", "").chmod(0o755)
        self.variables["PATH"] = os.pathsep.join((str(self.root / "bin"), os.environ.get("PATH", os.defpath)))

    def write_state(
        self, *global_labels: str, local: Mapping[Path, Mapping[str, object]] | None = None
    ) -> Path:
        """Write `~/.claude.json` with user servers, and the `projects` entries of some projects."""
        projects = {str(path): dict(content) for path, content in (local or {}).items()}
        return self.write(self.home / ".claude.json", {**servers(*global_labels), "projects": projects})

    def install_gateway(self, *global_labels: str) -> None:
        """Write `~/.claude.json` with our gateway, and the install record that makes it ours."""
        state = self.home / ".claude.json"
        entry = {"command": "/opt/python", "args": ["-I", "-m", "remit", "serve"]}
        self.write(state, servers(*global_labels, remit=entry))
        key = WrittenKey(path=("mcpServers", "remit"), value=entry)
        edited = EditedFile(path=str(state), format=Format.JSON, before="", after="", keys=[key])
        record = write(InstallRecord(client="claude-code", at=1, files=[edited]))
        for path in (self.root / "data", self.home / ".local/share/remit"):  # as a process and in this one
            self.write(path / "installs/claude-code.json", record)

    def registry(self) -> Registry:
        """Open the registry on this machine, with a clock that ticks by itself."""
        self._bring_database()
        machine = self._machine()
        store = open_store(str(self.database))
        teams = teams_of(store)
        states = open_states(store, machine, self._tick, self.now_ns, teams)
        files = ClientFiles(machine, now_ns=self.now_ns, teams=teams)
        return Registry(store, files, states, SearchEngine(self.variables), self._tick)

    def client_files(self) -> ClientFiles:
        """Return the clients' files on this machine."""
        return ClientFiles(self._machine(), now_ns=self.now_ns)

    def _machine(self) -> Machine:
        return Machine(home=str(self.home), variables=self.variables, root=str(self.root / "machine"))

    def rules_file(self, layer: ConfigurationLayer, workspace: Workspace) -> EditableFile:
        """Open a configuration file on this machine for editing."""
        path, checkout = editable_path(layer, workspace, self._machine())
        return EditableFile(path, checkout=checkout)

    def memory(self, name: str = "shop") -> Memory:
        """Open the memory of a project."""
        return self.memory_of(str(self.root / "code" / name))

    def memory_of(self, directory: str) -> Memory:
        """Open the memory of the project that contains a directory."""
        self._bring_database()
        with self.registry() as registry:  # a team's project is not a directory
            workspace = registry.at(directory).workspace if directory.startswith(TEAM) else locate(directory)
        queue = str(self.database.parent / MEMORY_QUEUE)
        return memory_at(str(self.database), queue, SearchEngine(self.variables), workspace, self._tick)

    def remit(
        self, *arguments: str, cwd: Path | None = None, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line in this process; much faster than `remit_process`, and otherwise the same."""
        with process_state(self.environment, cwd or self.root, stdin, ["remit", *arguments]) as streams:
            try:
                main()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        return subprocess.CompletedProcess(arguments, code, streams.output, streams.errors)

    def remit_process(
        self, *arguments: str, cwd: Path | None = None, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run the command as a user does, in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "remit", *arguments],
            cwd=cwd or self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            input=stdin,
            timeout=60,
        )

    def hook(self, event: Mapping[str, object] | bytes) -> dict[str, Any]:
        """Send an event to `remit hook`, as a client does, and return its answer.

        A machine that runs many tests may be too busy to decide in time; then call again, as a model would.
        """
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        for _ in range(10):
            done = fork_server().run(["hook"], cwd=self.root, environment=self.environment, stdin=body)
            assert (done.code, done.stderr) == (0, "")
            if BUSY not in done.stdout and LATE not in done.stdout:
                return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        raise TimeoutError("the machine is too busy for this test")

    def log(self) -> list[str]:
        """Return the lines of the hooks' log."""
        path = self.root / "data" / "hooks.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def python(self, script: str) -> str:
        """Run a script in a process of its own and return what it prints."""
        command = [sys.executable, "-c", script]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def now_ns(self) -> int:
        """Return the time at which files are read."""
        return time.time_ns() + self.later_ns

    def _bring_database(self) -> None:
        """Copy a new database here, unless there is one: to make one takes five times as long.

        The copy appears whole: a command may run while the page of a test opens its store in a thread.
        """
        if not self.database.exists():
            self.database.parent.mkdir(exist_ok=True)
            with TemporaryDirectory(dir=self.root) as folder, suppress(FileExistsError):
                os.link(shutil.copy(_new_database(), folder), self.database)

    def _tick(self) -> int:
        self.time += 1
        return self.time


@cache
def _new_database() -> Path:
    """Make a new database for all machines of this process to copy."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "remit.db"
    SqliteDatabase(str(path)).close()
    return path
