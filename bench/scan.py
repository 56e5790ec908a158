"""Measures a scan of a home with much in it, and stores the figures as JSON.

50 servers, 300 commands and skills, 20 plugins with servers, commands and skills of their own: real files, so
that every kind that Remit learns to read is measured from then on.
"""

import json
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path

from remit import __version__
from remit.bootstrap import open_states
from remit.catalog.contexts import DEFAULT_CLIENT
from remit.decision.context import Context
from remit.files.bounded_reader import Machine
from remit.registry import Registry
from remit.scanning.client_files import ClientFiles
from remit.search.engine import SearchEngine
from remit.store.open_store import open_store
from run import figure, timed

RESULTS = Path(__file__).parent / "results" / "scan.json"
SERVERS, COMMANDS, SKILLS, PLUGINS = 50, 150, 150, 20
ROUNDS = 31


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_home(root / "home", root / "project")
        figures, found = measure(root)
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "declarations": found, **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    print(f"{found} declarations")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:24} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


def measure(root: Path) -> tuple[dict[str, dict[str, float]], int]:
    machine = Machine(home=str(root / "home"), variables={}, root=str(root / "machine"))
    files = ClientFiles(machine)
    stores = iter(range(10**6))

    def first() -> tuple[Registry, Context]:
        store = open_store(str(root / f"data/{next(stores)}.db"))
        registry = Registry(store, files, open_states(store, machine), SearchEngine({}), lambda: 10**6)
        return registry, registry.at(str(root / "project"))

    registry, here = first()
    found = len(registry.scan(here).changes.added)
    return {
        "scan_again_ms": figure(in_ms(lambda: registry.scan(here)), aim=200),
        "scan_first_ms": figure([timed_scan(*first()) for _ in range(ROUNDS)], aim=200),
        "read_ms": figure(in_ms(lambda: files.read(here.view(DEFAULT_CLIENT)))),
    }, found


def in_ms(step: Callable[[], object]) -> list[float]:
    return [timed(step) * 1e3 for _ in range(ROUNDS)]


def timed_scan(registry: Registry, here: Context) -> float:
    with registry:
        return timed(lambda: registry.scan(here)) * 1e3


def write_home(home: Path, project: Path) -> None:
    """Write a home and a project with everything that Claude Code reads."""
    labels = [f"server{number:02}" for number in range(SERVERS)]
    entries = {label: {"command": "npx", "args": ["-y", label], "env": {"KEY": "x"}} for label in labels}
    shared = {label: entries.pop(label) for label in labels[::3]}
    (project / ".git").mkdir(parents=True)
    write(home / ".claude.json", {"mcpServers": entries, "projects": {str(project): {}}})
    write(project / ".mcp.json", {"mcpServers": shared})
    write_prompts(home / ".claude", COMMANDS * 2 // 3, SKILLS * 2 // 3)
    write_prompts(project / ".claude", COMMANDS // 3, SKILLS // 3)
    plugins = [f"plugin{number:02}" for number in range(PLUGINS)]
    switches = {f"{name}@market": True for name in plugins}
    write(home / ".claude/settings.json", {"enableAllProjectMcpServers": True, "enabledPlugins": switches})
    write_plugins(home / ".claude/plugins", plugins)


def write_plugins(root: Path, names: list[str]) -> None:
    market = root / "marketplaces/market"
    market.mkdir(parents=True)
    known = {"source": {"source": "github", "repo": "ada/market"}, "installLocation": str(market)}
    write(root / "known_marketplaces.json", {"market": known})
    records: dict[str, object] = {}
    for name in names:
        copy = root / "cache/market" / name / "1.0.0"
        write(copy / ".claude-plugin/plugin.json", {"name": name, "version": "1.0.0", "description": name})
        servers = {f"{name}-{number}": {"command": f"{name}-{number}"} for number in range(2)}
        write(copy / ".mcp.json", {"mcpServers": servers})
        write_prompts(copy, 3, 3)
        records[f"{name}@market"] = [{"scope": "user", "installPath": str(copy), "version": "1.0.0"}]
    write(root / "installed_plugins.json", {"version": 2, "plugins": records})


def write_prompts(root: Path, commands: int, skills: int) -> None:
    """Write commands, every other one in a folder, and skills."""
    for number in range(commands):
        folder = root / "commands" / ("team" if number % 2 else "")
        write(folder / f"command{number:03}.md", prompt(f"Does thing {number}.", "allowed-tools: Read, Grep"))
    for number in range(skills):
        name = f"skill{number:03}"
        write(root / "skills" / name / "SKILL.md", prompt(f"Knows about thing {number}.", f"name: {name}"))


def prompt(description: str, more: str) -> str:
    body = "Look at the files that changed, think about what follows, and say it in a few words.\n" * 20
    return f"---\ndescription: {description}\n{more}\n---\n\n# Task\n\n{body}"


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


if __name__ == "__main__":
    main()
