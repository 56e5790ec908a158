"""`remit serve`: the gateway, on stdio or HTTP."""

import json
import logging
import os
import re
import sys
from pkgutil import resolve_name
from typing import NamedTuple

import click

from remit.bootstrap import find_store, open_registry
from remit.bootstrap_gateway import gateway_openers
from remit.catalog.contexts import ALL_CLIENTS, DEFAULT_CLIENT
from remit.cli import render
from remit.cli.options import PROJECT
from remit.clients.project_variables import take_back
from remit.configuration.config_model import Strategy
from remit.configuration.store_place import is_address
from remit.decision.policy_rules import Mode
from remit.decision.projects import may_name_project, runs_headless
from remit.errors import ServingError
from remit.files.checkout import locate
from remit.gateway.ports import EndpointSpec
from remit.gateway.telemetry.otel_setup import start_tracing
from remit.gateway.transports.host_check import origin
from remit.install.recorded_environment import OPTION, RecordedEnvironment, nesting_mark, read_environment
from remit.settings import DEPTH
from remit.text.redaction import ANY_VARIABLE, FOREIGN

LOOPBACK = "127.0.0.1"


class _Installed(NamedTuple):
    """What an installed gateway knows from its record."""

    environment: RecordedEnvironment
    mark: str  # the value of `REMIT_DEPTH` for what it starts


def _fix_environment(
    _context: click.Context, _option: click.Parameter, path: str | None
) -> _Installed | None:
    """Take all paths from an install record, before anything reads a variable.

    Raises:
        InstallRecordError: the record is missing or damaged.
    """
    if path is None:
        return None
    recorded, mark = read_environment(path), nesting_mark(path)
    if os.environ.get(DEPTH, mark) != mark:
        del os.environ[DEPTH]
        render.program_note(
            f"ignoring {DEPTH}, which this install of Remit did not set: it would stop the gateway"
        )
    recorded.apply(os.environ)
    return _Installed(recorded, mark)


_ADDRESS = re.compile(r"(?:(?P<host>\[[^\]]+\]|[^:\[\]]*):)?(?P<port>\d{1,5})")
_LAST_PORT = 65535


