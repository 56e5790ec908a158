"""A machine whose administrator's files are a test's own: for a process and its children, and nobody else.

The real directory is replaced in a mount namespace, which takes root.
"""

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest


@cache
def can_mount() -> bool:
    """Tell whether a directory can be replaced for one process and its children."""
    try:
        return subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


needs_root = pytest.mark.skipif(not can_mount(), reason="only root can replace the administrator's files")


class ManagedMachine:
    """A copy of `/etc`, in which the home of this account is another one."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.etc = root, root / "etc"
        subprocess.run(["cp", "-a", "/etc", str(root)], check=True)
        (self.etc / "passwd").write_text(f"root:x:0:0:root:{home}:/bin/sh\n", encoding="utf-8")
        self.settings = self.etc / "claude-code/managed-settings.json"
        self.servers = self.etc / "claude-code/managed-mcp.json"
        self.record = self.etc / "remit/installs/claude-code.json"

    def program(self, name: str, program: str, options: str = "bind") -> str:
        """Return a script that runs a program with these files."""
        mount = f'mount -o {options} "{self.etc}" /etc && exec "{program}" "$@"'
        script = self.root / name
        script.write_text(f"#!/bin/sh\nexec unshare --mount sh -c '{mount}' sh \"$@\"\n", encoding="utf-8")
        script.chmod(0o755)
        return str(script)

    def run(
        self, program: str, *words: str, cwd: Path, environment: Mapping[str, str], options: str = "bind"
    ) -> subprocess.CompletedProcess[str]:
        """Run a program with these files, to its end."""
        script = self.program("program", program, options)
        return subprocess.run([script, *words], cwd=cwd, env=environment, capture_output=True, text=True)
