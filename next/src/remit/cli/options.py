"""What commands share: options and their types, exit codes, questions, and who may answer them."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from remit.errors import ApprovalError, RemitError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from remit.catalog import Registry
    from remit.decision import Context

NOTHING_DONE = 1  # not found here, or declined
ERRORS_FOUND = 1  # doctor found an error
FAILURE = 2
INTERRUPTED = 130

COMPLETES = "_REMIT_COMPLETE"  # set by a shell that completes words
CHANGE = "remit.change"  # key in a command's `meta`
NO_TERMINAL = "not a terminal: pass --yes to confirm"

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@:/+*-")  # to any shell
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}  # seconds
_MODES = ("plan", "default", "bypass")


class Here(NamedTuple):
    """The options that select a workspace, a client and an agent."""

    directory: str = "."
    client: str | None = None  # None: the usual one on this machine
    agent: str | None = None
    parents: tuple[str, ...] = ()
    mode: str | None = None
    is_headless: bool = False
    mcp_configs: tuple[str, ...] = ()

    def context(self, registry: "Registry") -> "Context":
        """Make the selected context."""
        if self.parents and self.agent is None:
            raise click.UsageError("--parent needs --agent, the agent that it started")
        return registry.at(
            self.directory,
            self.client or usual_client(),
            agent=self.agent,
            parents=self.parents,
            mode=self.mode,
            is_headless=self.is_headless,
            mcp_configs=self.mcp_configs,
        )


def usual_client() -> str:
    """Return the client to answer for if none is named: Claude Code, or the one that is on this machine."""
    from remit.clients import CLIENTS, is_on_machine
    from remit.files import this_machine

    machine = this_machine()
    return next((name for name in CLIENTS if is_on_machine(name, machine)), "claude-code")


class Moment(click.ParamType[int]):
    """A time: so long ago, such as `90m`, `6h`, `2d` and `1w`, or a date with or without a time."""

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        number, unit = value[:-1], value[-1:]
        if number.isdecimal() and len(number) < 7 and unit in _UNITS:
            import time

            return int(1000 * (time.time() - int(number) * _UNITS[unit]))
        try:
            from datetime import datetime

            return int(1000 * datetime.fromisoformat(value).astimezone().timestamp())
        except (ValueError, OverflowError):
            self.fail(
                f"`{value}` is not a duration or a date; write 90m, 12h, 7d, 2w or 2026-01-31", param, ctx
            )


_PROJECT = click.option(
    "-C",
    "--project",
    "directory",
    metavar="DIR",
    default=".",
    help="The directory; default: the current one.",
)
_CLIENT = click.option(
    "--client",
    metavar="NAME",
    help="The client, or `all`; default: claude-code, or the only one installed.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
YES = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
_AGENT = (
    click.option("--agent", metavar="NAME", help="The agent; default: the main session."),
    click.option(
        "--parent",
        "parents",
        metavar="NAME",
        multiple=True,
        help="The agent that started it; repeat for its ancestors, nearest first.",
    ),
    click.option("--mode", type=click.Choice(_MODES), help="How much it may do; default: as configured."),
)
_SESSION = (
    click.option(
        "--headless",
        "is_headless",
        is_flag=True,
        help="As if the client ran without a terminal: nothing needs approval.",
    ),
    click.option(
        "--mcp-config",
        "mcp_configs",
        metavar="FILE",
        multiple=True,
        help="As if the client was started with this file of servers; may be repeated.",
    ),
)

_Command = Callable[..., None]
_Option = Callable[[_Command], _Command]


def with_here(command: _Command) -> _Command:
    """Add `-C` and `--client`; the command gets them, and those of the functions below, as `here`."""

    @wraps(command)
    def wrapped(**values: Any) -> None:
        given = {name: values.pop(name) for name in Here._fields if name in values}
        command(here=Here(**given), **values)

    return _with((_PROJECT, _CLIENT), wrapped)


def with_agent(command: _Command) -> _Command:
    """Add the options that select a subagent; goes below `with_here`."""
    return _with(_AGENT, command)


def with_session(command: _Command) -> _Command:
    """Add the options of a client's start; goes below `with_here`."""
    return _with(_SESSION, command)


def _with(options: tuple[_Option, ...], command: _Command) -> _Command:
    for option in reversed(options):
        command = option(command)
    return command


def limit_option(most: int, default: int) -> _Option:
    """Return the option of commands that list the best or newest results."""
    return click.option(
        "--limit",
        type=click.IntRange(1, most),
        metavar="NUMBER",
        default=default,
        show_default=True,
        help="The maximum number of results.",
    )


def name_change(command: str) -> None:
    """Say how `remit undo` calls what this command changes."""
    click.get_current_context().meta[CHANGE] = command


def known_names(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Complete the name of a tool or server that is known in the selected directory."""
    from click.shell_completion import CompletionItem  # only shells need it

    from remit.bootstrap import open_registry

    given = {name: context.params[name] for name in Here._fields if context.params.get(name)}
    try:
        with open_registry() as registry:
            tools = [item.tool for item in registry.tools(Here(**given).context(registry))]
    except RemitError:
        return []
    # A shell may insert completions as they are, and a project chooses its servers' names.
    names = {name for tool in tools for name in (tool.name, tool.server) if name and _SAFE.issuperset(name)}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def require_person(act: str, *, yes: bool) -> None:
    """Check that no agent runs what only a person may do; without a terminal, `--yes` is wanted.

    Raises:
        ApprovalError: a client marked this shell as its agent's.
        ClickException: there is no terminal to ask on.
    """
    from remit.clients import CLIENTS, marker
    from remit.decision import client_title

    if (variable := marker(os.environ)) is not None:
        client = next((name for name, client in CLIENTS.items() if variable in client.markers), None)
        agent = "an agent" if client is None else f"an agent of {client_title(client)}"
        raise ApprovalError(
            f"only a person can {act}, and {agent} runs this command (`{variable}` is set)",
            hint="run it yourself, in a terminal of your own",
        )
    if not yes and not sys.stdin.isatty():
        raise click.ClickException(NO_TERMINAL)


def is_agents() -> bool:
    """Return whether a client marked this shell as its agent's, which reads only of its own project."""
    from remit.clients import marker

    return marker(os.environ) is not None


def confirm(question: str, *, yes: bool, declined: str = "Nothing was changed.") -> None:
    """Ask for confirmation, and end the command if it is declined.

    Raises:
        ClickException: there is no terminal to ask on.
    """
    if not agrees(question, yes=yes):
        sys.stderr.write(f"{declined}\n")
        sys.exit(NOTHING_DONE)


def agrees(question: str, *, yes: bool) -> bool:
    """Ask a question, and return whether the answer is yes.

    Raises:
        ClickException: there is no terminal to ask on.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.ClickException(NO_TERMINAL)
    return click.confirm(question, err=True)
