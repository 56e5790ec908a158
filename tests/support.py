"""What tests are built from: small values with visible defaults, and a machine of their own."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from remit.bootstrap import memory_at, open_situation
from remit.decision.context import Context
from remit.decision.declarations import Declaration
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.projects import Workspace, identify
from remit.decision.scopes import Scope
from remit.decision.tool_names import server_name
from remit.decision.tools import Tool, Winner
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from remit.memory.project_memory import Memory
from remit.registry import Registry
from remit.scanning.client_files import ClientFiles
from remit.search.engine import SearchEngine
from remit.store import database as storage
from remit.store.sqlite_store import SqliteStore

CLIENT = "claude-code"
SHOP = Workspace(dir="/code/shop", checkout="/code/shop", project=identify("/code/shop"))
BLOG = Workspace(dir="/code/blog", checkout="/code/blog", project=identify("/code/blog"))


def context(workspace: Workspace = SHOP, client: str | None = CLIENT) -> Context:
    return Context(workspace=workspace, client=client, home="/home/ada")


def server(
    label: str = "git",
    *,
    scope: Scope = Scope.GLOBAL,
    workspace: Workspace = SHOP,
    dir: str | None = None,
    client: str = CLIENT,
    status: ToolStatus = ToolStatus.ACTIVE,
    config_status: ConfigStatus | None = ConfigStatus.ENABLED,
    shadowed_by: Winner | None = None,
    is_trusted: bool | None = None,
    usage_count: int = 0,
) -> Tool:
    return Tool(
        name=server_name(label),
        kind=Kind.MCP_SERVER,
        client=client,
        scope=scope,
        project_hash=None if scope in (Scope.GLOBAL, Scope.MANAGED) else workspace.project.hash,
        dir=(dir or workspace.dir) if scope is Scope.PROJECT else None,
        server=label,
        source="/home/ada/.claude.json",
        authority=Authority.CONFIG,
        status=status,
        config_status=config_status,
        shadowed_by=shadowed_by,
        is_trusted=is_trusted,
        usage_count=usage_count,
    )


def declared(
    label: str = "git",
    scope: Scope = Scope.GLOBAL,
    *,
    dir: str | None = None,
    plugin: str | None = None,
    endpoint: str | None = None,
    digest: str | None = None,
    kind: Kind = Kind.MCP_SERVER,
    is_remit: bool = False,
) -> Declaration:
    return Declaration(
        name=server_name(label, plugin),
        kind=kind,
        client=CLIENT,
        scope=scope,
        source=f"/files/{scope}",
        project_hash=None if scope in (Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN) else SHOP.project.hash,
        dir=dir or ("/code/shop" if scope is Scope.PROJECT else None),
        server=label,
        plugin=plugin,
        endpoint=endpoint,
        digest=digest,
        is_remit=is_remit,
    )


def servers(*labels: str, **entries: Mapping[str, object]) -> dict[str, object]:
    """The content of a `.mcp.json`."""
    plain = {label: {"command": f"run-{label}"} for label in labels}
    return {"mcpServers": {**plain, **entries}}


@dataclass
class Desk:
    """A user's machine in a temporary directory: a home, projects, and Remit's own data."""

    root: Path
    time: int = 1_000_000
    later_ns: int = 0  # how much later than now files are looked at
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
        """Make a project; enough of a repository for everyone who only reads `.git`."""
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
        """Put the programs that `servers` starts where they are found."""
        for label in labels:
            self.write(self.root / "bin" / f"run-{label}", "").chmod(0o755)
        self.variables["PATH"] = os.pathsep.join((str(self.root / "bin"), os.environ.get("PATH", os.defpath)))

    def write_state(
        self, *global_labels: str, local: Mapping[Path, Mapping[str, object]] | None = None
    ) -> Path:
        """Write `~/.claude.json` with user servers, and the `projects` entries of some projects."""
        projects = {str(path): dict(content) for path, content in (local or {}).items()}
        return self.write(self.home / ".claude.json", {**servers(*global_labels), "projects": projects})

    def registry(self) -> Registry:
        """Open the registry on this machine, with a clock that ticks by itself."""
        self.database.parent.mkdir(exist_ok=True)
        machine = self._machine()
        store = SqliteStore(str(self.database))
        situation = open_situation(store, machine, self._tick, self.now_ns)
        engine = SearchEngine(self.variables)
        return Registry(store, self.client_files(), self._tick, engine, situation)

    def client_files(self) -> ClientFiles:
        """The clients' files on this machine."""
        return ClientFiles(self._machine(), now_ns=self.now_ns)

    def _machine(self) -> Machine:
        return Machine(home=str(self.home), variables=self.variables, root=str(self.root / "machine"))

    def memory(self, name: str = "shop") -> Memory:
        """Open memory on this machine, for whoever works in a project."""
        return self.memory_of(str(self.root / "code" / name))

    def memory_of(self, directory: str) -> Memory:
        """Open memory on this machine, for whoever works in a directory."""
        self.database.parent.mkdir(exist_ok=True)
        workspace = locate(directory)
        return memory_at(str(self.database), SearchEngine(self.variables), workspace, self._tick)

    def remit(
        self, *arguments: str, cwd: Path | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command as a user would."""
        return subprocess.run(
            [sys.executable, "-m", "remit", *arguments],
            cwd=cwd or self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            input=stdin or "",
            timeout=60,
        )

    def hook(self, event: Mapping[str, object] | bytes) -> dict[str, Any]:
        """Tell the command of an event, as a client would, and give what it answers."""
        told = event if isinstance(event, bytes) else json.dumps(event).encode()
        command = [sys.executable, "-m", "remit", "hook"]
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, input=told, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}

    def log(self) -> list[str]:
        """What hooks wrote down."""
        path = self.root / "data" / "hooks.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def python(self, script: str) -> str:
        """Run a script as an application of the user would be, and give what it prints."""
        command = [sys.executable, "-c", script]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def now_ns(self) -> int:
        """The time at which files are looked at."""
        return time.time_ns() + self.later_ns

    def _tick(self) -> int:
        self.time += 1
        return self.time


def run_together(processes: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Let processes that wait for the end of their input go on at once, and give their exit codes."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    return [process.wait(timeout=240) for process in processes]


def told(pipe: Path) -> str:
    """Wait for what someone writes into a pipe, but not for ever."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert select.select([reader], [], [], 60)[0], "nobody wrote into the pipe"
    os.set_blocking(reader, True)
    with open(reader, encoding="utf-8") as opened:
        return opened.read()


def git(*arguments: str, cwd: Path) -> None:
    """Run the real git, without the user's configuration."""
    settings = (
        "user.name=Ada",
        "user.email=ada@localhost",
        "protocol.file.allow=always",
        "init.defaultBranch=main",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *options, *arguments], cwd=cwd, env=environment, check=True, capture_output=True)


def older_database(path: Path, version: int) -> None:
    """Make a database as an older Remit left it."""
    scripts = sorted((Path(storage.__file__).parent / "sql" / "migrations").glob("*.sql"))
    for script in scripts[:version]:
        stored(path, script.read_text(encoding="utf-8"))
    stored(path, f"pragma user_version = {version}")


def stored(database: Path | SqliteStore, statement: str) -> list[tuple[Any, ...]]:
    """Look behind the port: run a statement on the database itself."""
    if isinstance(database, Path):
        connection: Any = apsw.Connection(str(database))
    else:
        connection = database.database._connection  # pyright: ignore[reportPrivateUsage]
    return connection.execute(statement).fetchall()


def names(registry: Registry, at: Context, *, keep: Callable[[Tool], bool] = lambda _: True) -> list[str]:
    """The names of the visible tools, as scope and label."""
    return sorted(
        f"{tool.scope} {tool.server or tool.name}"
        for tool, decision in registry.tools(at)
        if decision.is_available and keep(tool)
    )
