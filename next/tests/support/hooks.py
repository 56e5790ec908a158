"""A user's machine with Claude Code's files, and the events that the client sends to hooks there."""

import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from remit.bootstrap import face_of
from remit.catalog import JoinedConfigurations, Registry
from remit.clients import Installer, InstallLevel, Scanner, Wanted, environment_of, read_edits, record_path
from remit.decision import Context, Definition, Kind, Offer, Workspace, tool_name
from remit.files import Machine, locate
from remit.hooks import Hook, Parts, respond
from remit.store import Call, CallQuery, Store, make_definition, open_store
from remit.trust import PreparedList

USER: dict[str, Any] = {"mcp_server": {"name": "git", "source": "user"}}
GATEWAY: dict[str, Any] = {"mcp_server": {"name": "remit", "source": "user"}}


def unchanged(_registry: Registry, _context: Context) -> bool:
    return False


class Client:
    """Claude Code of one user in one project, as its hooks see it."""

    def __init__(self, root: Path, set_variable: Callable[[str, str], object]) -> None:
        self.root = root.resolve()
        self.home, self.shop, self.data = (self.root / name for name in ("home", "shop", "data"))
        (self.shop / ".git").mkdir(parents=True)
        (self.home / ".claude").mkdir(parents=True)
        self.variables = {"HOME": str(self.home), "REMIT_HOME": str(self.data), "CLAUDE_CODE_SESSION_ID": "s"}
        self.variables["CLAUDE_PROJECT_DIR"] = str(self.shop)
        for name, value in self.variables.items():
            set_variable(name, value)
        self.machine = Machine(str(self.home), self.variables)
        self.later = 10_000  # milliseconds; files count as settled
        self.level = "full"
        self.refresh_copies: Callable[[Registry, Context], bool] = unchanged

    def write(self, path: Path, content: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def rules(self, text: str) -> Path:
        """Write the user's own rules."""
        return self.write(self.home / ".config/remit/remit.toml", text)

    def settings(self, **content: object) -> Path:
        return self.write(self.home / ".claude/settings.json", content)

    def servers(self, *labels: str) -> None:
        entries = {label: {"command": label} for label in labels}
        self.write(self.home / ".claude.json", {"mcpServers": entries})

    def lists(self, label: str, *tools: str) -> None:
        """Store that a server listed these tools and nothing else."""
        with self.registry() as registry:
            resolved = registry.catalog(self.context(registry)).resolved
            (declaration,) = (
                item.declaration
                for item in resolved
                if item.declaration.server == label and item.declaration.kind is Kind.MCP_SERVER
            )
            prepared = PreparedList(declaration, Offer([_definition(label, name) for name in tools]))
            known = registry.store.listings.known(declaration, prepared.digests, self.workspace)
            prepared.inspect(known)
            prepared.keep(registry.store, self.workspace, self.now())

    def install(self, level: InstallLevel = InstallLevel.FULL, wanted: Wanted | None = None) -> str:
        """Install Remit, and return the path of the record."""
        config = str(self.home / ".config/remit/remit.toml")
        environment = environment_of(str(self.home), str(self.data), config, {"PATH": os.environ["PATH"]})
        installer = Installer(self.machine, lambda: ["/opt/remit"], environment, clock=self.now)
        installer.install("claude-code", level, wanted or Wanted())
        return record_path("claude-code", self.machine)

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self.later

    @property
    def workspace(self) -> Workspace:
        return locate(str(self.shop))

    def open_store(self) -> Store:
        return open_store(str(self.data / "remit.sqlite"))

    def registry(self) -> Registry:
        store = self.open_store()
        now_ns = lambda: self.now() * 1_000_000  # noqa: E731
        scanner = Scanner(store, self.machine, self.now, read_edits=read_edits, now_ns=now_ns)
        configurations = JoinedConfigurations(store, self.machine, self.now)
        return Registry(
            store,
            self.machine,
            self.now,
            scanner,
            configurations,
            face_of=partial(face_of, machine=self.machine),
        )

    def context(self, registry: Registry) -> Context:
        return registry.at(str(self.shop))

    def calls(self) -> list[Call]:
        """The log, oldest first."""
        with self.open_store() as store:
            return store.calls.find(CallQuery(), self.workspace)[::-1]

    def uses(self) -> dict[str, tuple[int, int]]:
        """Uses and failures by name."""
        with self.open_store() as store:
            return {total.name: (total.uses, total.failures) for total in store.usage.totals(self.workspace)}

    def hook(self, mode: str = "closed") -> Hook:
        return Hook(
            Parts(self.registry, self.refresh_copies),
            mode,
            self.level,
            self.now,
        )

    def send(
        self, name: str, *, mode: str = "closed", entry: str = "cli", **fields: object
    ) -> Mapping[str, Any]:
        """Send an event, and return the answer; empty if there is none."""
        variables = {**self.variables, "CLAUDE_CODE_ENTRYPOINT": entry}
        text = respond(self.data_of(name, **fields), self.hook(mode), variables)
        return json.loads(text) if text else {}

    def data_of(self, name: str, **fields: object) -> bytes:
        event = {"session_id": "s", "cwd": str(self.shop), "hook_event_name": name, **fields}
        return json.dumps(event).encode()

    def call(self, tool: str, given: object = None, **fields: Any) -> tuple[str, str]:
        """Announce a call, and return the decision and its reason; nothing, if nothing is said."""
        fields = {"permission_mode": "default", **fields}
        answer = self.send("PreToolUse", tool_name=tool, tool_input=given or {}, **fields)
        specific = answer.get("hookSpecificOutput", {})
        return specific.get("permissionDecision", ""), specific.get("permissionDecisionReason", "")


def _definition(label: str, name: str) -> Definition:
    return make_definition(tool_name(label, name), label, name, None, {"name": name, "inputSchema": {}})
