"""`remit serve`: the gateway, on stdio."""

import json
import logging
import os
import sys
from typing import TYPE_CHECKING

import click

from remit.cli import render
from remit.cli.options import with_agent
from remit.errors import ServingError

if TYPE_CHECKING:
    from remit.clients import RecordedEnvironment

_DEPTH = "REMIT_DEPTH"  # marks what a gateway starts
_LIBRARIES = ("mcp", "uvicorn", "httpx2")  # below debug, they would log what clients send


def _fix_environment(
    _context: click.Context, _option: click.Parameter, path: str | None
) -> "RecordedEnvironment | None":
    """Take all paths from an install record, before anything reads a variable.

    Raises:
        InstallRecordError: the record is missing or damaged.
    """
    if path is None:
        return None
    from remit.clients import read_environment

    recorded = read_environment(path)
    recorded.apply(os.environ)
    return recorded


@click.command()
@click.option(
    "--install",
    "installed",
    metavar="FILE",
    is_eager=True,
    callback=_fix_environment,
    help="Take all paths from this install record, not from variables; `remit install` writes it.",
)
@click.option(
    "-C", "--project", "directory", metavar="DIR", default=".", help="The directory; default: here."
)
@click.option("--client", metavar="NAME", help="The client to serve as; default: claude-code.")
@click.option(
    "--headless",
    is_flag=True,
    help="For a program without a terminal: a project's servers need your trust, not the client's approval.",
)
@with_agent
@click.option("--room", metavar="NAME", help="Serve only the tools of one room.")
@click.option("--strategy", metavar="NAME", help="How tools are presented; default: as configured.")
@click.option("--log-json", is_flag=True, help="Log as JSON on stderr, one object per line.")
@click.option("-v", "--verbose", count=True, help="Log more to stderr; repeat for everything.")
def serve(
    *,
    installed: "RecordedEnvironment | None",
    directory: str,
    client: str | None,
    headless: bool,
    agent: str | None,
    parents: tuple[str, ...],
    mode: str | None,
    room: str | None,
    strategy: str | None,
    log_json: bool,
    verbose: int,
) -> None:
    """Serve the available tools as one MCP server.

    On stdio it serves one client, which starts it: `claude mcp add remit -- remit serve`. A program without a
    client of its own starts `remit serve --headless`: then trust alone decides.
    """
    from remit.catalog import ALL_CLIENTS, DEFAULT_CLIENT
    from remit.config import STRATEGIES
    from remit.decision import runs_headless

    del installed  # applied already
    if os.environ.get(_DEPTH):
        raise ServingError(
            "this `remit serve` was started by Remit itself, which would never end",
            hint="remove the entry that starts Remit from the servers that Remit starts",
        )
    if client == ALL_CLIENTS:
        raise click.UsageError("--client must name one client")
    if parents and agent is None:
        raise click.UsageError("--parent needs --agent, the agent that it started")
    if strategy is not None and strategy not in STRATEGIES:
        raise click.UsageError(f"--strategy must be one of {', '.join(STRATEGIES)}")
    _start_log(as_json=log_json, verbose=verbose)
    from remit.bootstrap import open_gateway  # after the variables are as recorded
    from remit.gateway import EndpointSpec, Hello, serve_stdio

    spec = EndpointSpec(
        os.path.abspath(directory),
        client or DEFAULT_CLIENT,
        agent,
        parents,
        room,
        strategy,
        mode,
        headless or runs_headless(os.environ),
    )
    sys.exit(
        serve_stdio(open_gateway(), Hello(spec, dict(os.environ)), lambda text: render.note(f"remit: {text}"))
    )


def _start_log(*, as_json: bool, verbose: int) -> None:
    """Log to stderr: stdout belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(levelname)s %(name)s: %(message)s")
    handler.setFormatter(_JsonLines() if as_json else plain)
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.getLogger("remit").setLevel(level)
    for name in _LIBRARIES:
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
        return json.dumps(fields)
