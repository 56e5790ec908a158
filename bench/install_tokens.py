"""Measures what the tools of ten real servers cost in Claude Code's requests, and stores the figures.

The real client runs three ways: with its own search for tools switched off, with that search, and with Remit
installed; its model is a script on loopback. What a way costs is what its first request has more than the one
of a client without any server: definitions, names, instructions and the texts of hooks. With Remit it is
measured again after a session that used some tools, which then are in the request. With few servers there is
less to save, so it is measured with three of them and with one, too.

    install_tokens.py CLAUDE SERVERS    the client, and the folder that `make test-servers` fills
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remit.text.token_estimate import estimate

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))

from support import real_claude  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "install_tokens.json"
AIM = 6_000

SERVERS: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "airtable-mcp-server": ((), {"AIRTABLE_API_KEY": "none"}),
    "git-mcp-server": ((), {}),
    "mcp-hubspot": ((), {"PRIVATE_APP_ACCESS_TOKEN": "none"}),
    "mcp-linear": ((), {"LINEAR_API_TOKEN": "none"}),
    "mcp-server-browsermcp": ((), {}),
    "mcp-server-cloudflare": (("run", "none"), {"CLOUDFLARE_API_TOKEN": "none"}),
    "mcp-server-everything": ((), {}),
    "mcp-server-filesystem": (("{home}",), {}),
    "mcp-server-github": ((), {"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}),
    "notion-mcp-server": ((), {"NOTION_TOKEN": "none"}),
}
FEW = {
    "three servers": ("mcp-server-everything", "mcp-server-filesystem", "mcp-server-github"),
    "one server": ("mcp-server-filesystem",),
}
USED: tuple[tuple[str, dict[str, object], str], ...] = (  # in the session between the two with Remit
    ("mcp-server-everything__echo", {"message": "one"}, "one"),
    ("mcp-server-everything__get-sum", {"a": 3, "b": 4}, "7"),
    ("mcp-server-filesystem__list_allowed_directories", {}, "home"),
)


class Home:
    """A user's home in a temporary folder, with some servers or with none."""

    def __init__(self, root: Path, claude: str, servers: Path | None, names: Sequence[str] = ()) -> None:
        self.home, self.project, self.data = root / "home", root / "shop", root / "data"
        self.claude = claude
        (self.home / ".claude").mkdir(parents=True)
        self.project.mkdir(parents=True)
        (self.project / ".git").mkdir()
        entries = {} if servers is None else {name: self._entry(servers, name) for name in names or SERVERS}
        (self.home / ".claude.json").write_text(json.dumps({"mcpServers": entries}, indent=2))
        rules = sorted({f"mcp__{name.partition('__')[0]}" for name, _, _ in USED})
        allowed = {"permissions": {"allow": ["mcp__remit", *rules]}}
        (self.home / ".claude/settings.json").write_text(json.dumps(allowed, indent=2))

    def _entry(self, servers: Path, name: str) -> dict[str, object]:
        args, env = SERVERS[name]
        command = str(servers / "node_modules/.bin" / name)
        return {"command": command, "args": [word.format(home=self.home) for word in args], "env": dict(env)}

    def remit(self, *words: str) -> str:
        command = [sys.executable, "-m", "remit", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "REMIT_HOME": str(self.data)}
        done = subprocess.run(
            command, cwd=self.project, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def session(self, *calls: real_claude.Call, search: bool = True) -> real_claude.Session:
        # Every server is waited for, however slow the day.
        patience = {"MCP_TIMEOUT": "120000", "MCP_CONNECT_TIMEOUT_MS": "120000"}
        own = {"REMIT_HOME": str(self.data), "MCP_CONNECTION_NONBLOCKING": "false", **patience}
        own |= {} if search else {"ENABLE_TOOL_SEARCH": "false"}
        return real_claude.run(self.claude, self.home, self.project, calls=calls, variables=own)


def main() -> None:
    claude, servers = str(Path(sys.argv[1]).absolute()), Path(sys.argv[2]).resolve()
    version = subprocess.run([claude, "--version"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder).resolve(), claude, servers)
    content = {"client": f"claude-code {version.split()[0]}", "servers": len(SERVERS), "aim": AIM, **figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=2))


def measure(root: Path, claude: str, servers: Path) -> dict[str, Any]:
    bare = Home(root / "bare", claude, None)
    without, without_search = cost(bare.session()), cost(bare.session(search=False))
    full = Home(root / "full", claude, servers)
    off, on = full.session(search=False), full.session()
    full.remit("install", "claude-code", "--yes")
    full.remit("scan", "--connect")
    fresh = full.session()
    calls = [("mcp__remit__call_tool", {"name": name, "arguments": given}) for name, given, _ in USED]
    reached = full.session(*calls)
    used = full.session()
    return {
        "tools": len(of_servers(off)),
        "ways": {
            "search off": way(off, without_search),
            "search on": way(on, without),
            "remit": way(fresh, without),
            "remit, after use": way(used, without),
        },
        "called": len(USED),
        "answered": sum(sign in result for (_, _, sign), result in zip(USED, reached.results, strict=True)),
        "few": {
            label: measure_few(
                Home(root / label.replace(" ", "-"), claude, servers, names), without, without_search
            )
            for label, names in FEW.items()
        },
        "listed after use": [name for name, _, _ in USED if f"mcp__remit__{name}" in used.tools],
    }


def measure_few(home: Home, without: int, without_search: int) -> dict[str, int]:
    off, on = home.session(search=False), home.session()
    home.remit("install", "claude-code", "--yes")
    home.remit("scan", "--connect")
    return {
        "tools": len(of_servers(off)),
        "search off": cost(off) - without_search,
        "search on": cost(on) - without,
        "remit": cost(home.session()) - without,
    }


def way(session: real_claude.Session, without: int) -> dict[str, int]:
    """What the tools of servers cost in the first request of a session."""
    definitions = of_servers(session)
    return {
        "definitions": len(definitions),
        "tokens of definitions": sum(estimate(written(tool)) for tool in definitions),
        "tokens": cost(session) - without,
    }


def of_servers(session: real_claude.Session) -> list[Any]:
    return [tool for tool in session.requests[0]["tools"] if tool["name"].startswith("mcp__")]


def cost(session: real_claude.Session) -> int:
    """All that a first request sends: definitions, instructions and messages."""
    first = session.requests[0]
    return sum(estimate(written(first.get(part) or "")) for part in ("tools", "system", "messages"))


def written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
