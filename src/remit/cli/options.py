"""Shared by commands: options, their types, exit codes and confirmation."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from remit.bootstrap import open_registry
from remit.decision.policy_rules import Mode
from remit.errors import RemitError, ToolError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from remit.catalog.explanation import Explanation
    from remit.decision.context import Context
    from remit.registry import Registry

NOTHING_DONE = 1  # not found here, or declined
ERRORS_FOUND = 1  # doctor found an error
FAILURE = 2
INTERRUPTED = 130

COMPLETES = "_REMIT_COMPLETE"  # set by a shell that completes words
CHANGE = "remit.change"  # key in a command's `meta`

_SAFE = re.compile(r"[\w.@:/+*-]+")  # no shell metacharacters
_UNIT_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class WorkspaceOptions(NamedTuple):
    """The options that select a workspace, client and agent."""

    project: str = "."
    client: str | None = None  # None: the usual one on this machine
    headless: bool = False
    mcp_configs: tuple[str, ...] = ()
    agent: str | None = None
    parents: tuple[str, ...] = ()
    mode: str | None = None

    def context(self, registry: Registry) -> Context:
        """Make the selected context."""
        if self.parents and self.agent is None:
            raise click.UsageError("--parent needs --agent, the agent that it started")
        return registry.at(
            self.project,
            self.client or registry.usual_client,
            is_headless=self.headless,
            mcp_configs=self.mcp_configs,
            agent=self.agent,
            parents=self.parents,
            mode=self.mode,
        )


class Moment(click.ParamType[int]):
    """A time: so long ago, such as `90m`, `6h`, `2d` and `1w`, or a date with or without a time."""

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,6})([mhdw])", value)
        if found:
            return int(1000 * (time.time() - int(found[1]) * _UNIT_SECONDS[found[2]]))
        try:
            return int(1000 * datetime.fromisoformat(value).astimezone().timestamp())
        except (ValueError, OverflowError):
            self.fail(
                f"`{value}` is not a duration or a date; write 90m, 12h, 7d, 2w or 2026-01-31",
                param,
                ctx,
            )


NO_TERMINAL = "not a terminal: pass --yes to confirm"
PROJECT = click.option(
    "--project", metavar="DIR", default=".", help="The project directory; default: the current one."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
YES = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
CLIENT = click.option(
    "--client",
    metavar="NAME",
    help="The client, or `all`; default: claude-code, or the only one installed.",
)
_OPTIONS = (
    PROJECT,
    CLIENT,
    click.option(
        "--headless",
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
    JSON,
)
_AGENT_OPTIONS = (
    click.option("--agent", metavar="NAME", help="The agent; default: the main session."),
    click.option(
        "--parent",
        "parents",
        metavar="NAME",
        multiple=True,
        help="The agent that started it; repeat for its ancestors, nearest first.",
    ),
    click.option(
        "--mode",
        type=click.Choice([mode.value for mode in Mode]),
        help="How much it may do; default: as configured.",
    ),
)


def limit_option(most: int, default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option of commands that list the best or newest results."""
    return click.option(
        "--limit",
        type=click.IntRange(1, most),
        metavar="NUMBER",
        default=default,
        show_default=True,
        help="The maximum number of results.",
    )


def for_a_workspace(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every reading command; the command gets them as one value, `options`."""

    @wraps(command)
    def wrapped(**values: Any) -> None:
        names = [name for name in WorkspaceOptions._fields if name in values]
        command(options=WorkspaceOptions(**{name: values.pop(name) for name in names}), **values)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def for_an_agent(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select a subagent; goes below `for_a_workspace`."""
    for option in reversed(_AGENT_OPTIONS):
        command = option(command)
    return command


def name_change(command: str) -> None:
    """Say how `remit undo` calls what this command changes."""
    click.get_current_context().meta[CHANGE] = command


def known_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a tool's or server's name from those known in the selected directory."""
    from click.shell_completion import CompletionItem  # only needed by shells

    given = {name: context.params[name] for name in WorkspaceOptions._fields if context.params.get(name)}
    try:
        with open_registry() as registry:
            tools = [item.tool for item in registry.tools(WorkspaceOptions(**given).context(registry))]
    except RemitError:
        return []
    # A shell may insert completions verbatim, and a project chooses its servers' names.
    names = {name for tool in tools for name in (tool.name, tool.server) if name and _SAFE.fullmatch(name)}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def explained_name(name: str, registry: Registry, context: Context) -> Explanation:
    """Explain a name; a tool may be named without its server.

    Raises:
        ToolError: several servers have a tool of this name.
    """
    explained = registry.explain(name, context)
    if explained.tool is not None or not explained.full_names:
        return explained
    if len(explained.full_names) > 1:
        names = ", ".join(f"`{each}`" for each in explained.full_names)
        raise ToolError(f"several tools are called `{name}`", hint=f"name one of them: {names}")
    return registry.explain(explained.full_names[0], context)


def confirm(question: str, *, yes: bool, declined: str = "Nothing was changed.") -> None:
    """Ask for confirmation, and end the command if it is declined.

    Raises:
        ClickException: there is no terminal to ask on.
    """
    if not agrees(question, yes=yes):
        sys.stderr.write(f"{declined}\n")
        sys.exit(NOTHING_DONE)


def agrees(question: str, *, yes: bool) -> bool:
    """Ask a question, and tell whether the answer is yes.

    Raises:
        ClickException: there is no terminal to ask on.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.ClickException(NO_TERMINAL)
    return click.confirm(question, err=True)
