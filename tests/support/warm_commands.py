"""Runs commands once in the process that forks, so no fork reads, compiles and imports the same again.

That is: patterns, queries, the asyncio backend, the embedding model, and what else waits for its first use.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from process_state import process_state

from remit.cli.app import main

SERVER = Path(__file__).parent / "servers" / "probe.py"
_COMMANDS = (
    ("scan", "--connect"),
    ("tools",),
    ("search", "run"),
    ("why", "Bash"),
    ("install", "claude-code", "--yes"),
)
_REQUESTS: tuple[tuple[str, dict[str, object]], ...] = (
    (
        "initialize",
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    ),
    ("tools/list", {}),
)


def warm_up() -> None:
    """Run some commands, and a gateway with one server, on a machine in a temporary directory."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        home, project = root / "home", root / "project"
        for path in (home, project / ".git"):
            path.mkdir(parents=True)
        server = {"command": sys.executable, "args": ["-IS", str(SERVER)]}
        (home / ".claude.json").write_text(json.dumps({"mcpServers": {"probe": server}}), "utf-8")
        for words in _COMMANDS:
            _run(words, home, project)
        _serve(home, project)


def _run(words: tuple[str, ...], home: Path, project: Path) -> None:
    variables = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "NO_COLOR": "1"}
    with process_state(variables, project, "", ["remit", *words]) as streams:
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"remit {' '.join(words)}: {streams.errors}") from None


def _serve(home: Path, project: Path) -> None:
    """Run the gateway on stdio, which reads and writes the descriptors themselves."""
    reader, writer = os.pipe()
    requests = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(_REQUESTS)
    ]
    os.write(writer, "".join(f"{json.dumps(request)}\n" for request in requests).encode())
    os.close(writer)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    own = os.dup(0), os.dup(1)
    for number, stream in enumerate((reader, nowhere)):
        os.dup2(stream, number)
    try:
        _run(("serve",), home, project)
    finally:
        for number, stream in enumerate(own):
            os.dup2(stream, number)
        for stream in (reader, nowhere, *own):
            os.close(stream)
