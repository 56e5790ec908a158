"""A world on disk, and what runs in it: the command, the gateway, and hooks as Claude Code runs them."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from oracle.worlds import View, World
from support.servers import recorded

SECONDS = 60
NEVER_INSTALLED = ("npx", "uvx")  # what lies on the PATH of this machine is not what lies in a world


class Machine:
    """One world below a root, for one command line that starts Remit."""

    def __init__(self, world: World, remit: Sequence[str], root: Path) -> None:
        self.world, self.remit, self.root = world, list(remit), root.resolve()
        self.home, self.project = self.root / "home", self.root / "project"
        for directory in (self.home, self.project, self.root / "elsewhere", self.root / "bin"):
            directory.mkdir(parents=True)
        shutil.copy(recorded.__file__, self.root / "bin/recorded.py")
        self._program("stub", f'exec "{sys.executable}" "{self.root}/bin/recorded.py" "$@"')
        for name in NEVER_INSTALLED:
            self._program(name, "exit 1")
        self.variables = {
            "HOME": str(self.home),
            "PATH": f"{self.root}/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        for directory in world.repositories:
            self.git(directory, "init", "--quiet", "--initial-branch=main")
        for repository, place in world.worktrees:
            author = ("-c", "user.name=a", "-c", "user.email=a@b.example")
            self.git(repository, *author, "commit", "--quiet", "--allow-empty", "--message=start")
            self.git(repository, "worktree", "add", "--quiet", str(self.root / place))
        self.write(world.files)

    def _program(self, name: str, line: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def git(self, directory: str, *words: str) -> None:
        """Run git in a directory below the root."""
        where = self.root / directory
        where.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", *words], cwd=where, env=self.variables, check=True)

    def write(self, files: Mapping[str, Any]) -> None:
        """Write files below the root, or remove them."""
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                text = (
                    content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False)
                )
                path.write_bytes(text.replace("$ROOT", str(self.root)).encode())

    def run(self, *words: str, cwd: str = "project", input: str = "") -> subprocess.CompletedProcess[str]:
        """Run one command."""
        return subprocess.run(
            [*self.remit, *words],
            cwd=self.root / cwd,
            env=self.variables,
            input=input,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def json(self, *words: str, view: View | None = None) -> Any:
        """Run a reading command, and read what it prints."""
        view = view or View()
        chosen = [*(["--client", view.client] if view.client != "claude-code" else [])]
        chosen += ["--agent", view.agent] if view.agent else []
        process = self.run(*words, "--json", *chosen, cwd=view.cwd)
        try:
            return json.loads(self.plain(process.stdout))
        except ValueError:
            raise AssertionError(f"{words} in {self.world.name}: {process.stdout}{process.stderr}") from None

    def plain(self, text: str) -> str:
        """Leave out what differs from machine to machine."""
        return text.replace(f"{self.root}/", "").replace(str(self.root), "$ROOT")

    @contextlib.contextmanager
    def serve(self, *words: str) -> Generator["Gateway"]:
        """Start the gateway of the project, as a client does."""
        process = subprocess.Popen(
            [*self.remit, "serve", *words],
            cwd=self.project,
            env=self.variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        watch = threading.Timer(SECONDS, process.kill)
        watch.start()
        assert process.stdin
        assert process.stdout
        try:
            yield Gateway(process.stdin, process.stdout)
        finally:
            process.stdin.close()
            process.wait()
            process.stdout.close()
            watch.cancel()

    def hook(self, event: str, **fields: Any) -> list[dict[str, Any]]:
        """Run the hooks of the user's settings for an event; each answer, a failure as `{"failed": code}`."""
        settings = json.loads((self.home / ".claude/settings.json").read_text())
        common = {"session_id": "s1", "transcript_path": f"{self.home}/t.jsonl", "cwd": str(self.project)}
        given = json.dumps({**common, "permission_mode": "default", "hook_event_name": event, **fields})
        answers: list[dict[str, Any]] = []
        for group in settings.get("hooks", {}).get(event, ()):
            if not _matches(group.get("matcher", ""), str(fields.get("tool_name", ""))):
                continue
            for handler in group["hooks"]:
                words = [handler["command"], *handler["args"]] if "args" in handler else handler["command"]
                process = subprocess.run(
                    words,
                    shell=isinstance(words, str),
                    cwd=self.project,
                    env=self.variables,
                    input=given,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=SECONDS,
                )
                answer = json.loads(self.plain(process.stdout) or "{}")
                answers.append({"failed": process.returncode} if process.returncode else answer)
        return answers


class Gateway:
    """The client's side of a gateway on stdio."""

    def __init__(self, write: IO[str], read: IO[str]) -> None:
        self._write, self._read, self._last = write, read, 0
        me = {"name": "oracle", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=me)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a request; its whole answer."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": parameters})
        for line in self._read:
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                return message
        raise AssertionError(f"the gateway ended before it answered {method}")

    def tools(self) -> list[dict[str, Any]]:
        """Read the whole list."""
        result = self.ask("tools/list")["result"]
        assert "nextCursor" not in result
        return result["tools"]

    def _send(self, message: dict[str, Any]) -> None:
        self._write.write(json.dumps(message) + "\n")
        self._write.flush()


def _matches(matcher: str, name: str) -> bool:
    if matcher in {"", "*"}:
        return True
    if re.fullmatch(r"[A-Za-z0-9_\- ,|]+", matcher):  # exact names; any other character makes it a pattern
        return name in {part.strip() for part in re.split(r"[|,]", matcher)}
    return re.search(matcher, name) is not None


def own_command() -> list[str]:
    """The command of the environment that runs this."""
    return [str(Path(os.path.abspath(sys.executable)).with_name("remit"))]
