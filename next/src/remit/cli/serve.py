"""`remit serve`: the gateway, on stdio or over HTTP."""

import json
import logging
import os
import re
import sys
from typing import TYPE_CHECKING

import click

from remit.cli import render
from remit.clients import read_environment
from remit.config import STRATEGIES
from remit.decision import Mode, runs_headless
from remit.errors import ServingError

if TYPE_CHECKING:
    from remit.gateway import Address

_DEPTH = "REMIT_DEPTH"
_ADDRESS = re.compile(r"(?:(?P<host>\[[^\]]+\]|[^:\[\]]*):)?(?P<port>\d{1,5})")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+", re.IGNORECASE)
_LAST_PORT = 65_535
_CLIENT = "claude-code"


def _fix_environment(_context: click.Context, _option: click.Parameter, path: str | None) -> str | None:
    """Take all paths from an install record, before anything reads a variable.

    Raises:
        InstallRecordError: the record is missing or damaged.
    """
    if path is not None:
        read_environment(path).apply(os.environ)
    return path


@click.command()
@click.option(
    "-C", "--project", "directory", metavar="DIR", default=".", help="The directory; default: here."
)
@click.option(
    "--http", metavar="HOST:PORT", help="Listen on HTTP instead of stdio; a port alone means 127.0.0.1."
)
@click.option("--client", metavar="NAME", default=_CLIENT, show_default=True, help="The client to serve as.")
@click.option(
    "--headless",
    "is_headless",
    is_flag=True,
    help="For a program without a terminal: a project's servers need your trust, not the client's approval.",
)
@click.option("--agent", metavar="NAME", help="The agent to serve; default: the main session.")
@click.option(
    "--parent",
    "parents",
    metavar="NAME",
    multiple=True,
    help="The agent that started it; repeat for its ancestors, nearest first.",
)
@click.option("--room", metavar="NAME", help="Serve only the tools of one room.")
@click.option(
    "--strategy", type=click.Choice(STRATEGIES), help="How tools are presented; default: as configured."
)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    help="How much clients may do; default: as configured.",
)
@click.option(
    "--allow-host", "hosts", metavar="NAME", multiple=True, help="With --http: another name of this machine."
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="With --http: an origin whose pages may connect, such as http://localhost:6274.",
)
@click.option("--memory", "is_memory", is_flag=True, help="Serve only project memory, on stdio.")
@click.option(
    "--install",
    "installed",
    metavar="FILE",
    is_eager=True,
    callback=_fix_environment,
    help="Take all paths from this install record, not from variables; `remit install` writes it.",
)
@click.option("--log-json", is_flag=True, help="Log as JSON on stderr, one object per line.")
@click.option("-v", "--verbose", count=True, help="Log more to stderr; repeat for everything.")
def serve(
    *,
    directory: str,
    http: str | None,
    client: str,
    is_headless: bool,
    agent: str | None,
    parents: tuple[str, ...],
    room: str | None,
    strategy: str | None,
    mode: str | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    is_memory: bool,
    installed: str | None,
    log_json: bool,
    verbose: int,
) -> None:
    """Serve the available tools as one MCP server.

    On stdio it serves one client, which starts it: `claude mcp add remit -- remit serve`. With --http it
    serves many, each endpoint at its own URL: /mcp, /p/PROJECT/mcp, /p/PROJECT/a/AGENT/mcp,
    /rooms/ROOM/mcp. Other machines can reach it only with a token, which the first start prints.
    """
    del installed
    if os.environ.get(_DEPTH):
        raise ServingError(
            "this `remit serve` was started by Remit itself, which would never end",
            hint="remove the entry that starts Remit from the servers that Remit starts",
        )
    if parents and agent is None:
        raise click.UsageError("--parent needs --agent, the agent that it started")
    if (hosts or origins) and http is None:
        raise click.UsageError("--allow-host and --allow-origin are for --http")
    if is_memory and (http or agent or room or strategy or mode):
        raise click.UsageError("--memory serves only memory on stdio: omit the other options")
    address = None if http is None else _address(http)
    for origin in origins:
        if _ORIGIN.fullmatch(origin) is None:
            raise click.UsageError(f"--allow-origin must be like http://localhost:6274, not `{origin}`")
    _start_log(as_json=log_json, verbose=verbose)
    directory = os.path.realpath(directory)
    if is_memory:
        sys.exit(_serve_memory(directory))
    # Imported late: no other command needs the server.
    from remit.bootstrap import open_gateway
    from remit.gateway import EndpointSpec, Hello, serve_stdio

    # On HTTP, these variables belong to no client.
    is_headless = is_headless or (address is None and runs_headless(os.environ))
    spec = EndpointSpec(directory, client, agent, parents, room, strategy, mode, is_headless)
    if address is None:
        sys.exit(serve_stdio(open_gateway(), Hello(spec, dict(os.environ)), render.note))
    from remit.gateway import serve_http

    lowered = [origin.lower() for origin in origins]
    sys.exit(serve_http(open_gateway(), spec, address, hosts=hosts, origins=lowered, say=render.note))


def _serve_memory(directory: str) -> int:
    from remit.bootstrap import open_memory, open_registry
    from remit.files import locate
    from remit.gateway import serve_memory
    from remit.memory import instructions

    with open_registry() as registry:
        text = instructions(registry.store, locate(directory))
    with open_memory(directory) as memory:
        return serve_memory(memory, text)


def _address(given: str) -> "Address":
    from remit.gateway import Address

    found = _ADDRESS.fullmatch(given)
    if found is None:
        raise click.UsageError(f"--http must be HOST:PORT or a port, not `{given}`")
    if int(found["port"]) > _LAST_PORT:
        raise click.UsageError(f"--http: `{found['port']}` is not a port; expected 0 to {_LAST_PORT}")
    return Address((found["host"] or "127.0.0.1").strip("[]"), int(found["port"]))


def _start_log(*, as_json: bool, verbose: int) -> None:
    """Log to stderr: stdout belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(levelname)s %(name)s: %(message)s")
    handler.setFormatter(_JsonLines() if as_json else plain)
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.getLogger("remit").setLevel(level)
    # Below this level, libraries log what clients send.
    for name in ("mcp", "uvicorn", "httpx2"):
        logging.getLogger(name).setLevel(max(level, logging.WARNING if verbose < 2 else logging.INFO))


class _JsonLines(logging.Formatter):
    """Formats log records as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)