@click.command()
@PROJECT
@click.option(
    "--http", metavar="HOST:PORT", help="Listen on HTTP instead of stdio; a port alone means 127.0.0.1."
)
@click.option(
    "--client", metavar="NAME", default=DEFAULT_CLIENT, show_default=True, help="The client to serve as."
)
@click.option(
    "--headless",
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
    "--strategy",
    type=click.Choice([strategy.value for strategy in Strategy]),
    help="How tools are presented; default: as configured.",
)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    help="How much clients may do; default: as configured.",
)
@click.option(
    "--allow-host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="With --http: another host name of this machine; may be repeated.",
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="With --http: an origin whose pages may connect, such as http://localhost:6274; may be repeated.",
)
@click.option("--web", "has_pages", is_flag=True, help="With --http: also serve pages for people, at /web.")
@click.option("--memory", is_flag=True, help="Serve only project memory, on stdio.")
@click.option(
    OPTION,
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
    project: str,
    http: str | None,
    client: str,
    headless: bool,
    agent: str | None,
    parents: tuple[str, ...],
    room: str | None,
    strategy: str | None,
    mode: str | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    has_pages: bool,
    memory: bool,
    installed: _Installed | None,
    log_json: bool,
    verbose: int,
) -> None:
    """Serve the available tools as one MCP server.

    On stdio it serves one client, which starts it: `claude mcp add remit -- remit serve`. A program
    without a client of its own starts `remit serve --headless`: then trust alone decides. With --http it
    serves many, each endpoint at its own URL: /mcp, /p/PROJECT/mcp, /p/PROJECT/a/AGENT/mcp,
    /a/PARENT/a/AGENT/mcp, /rooms/ROOM/mcp. Other machines can reach it only with a token: see `remit
    token`.
    """
    if installed is not None:
        _take_back_variables(client, project, installed.environment)
    if os.environ.get(DEPTH):
        raise ServingError(
            "this `remit serve` was started by Remit itself, which would never end",
            hint="remove the entry that starts Remit from the servers that Remit starts",
        )
    if installed is not None:
        os.environ[DEPTH] = installed.mark
    if client == ALL_CLIENTS:
        raise click.UsageError("--client must name one client")
    if parents and agent is None:
        raise click.UsageError("--parent needs --agent, the agent that it started")
    address = None if http is None else _address(http)
    if (hosts or origins) and address is None:
        raise click.UsageError("--allow-host and --allow-origin are for --http")
    if has_pages and address is None:
        raise click.UsageError("--web is for --http; on one machine, use `remit web`")
    pages = [_origin(each) for each in origins]
    if memory and (address or agent or room or strategy or mode):
        raise click.UsageError("--memory serves only memory on stdio: omit the other options")
    _start_log(as_json=log_json, verbose=verbose)
    if installed is None:  # a repository may choose the variables of an installed gateway
        start_tracing(os.environ, render.program_note)
    # On HTTP, these variables belong to no client.
    is_headless = headless or (address is None and runs_headless(os.environ))
    directory = _directory(project, waits_for_store=address is not None)
    is_installed = installed is not None and address is None
    spec = EndpointSpec(directory, client, agent, room, strategy, mode, is_headless, parents, is_installed)
    # Imported late: no other command needs the server.
    openers = gateway_openers()
    if memory:
        from remit.gateway.transports import project_memory_endpoint

        sys.exit(project_memory_endpoint.serve(spec.directory, openers, render.program_note))
    if address is None:
        from remit.gateway.transports import stdio_server

        sys.exit(stdio_server.serve(spec, openers, render.program_note))
    from remit.gateway.transports import http_server
    from remit.gateway.transports.socket_server import Address

    allowed = http_server.AllowedOrigins(hosts, pages)
    # By name: the pages use the commands, so no command can import them.
    open_pages = (
        resolve_name("remit.web.gateway_pages.open_gateway_pages:open_gateway_pages") if has_pages else None
    )
    sys.exit(http_server.serve(spec, Address(*address), allowed, openers, render.program_note, open_pages))


def _directory(project: str, *, waits_for_store: bool) -> str:
    """Return the path of the project; a name is left to a gateway that may have to wait for the store."""
    if not may_name_project(project) or not is_address(find_store().place):
        return os.path.abspath(project)
    if waits_for_store:
        return project
    with open_registry() as registry:
        return registry.at(project).workspace.dir


def _take_back_variables(client: str, project: str, recorded: RecordedEnvironment) -> None:
    """Start with no program, option or mark that this repository's settings chose."""
    for name in take_back(os.environ, client, locate(project), recorded.path):
        render.program_note(
            f"ignoring {name}, which a file of this repository sets: it could choose the code of your servers"
        )
    if (names := os.environ.get(FOREIGN, ANY_VARIABLE)) not in ("", ANY_VARIABLE):
        render.program_note(
            f"not for your own servers: {names.replace(',', ', ')}, which a file of this repository sets"
        )


def _address(given: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(given)
    if found is None:
        raise click.UsageError(f"--http must be HOST:PORT or a port, not `{given}`")
    if int(found["port"]) > _LAST_PORT:
        raise click.UsageError(f"--http: `{found['port']}` is not a port; expected 0 to {_LAST_PORT}")
    return (found["host"] or LOOPBACK).strip("[]"), int(found["port"])


def _origin(given: str) -> str:
    found = origin(given)
    if found is None:
        like = "http://localhost:6274"
        raise click.UsageError(
            f"--allow-origin must be a scheme, a host and optionally a port, like {like}, not `{given}`"
        )
    return found


def _start_log(*, as_json: bool, verbose: int) -> None:
    """Log to stderr: stdout belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _JsonLines() if as_json else logging.Formatter("%(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.getLogger("remit").setLevel(level)
    # Below this level, libraries log what clients send.
    for name in ("mcp", "uvicorn", "httpx2"):
        logging.getLogger(name).setLevel(max(level, logging.WARNING if verbose < 2 else logging.INFO))


class _JsonLines(logging.Formatter):
    """Formats log records as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str)
