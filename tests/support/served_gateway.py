"""`remit serve --http` as a process of its own."""

import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from support.forked_commands import fork_server
from support.sandbox import Sandbox


@contextmanager
def serving(sandbox: Sandbox, project: Path, *options: str) -> Generator[str]:
    """Serve on HTTP, on a port that is free; gives the URL."""
    command = fork_server().command("remit", "serve", "--http", "127.0.0.1:0", *options)
    with subprocess.Popen(
        command, cwd=project, env=sandbox.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        try:
            yield found[0]
        finally:
            process.terminate()
            process.communicate(timeout=60)
