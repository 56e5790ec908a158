"""Several gateways on one PostgreSQL behind HAProxy, for two teams, and what happens to them."""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

import httpx2

from support.haproxy import haproxy
from support.postgres import PostgresServer, free_port
from support.processes import ServedProject, listening, server_command
from support.terminal import AS_PERSON

TEAMS = ("amber", "blue")
NODES = 3
EDITED = "edited"  # the tool that policy edits hide and show
UNFILTERED = "from support.postgres import serve_without_filters; serve_without_filters()"
_TESTS = Path(__file__).parents[1]
_RULES = 'strategy = "flat"\nblock = [{block}]\n' + "".join(
    f'[tools."{team}__guarded"]\napproval = true\n' for team in TEAMS
)


@dataclass
class Team:
    """The nodes, the proxy and the database."""

    place: ServedProject
    database: PostgresServer
    ports: list[int]
    log: Path
    has_filters: bool
    proxy: str = ""
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    nodes: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict[int, Any])
    kills: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    down: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def project(self, team: str) -> Path:
        return self.place.root / team

    def environment(self, node: int) -> dict[str, str]:
        own = {"REMIT_HOME": str(self.place.root / f"data-{node}"), "REMIT_STORE": self.database.address()}
        return {**self.place.environment, **own, "PYTHONPATH": str(_TESTS)}

    def start(self, node: int) -> None:
        """Start a node, as on a machine of its own."""
        program = ["-m", "remit"] if self.has_filters else ["-c", UNFILTERED]
        command = [sys.executable, *program, "serve", "--project", str(self.project(TEAMS[0]))]
        with (self.place.root / f"node-{node}.log").open("ab") as log:
            self.nodes[node] = subprocess.Popen(
                [*command, "--http", f"127.0.0.1:{self.ports[node]}"],
                env=self.environment(node),
                cwd=self.place.project,
                stderr=log,
                stdout=log,
            )

    async def ready(self, node: int) -> None:
        """Wait for a node; one that ended is started again, as a supervisor would: it needs the database."""
        async with httpx2.AsyncClient(verify=False) as http:
            while True:
                with suppress(httpx2.HTTPError):
                    found = await http.get(f"http://127.0.0.1:{self.ports[node]}/ready", timeout=5)
                    if found.status_code == 200:
                        return
                if self.nodes[node].poll() is not None:
                    self.start(node)
                await asyncio.sleep(0.05)

    def run(self, *words: str) -> str:
        """Run a command as the administrator."""
        command = [*AS_PERSON, *words]
        return subprocess.run(
            command,
            env=self.environment(0),
            cwd=self.place.project,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def edit_policy(self, *, hide: bool) -> None:
        """Hide a tool of both teams, or show it again."""
        block = ", ".join(f'"{team}__{EDITED}"' for team in TEAMS) if hide else ""
        file = self.place.home / ".config/remit/remit.toml"
        new = file.with_suffix(".new")
        new.write_text(_RULES.format(block=block), "utf-8")
        new.replace(file)

    def may_be_lost(self, began: float, now: float, noticed: float) -> bool:
        """Check whether a request may have been in flight on a node when that was killed."""
        return any(began < at + noticed and at <= now for at, _ in self.kills)

    def was_down(self, began: float, now: float) -> bool:
        """Check whether a request may have needed the database while it was down."""
        return any(start <= now and began < end + 2 for start, end in self.down)


@contextmanager
def team_nodes(root: Path, *, has_filters: bool) -> Generator[Team]:
    """Run the nodes for two teams, each a project with a server of its own and a token."""
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
    with ExitStack() as stack:
        stack.callback(rmtree, folder, ignore_errors=True)
        database = PostgresServer(folder)
        ports = [free_port() for _ in range(NODES)]
        made = Team(ServedProject(root), database, ports, root / "spent", has_filters)
        made.log.touch()
        server = stack.enter_context(listening(server_command("team_server.py", str(made.log))))
        _declare(made, server.url)
        stack.callback(database.kill)
        database.start()
        stack.callback(_end, made)
        for team in TEAMS:
            made.run("scan", "--connect", "--project", str(made.project(team)))
            made.tokens[team] = made.run("token", "add", team, "--project", str(made.project(team))).split()[
                -1
            ]
        for node in range(NODES):
            made.start(node)
        for node in range(NODES):
            asyncio.run(made.ready(node))
        made.proxy = f"http://127.0.0.1:{stack.enter_context(haproxy(root, ports))}"
        yield made


def _declare(team: Team, url: str) -> None:
    entries: dict[str, Any] = {}
    for name in TEAMS:
        team.project(name).mkdir()
        entries[str(team.project(name))] = {"mcpServers": {name: {"type": "http", "url": f"{url}/{name}"}}}
    team.place.declare({}, "")
    (team.place.home / ".claude.json").write_text(json.dumps({"projects": entries}), "utf-8")
    team.edit_policy(hide=False)


def _end(team: Team) -> None:
    for process in team.nodes.values():
        process.kill()
        process.wait()
