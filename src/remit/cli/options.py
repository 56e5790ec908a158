"""What commands have in common: options, exit codes, and asking a person first."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from remit.bootstrap import open_registry
from remit.catalog.contexts import DEFAULT_CLIENT
from remit.decision.policy_rules import Mode
from remit.errors import RemitError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from remit.decision.context import Context
    from remit.registry import Registry

NOTHING_DONE = 1  # no such thing here, or the user said no
FOUND = 1  # doctor found an error
FAILURE = 2
INTERRUPTED = 130

_SAFE = re.compile(r"[\w.@:/+*-]+")  # no sign that a shell reads


class Asked(NamedTuple):
    """What the options say about who asks, and from where."""

    project: str = "."
    client: str = DEFAULT_CLIENT
    headless: bool = False
    mcp_configs: tuple[str, ...] = ()
    agent: str | None = None
    parents: tuple[str, ...] = ()
    mode: str | None = None

    def context(self, registry: Registry) -> Context:
        """Make the context that was asked for."""
        if self.parents and self.agent is None:
            raise click.UsageError("--parent says who started an agent; name it with --agent")
        return registry.at(
            self.project,
            self.client,
            is_headless=self.headless,
            mcp_configs=self.mcp_configs,
            agent=self.agent,
            parents=self.parents,
            mode=self.mode,
        )


PROJECT = click.option(
    "--project", metavar="DIR", default=".", help="The directory to answer for; default: here."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_OPTIONS = (
    PROJECT,
    click.option(
        "--client",
        metavar="NAME",
        default=DEFAULT_CLIENT,
        show_default=True,
        help="The client to answer for, or `all`.",
    ),
    click.option(
        "--headless",
        is_flag=True,
        help="As the client has it without a terminal: nothing needs approval.",
    ),
    click.option(
        "--mcp-config",
        "mcp_configs",
        metavar="FILE",
        multiple=True,
        help="As the client has it when started with this file of servers; may be repeated.",
    ),
    JSON,
)
_AGENT_OPTIONS = (
    click.option("--agent", metavar="NAME", help="The agent to answer for; default: the main session."),
    click.option(
        "--parent",
        "parents",
        metavar="NAME",
        multiple=True,
        help="The agent that started it; repeated for those above, the nearest first.",
    ),
    click.option(
        "--mode",
        type=click.Choice([mode.value for mode in Mode]),
        help="How much it may do; default: what the machine's configuration says.",
    ),
)


def for_a_workspace(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that every reading command has; the command gets them as one value, `asked`."""

    @wraps(command)
    def gathered(**options: Any) -> None:
        asked = Asked(**{name: options.pop(name) for name in Asked._fields if name in options})
        command(asked=asked, **options)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def for_an_agent(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of commands that answer for a subagent, too; goes below `for_a_workspace`."""
    for option in reversed(_AGENT_OPTIONS):
        command = option(command)
    return command


def known_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a tool's or server's name from what is known in the directory that is asked about."""
    from click.shell_completion import CompletionItem  # which a shell alone asks for

    given = {name: context.params[name] for name in Asked._fields if context.params.get(name)}
    try:
        with open_registry() as registry:
            tools = [item.tool for item in registry.tools(Asked(**given).context(registry))]
    except RemitError:
        return []
    # A shell may put in what is offered as it stands, and a project chooses its servers' names.
    names = {name for tool in tools for name in (tool.name, tool.server) if name and _SAFE.fullmatch(name)}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def confirm(question: str, *, yes: bool) -> None:
    """Go on only with a person's word: without a terminal there is nobody to ask."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; give --yes to say that you mean it")
    if not click.confirm(question, err=True):
        sys.exit(NOTHING_DONE)
