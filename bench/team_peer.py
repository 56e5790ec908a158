"""ContextForge on PostgreSQL, in an environment of its own, with one server registered.

Its limits of calls, its web pages and its plugins are off, and it asks for no token in front of MCP, as Remit
without tokens: that is ContextForge at its fastest.
"""

import json
import os
import secrets
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from support.postgres import free_port

_ADMIN = "admin@example.com"
_SECONDS = 120  # until it is up
_PATIENCE = 300  # seconds for the registration of a server with many tools
_OFF = (
    "MCP_REQUIRE_AUTH",
    "RATE_LIMITING_ENABLED",
    "SSRF_PROTECTION_ENABLED",
    "MCPGATEWAY_UI_ENABLED",
    "MCPGATEWAY_ADMIN_API_ENABLED",
    "PLUGINS_ENABLED",
    "PASSWORD_CHANGE_ENFORCEMENT_ENABLED",
    "ADMIN_REQUIRE_PASSWORD_CHANGE_ON_BOOTSTRAP",
)


class Peer(NamedTuple):
    """A running ContextForge."""

    port: int
    pid: int
    registered_s: float  # how long it took to learn the tools of the server


@contextmanager
def context_forge(peers: Path, folder: Path, address: str, server: str) -> Generator[Peer]:
    """Run it on an empty database, with the server at a URL behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = _environment(folder, address)
    port = free_port()
    command = [str(peers / "bin/uvicorn"), "mcpgateway.main:app", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--log-level", "error"], env=environment, cwd=folder, stdout=log, stderr=log
        )
    try:
        _wait(process, port, folder / "log")
        start = time.perf_counter()
        _register(port, _token(peers, environment), server)
        yield Peer(port, process.pid, round(time.perf_counter() - start, 1))
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(folder: Path, address: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DATABASE_URL": address.replace("postgresql://", "postgresql+psycopg://"),
        "CACHE_TYPE": "database",
        "LOG_LEVEL": "ERROR",
        "TOOL_RATE_LIMIT": "1000",
        "PAGINATION_MAX_PAGE_SIZE": "10000",
        "PAGINATION_DEFAULT_PAGE_SIZE": "1000",
        "PLATFORM_ADMIN_EMAIL": _ADMIN,
        "PLATFORM_ADMIN_PASSWORD": secrets.token_urlsafe(20) + "aA1!",
        "BASIC_AUTH_PASSWORD": secrets.token_urlsafe(20),
        "JWT_SECRET_KEY": secrets.token_urlsafe(48),
        "AUTH_ENCRYPTION_SECRET": secrets.token_urlsafe(48),
        **dict.fromkeys(_OFF, "false"),
    }


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = time.monotonic() + _SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except OSError:
            is_starting = process.poll() is None and time.monotonic() < end
            assert is_starting, log.read_text("utf-8")[-2_000:]
            time.sleep(0.2)


def _token(peers: Path, environment: Mapping[str, str]) -> str:
    command = [str(peers / "bin/python"), "-m", "mcpgateway.utils.create_jwt_token"]
    made = subprocess.run(
        [
            *command,
            "--username",
            _ADMIN,
            "--admin",
            "--exp",
            "600",
            "--secret",
            environment["JWT_SECRET_KEY"],
        ],
        env=dict(environment),
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip().splitlines()[-1]


def _register(port: int, token: str, server: str) -> None:
    said = {"name": "bench", "url": server, "transport": "STREAMABLEHTTP", "visibility": "public"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/gateways",
        json.dumps(said).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE):  # noqa: S310
            return
    except urllib.error.HTTPError as error:
        raise ConnectionError(f"ContextForge: {error.code}: {error.read()[:500]!r}") from None
