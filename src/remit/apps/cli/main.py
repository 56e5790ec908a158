"""The command `remit`: each command parses, asks the registry, and renders."""

import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from io import TextIOWrapper
from typing import Any, NamedTuple, NoReturn

import click
from click.shell_completion import CompletionItem, get_completion_class

from remit import __version__
from remit.apps.cli import evaluation, live, overview, policies, render, shapes, states, trusting
from remit.apps.cli.names import names as names_of_commands
from remit.bootstrap import PROVIDERS, diagnose, open_registry, open_upstreams
from remit.core.decide import Context
from remit.core.discovery import present
from remit.core.findings import Severity
from remit.core.policy import Mode
from remit.core.scopes import Scope
from remit.core.session_context import MAX_CHARACTERS
from remit.core.summary import summarise
from remit.core.upstreams import DEADLINE
from remit.errors import (
    EmbeddingError,
    RemitError,
    UnknownApprovalError,
    UnknownProjectError,
    UnknownServerError,
    UnknownStateError,
)
from remit.registry import ALL_CLIENTS, DEFAULT_CLIENT, Registry
from remit.search import BY_WORDS_ALONE, DEFAULT_LIMIT, MAX_LIMIT

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


_PROJECT = click.option(
    "--project", metavar="DIR", default=".", help="The directory to answer for; default: here."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_OPTIONS = (
    _PROJECT,
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
    _JSON,
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


def _known_names(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a tool's or server's name from what is known in the directory that is asked about."""
    given = {name: context.params[name] for name in Asked._fields if context.params.get(name)}
    try:
        with open_registry() as registry:
            tools = [item.tool for item in registry.tools(Asked(**given).context(registry))]
    except RemitError:
        return []
    # A shell may put in what is offered as it stands, and a project chooses its servers' names.
    names = {name for tool in tools for name in (tool.name, tool.server) if name and _SAFE.fullmatch(name)}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _seconds(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if value != value:  # not a number, and so neither above nor below any other
        raise click.BadParameter("not a number of seconds")
    return value


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, message="remit %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Exactly the tools an AI agent should have: here, now, and why."""
    if context.invoked_subcommand is None:
        render.out(context.get_help())


@app.command()
@click.argument("servers", nargs=-1, metavar="[SERVER]...", shell_complete=_known_names)
@for_a_workspace
@click.option("--connect", is_flag=True, help="Start or reach the servers in force, and list their tools.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    default=DEADLINE,
    show_default=True,
    callback=_seconds,
    help="How long each server may take.",
)
def scan(*, servers: tuple[str, ...], asked: Asked, connect: bool, timeout: float, as_json: bool) -> None:
    """Scan again: what changed, is visible, hidden, and costs.

    With --connect, servers are started or reached for what they list: all in force that are yours or that you
    trust, or only each SERVER that is named.
    """
    if servers and not connect:
        raise click.UsageError("servers are named for --connect only")
    with open_registry() as registry:
        context = asked.context(registry)
        found, connected = registry.scan(context), None
        if connect:
            with live.progress("asking servers") as show:
                connected = registry.connect(
                    context, open_upstreams(), names=servers, deadline=timeout, on_progress=show
                )
            found = replace(found, tools=registry.tools(context))
        _index(registry, context)
    render.problems(found.problems, context)
    live.warnings(connected or ())
    summary = summarise(found.tools, context)
    if as_json:
        render.data(shapes.scan(found, summary, context, connected or ()))
        return
    overview.show(found, summary, context)
    if connected is not None:
        live.connected(connected)


@app.command()
@for_a_workspace
@for_an_agent
@click.option("--all", "everything", is_flag=True, help="Add the hidden ones, with gate and reason.")
def tools(*, asked: Asked, everything: bool, as_json: bool) -> None:
    """List the tools in force here, by scope."""
    with open_registry() as registry:
        context = asked.context(registry)
        context = registry.now(context) if as_json else context
        known = registry.tools(context)
        problems = registry.problems(context)
    render.problems(problems, context)
    summary = summarise(known, context)
    listed = [item for item in known if everything or item.decision.visible]
    if as_json:
        render.data(shapes.listing(listed, summary, context))
    else:
        render.listing(listed, summary, context)


@app.command()
@_PROJECT
@click.option("--all", "everything", is_flag=True, help="Add those that are known, but not found.")
@_JSON
def clients(*, project: str, everything: bool, as_json: bool) -> None:
    """List the clients found here, with their files."""
    with open_registry() as registry:
        context = registry.at(project, ALL_CLIENTS)
        found = [item for item in registry.clients(context) if everything or item.is_found]
        problems = registry.own_problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(shapes.clients(found, context))
    else:
        render.clients(found, context)


@app.command()
@click.argument("name", shell_complete=_known_names)
@for_a_workspace
@for_an_agent
def why(*, name: str, asked: Asked, as_json: bool) -> None:
    """Explain why a tool is available, or is not.

    NAME is a tool's or a server's; a tool that exists only in another project is unknown here.
    """
    with open_registry() as registry:
        context = asked.context(registry)
        explained = registry.explain(name, context)
        problems = registry.problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(shapes.explanation(explained))
    else:
        render.explanation(explained, context)
    if explained.tool is None:
        sys.exit(NOTHING_DONE)


@app.command()
@click.argument("query", nargs=-1, required=True)
@for_a_workspace
@for_an_agent
@click.option(
    "--scope", type=click.Choice([scope.value for scope in Scope]), help="Only tools of this scope."
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_LIMIT),
    metavar="NUMBER",
    default=DEFAULT_LIMIT,
    show_default=True,
    help="The most to show.",
)
@click.option("--all", "everything", is_flag=True, help="Add the hidden ones, with gate and reason.")
@click.option("--full", is_flag=True, help="Add each tool's input schema.")
def search(
    *,
    query: tuple[str, ...],
    asked: Asked,
    scope: str | None,
    limit: int,
    everything: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Find tools by what they do.

    QUERY says in your words what you want to do, or names a tool. Exits with 1 when nothing is a good match.
    """
    with open_registry() as registry:
        context = asked.context(registry)
        failure = _index(registry, context)
        # What could not be made ready just now is not tried a second time.
        searcher = registry.searcher(context, is_hurried=True)
        found = searcher.search(
            " ".join(query),
            scope=None if scope is None else Scope(scope),
            limit=limit,
            include_hidden=everything,
        )
        if failure is not None and found.note is None:
            found = replace(found, note=f"new tools are {BY_WORDS_ALONE}: {failure}")
        tools = [item.tool for item in found.results]
        shown = present(found, registry.definitions(tools, context) if full else None, budget=math.inf)
        problems = registry.own_problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(shapes.search(shown, context))
    else:
        render.lines(shown.text)
    if not found.results:
        live.unasked(searcher.listed)
        sys.exit(NOTHING_DONE)


def _index(registry: Registry, context: Context) -> EmbeddingError | None:
    """Make new tools ready for search; where that fails they are still found by their words."""
    try:
        with live.progress("reading tools") as show:
            registry.index(context, show)
    except EmbeddingError as failure:
        render.warning(failure)
        return failure
    return None


@app.command()
@for_a_workspace
def doctor(*, asked: Asked, as_json: bool) -> None:
    """Name each problem with its file and its fix.

    Nothing is started, and no secret is shown. Exits with 1 when there is an error.
    """
    with open_registry() as registry:
        context = asked.context(registry)
        findings = diagnose(registry, context)
        problems = registry.own_problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(shapes.diagnosis(findings, context))
    else:
        render.diagnosis(findings, context)
    if any(finding.severity is Severity.ERROR for finding in findings):
        sys.exit(FOUND)


@app.command("states")
@for_a_workspace
@for_an_agent
def list_states(*, asked: Asked, as_json: bool) -> None:
    """List the states, their values, and why."""
    with open_registry() as registry:
        context = registry.now(asked.context(registry))
        found = registry.states(context)
        problems = registry.own_problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(states.shape(found, context))
    else:
        states.table(found, context)


@app.group()
def state() -> None:
    """Set, clear and push states."""


@state.command("set")
@click.argument("name")
@_PROJECT
def set_state(name: str, *, project: str) -> None:
    """Set a workflow state of the project."""
    with open_registry() as registry:
        context = registry.at(project)
        registry.set_state(name, context)
        problems = registry.own_problems(context)
    render.problems(problems, context)
    render.out(f"set {name}")


@state.command("clear")
@click.argument("name")
@_PROJECT
def clear_state(name: str, *, project: str) -> None:
    """Clear a workflow state, with those that imply it."""
    with open_registry() as registry:
        context = registry.at(project)
        cleared = registry.clear_state(name, context)
        problems = registry.own_problems(context)
    render.problems(problems, context)
    for each in cleared:
        render.out(f"cleared {each}")


@state.command("push")
@_PROJECT
@click.option("--json", "text", metavar="OBJECT", required=True, help="The states; `-` reads it from stdin.")
def push_states(*, project: str, text: str) -> None:
    """Say what an application's states are, for a while.

    OBJECT has states as its keys, with true, false, or null to withdraw what was said before. Its `location`
    says where the user is: page, route, modal, selected, depth, components, elements.
    """
    pushed = states.read_pushed(text)
    with open_registry() as registry:
        context = registry.at(project)
        registry.push_states(pushed, context)
        problems = registry.own_problems(context)
    render.problems(problems, context)
    render.out(f"pushed {', '.join(map(render.printable, pushed)) or 'nothing'}")


@app.group()
def policy() -> None:
    """Look after who may use what."""


@policy.command("check")
@for_a_workspace
def check_policy(*, asked: Asked, as_json: bool) -> None:
    """Name every mistake in Remit's own configuration.

    Each with its file, line and column, and with what to do. Exits with 1 when there is an error.
    """
    with open_registry() as registry:
        context = asked.context(registry)
        found = registry.check_policy(context)
    if as_json:
        render.data(policies.checked(found, context))
    else:
        policies.check(found, context)
    if any(item.severity is Severity.ERROR for item in found):
        sys.exit(FOUND)


@app.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_PROJECT
@click.option("--deny", is_flag=True, help="Say no.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@_JSON
def approve(*, ids: tuple[str, ...], project: str, deny: bool, yes: bool, as_json: bool) -> None:
    """Answer calls that wait for your word.

    Without an ID, lists them with their arguments. A yes counts for that very call, once, until it expires.
    Asks first, unless --yes or --deny is given.
    """
    if deny and not ids:
        raise click.UsageError("name what to deny")
    with open_registry() as registry:
        context = registry.at(project)
        asked = registry.approvals
        found = [asked.find(id, context) for id in ids] if ids else asked.waiting(context)
        if ids:
            policies.approvals(found, asked, to_stderr=True)
            if not deny:
                _confirm("Approve of these calls?", yes=yes)
            found = [asked.answer(item.id, context, approve=not deny) for item in found]
        if as_json:
            render.data(policies.asked_about(found, asked, context))
        elif ids:
            for item in found:
                render.out(f"{asked.status(item)} {item.id}  {render.printable(item.binding.tool)}")
        elif found:
            policies.approvals(found, asked)
        else:
            render.out("No call waits for your word.")


@app.command("context")
@for_a_workspace
@for_an_agent
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="CHARACTERS",
    default=MAX_CHARACTERS,
    show_default=True,
    help="The most to print.",
)
def session_context(*, asked: Asked, budget: int, as_json: bool) -> None:
    """Print what an agent is told at the start."""
    with open_registry() as registry:
        context = asked.context(registry)
        text = registry.session_context(context, budget=budget)
        problems = registry.problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(shapes.session_context(text, budget))
    else:
        render.text(text)


@app.command("eval")
@click.argument("folder", metavar="DIR")
@click.option(
    "--provider",
    "providers",
    type=click.Choice(PROVIDERS),
    multiple=True,
    help="Who turns texts into vectors; may be repeated. Default: all that there are here.",
)
@_JSON
def evaluate(*, folder: str, providers: tuple[str, ...], as_json: bool) -> None:
    """Measure how good and how fast search is.

    DIR holds `tools.jsonl` (`id`, `name`, `description`, `server`, `parameters`) and `queries.jsonl` (`id`,
    `text`, `relevant`: ids of tools). `words` is the search without a model.
    """
    evaluation.evaluate(folder, providers, as_json=as_json)


app.add_command(names_of_commands)


@app.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_known_names)
@for_a_workspace
@click.option("--all", "everything", is_flag=True, help="Trust all that are listed.")
@click.option("--revoke", is_flag=True, help="Trust each NAME no more, or with --all none.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def trust(
    *, names: tuple[str, ...], asked: Asked, everything: bool, revoke: bool, yes: bool, as_json: bool
) -> None:
    """Trust servers and states that run something.

    Servers that come with a project are started only then, and states that run a program, reach a server or
    change what is not the project's count only then. Without a NAME, lists both with what they would do.
    Trust ends when an entry changes. Asks first, unless --yes is given.
    """
    if everything and names:
        raise click.UsageError("name servers and states, or give --all")
    if revoke and not (everything or names):
        raise click.UsageError("name what to trust no more, or give --all")
    with open_registry() as registry:
        context = asked.context(registry)
        found = trusting.find(registry, context, names)
        if everything or names:
            trusting.show(found, context, to_stderr=True)
            if not (found.is_empty or revoke):
                _confirm("Trust these, as they stand?", yes=yes)
            trusting.settle(registry, context, found, revoke=revoke)
            found = trusting.find(registry, context, names)
        problems = registry.problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(trusting.shape(found, context))
    elif everything or names:
        trusting.tell(found)
    else:
        trusting.show(found, context)


@app.command()
@click.argument("project")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(project: str, *, yes: bool) -> None:
    """Erase all that is stored about a project.

    PROJECT is a directory in it, or its hash. Asks first, unless --yes is given.
    """
    with open_registry() as registry:
        found = registry.find_project(project)
        path = render.printable(found.path)
        _confirm(f"Erase all that Remit stored about {path}?", yes=yes)
        registry.forget(found)
    render.out(f"forgot {path}")


@app.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    script = get_completion_class(shell)
    if script is not None:
        render.out(script(app, {}, "remit", "_REMIT_COMPLETE").source())


def _confirm(question: str, *, yes: bool) -> None:
    """Go on only with a person's word: without a terminal there is nobody to ask."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; give --yes to say that you mean it")
    if not click.confirm(question, err=True):
        sys.exit(NOTHING_DONE)


def main() -> NoReturn:
    """Run the command line; the one place that turns failures into exit codes."""
    _prepare_streams()
    try:
        app.main(prog_name="remit", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(0)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as failure:
        failure.show()
        sys.exit(FAILURE)
    except (UnknownApprovalError, UnknownProjectError, UnknownServerError, UnknownStateError) as failure:
        render.error(failure)
        sys.exit(NOTHING_DONE)
    except RemitError as failure:
        render.error(failure)
        sys.exit(FAILURE)
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        sys.exit(0)
    except OSError as failure:
        render.error(RemitError(f"the output cannot be written: {failure.strerror}"))
        _drop_output()
        sys.exit(FAILURE)


def _prepare_streams() -> None:
    """Make writing safe: a closed stream swallows, and a name that the encoding cannot write is escaped."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 - as long as we live
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Keep the interpreter from writing again, at its end, what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
