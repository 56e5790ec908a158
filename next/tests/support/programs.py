"""Programs with commands: written, generated into a server, and that server asked over stdio."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import remit
from remit.names import generate, label, names_text, read_names, server_text, write


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write files, and return their directory."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def make_server(source: Path, made: Path, scopes: str | None = None) -> Path:
    """Generate names, label them, and write their server, in a directory."""
    made.mkdir(exist_ok=True)
    names_path, scopes_path, server_path = (
        str(made / name) for name in ("names.py", "scopes.toml", "server.py")
    )
    if scopes is not None:
        Path(scopes_path).write_text(scopes, encoding="utf-8")
    write(names_text(generate(str(source)).names, names_path), names_path)
    write(label(read_names(names_path), scopes_path).text, scopes_path)
    write(server_text(names_path, scopes_path, server_path), server_path)
    return made / "server.py"


class StdioClient:
    """A client of a server that runs as a process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._number = 0
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests"}}
        self.hello = self.ask("initialize", **hello)

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._messages.put(json.loads(line))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and return its answer or its error."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(message)}\n")
        self._process.stdin.flush()
        while (answer := self.next_message()).get("id") != self._number:
            pass
        return answer["result"] if "result" in answer else answer["error"]

    def next_message(self) -> dict[str, Any]:
        return self._messages.get(timeout=8)

    def names(self) -> list[str]:
        return [tool["name"] for tool in self.ask("tools/list")["tools"]]

    def call(self, name: str, /, **arguments: Any) -> tuple[bool, str]:
        result = self.ask("tools/call", name=name, arguments=arguments)
        return result["isError"], result["content"][0]["text"]


@contextmanager
def served(server: Path, directory: Path, home: Path) -> Generator[StdioClient]:
    """Start a generated server in a directory."""
    remit_source = str(Path(remit.__file__).parents[1])  # of Remit alone, where it is not installed
    variables = {**os.environ, "REMIT_HOME": str(home), "HOME": str(home), "PYTHONPATH": remit_source}
    process = subprocess.Popen(
        [sys.executable, str(server)],
        cwd=directory,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield StdioClient(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=20)
        process.stdout.close()
