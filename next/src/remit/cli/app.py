"""The command line: the table of commands, and what becomes of streams, changes and errors."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from remit import __version__
from remit.cli import render
from remit.cli.options import CHANGE, COMPLETES, FAILURE, INTERRUPTED, NOTHING_DONE
from remit.errors import NotFoundError, RemitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.files import FileChange


class Entry(NamedTuple):
    """A command: where it is, its heading in the help (empty: not listed), and its summary there."""

    place: str  # "module:object"
    heading: str
    summary: str


_LOOK, _SET_UP, _RUN, _SCRIPTS = "Look", "Set up", "Run", "For scripts"

COMMANDS = {  # in the order of the help and the reference
    "tools": Entry("remit.cli.tools:tools", _LOOK, "List the available tools, by server."),
    "why": Entry("remit.cli.why:why", _LOOK, "Explain why a tool is available or hidden."),
    "search": Entry("remit.cli.search:search", _LOOK, "Find tools by what they do."),
    "doctor": Entry("remit.cli.doctor.command:doctor", _LOOK, "Find problems, and show what runs."),
    "calls": Entry("remit.cli.calls:calls", _LOOK, "Show what agents called here, newest first."),
    "usage": Entry("remit.cli.usage:usage", _LOOK, "Show which tools were used here, and which never were."),
    "states": Entry("remit.cli.states:states", _LOOK, "List the states and their values; set or clear one."),
    "web": Entry("remit.web.command:web", _LOOK, "Look at all of this in the browser."),
    "init": Entry("remit.cli.init:init", _SET_UP, "Set up Remit, step by step."),
    "install": Entry("remit.cli.install:install", _SET_UP, "Install Remit in a client."),
    "uninstall": Entry("remit.cli.install:uninstall", _SET_UP, "Remove Remit from a client."),
    "enable": Entry("remit.cli.rules:enable", _SET_UP, "Enable tools or servers that were disabled."),
    "disable": Entry("remit.cli.rules:disable", _SET_UP, "Disable tools or servers."),
    "ask": Entry("remit.cli.rules:ask", _SET_UP, "Ask a person before each call of a tool."),
    "undo": Entry("remit.cli.rules:undo", _SET_UP, "Undo the last change Remit made to your files."),
    "trust": Entry("remit.cli.trust:trust", _SET_UP, "Trust servers, states and changed definitions."),
    "approve": Entry("remit.cli.approve:approve", _SET_UP, "Approve or deny pending calls."),
    "lock": Entry("remit.cli.lock:lock", _SET_UP, "Write or check the lock of a project's servers."),
    "login": Entry("remit.cli.login:login", _SET_UP, "Sign in to a remote server."),
    "logout": Entry("remit.cli.login:logout", _SET_UP, "Sign out of a remote server."),
    "serve": Entry("remit.cli.serve:serve", _RUN, "Serve the available tools as one MCP server."),
    "context": Entry("remit.cli.context:context", _SCRIPTS, "Print what an agent gets at session start."),
    "inspect": Entry("remit.cli.inspect:inspect", _SCRIPTS, "Find tool definitions that steer the model."),
    "memory": Entry("remit.cli.memory:memory", _SCRIPTS, "Switch project memory on or off, and read it."),
    "names": Entry(
        "remit.cli.names:names", _SCRIPTS, "Show or generate the tool names of a program's commands."
    ),
    "forget": Entry("remit.cli.scripts:forget", _SCRIPTS, "Delete everything stored about a project."),
    "demo": Entry("remit.cli.demo.command:demo", _SCRIPTS, "Show Remit at work, in a temporary directory."),
    "completion": Entry("remit.cli.scripts:completion", _SCRIPTS, "Print the set-up of tab completion."),
    "hook": Entry("remit.cli.scripts:hook", "", "Answer one hook event of Claude Code."),
    "scan": Entry("remit.cli.tools:scan", "", "Read all configuration again, and show what changed."),
}


class _Commands(click.Group):
    """Imports a command on demand: importing all takes longer than running most."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the same for all
        return sorted([*(name for name, entry in COMMANDS.items() if entry.heading), *_added()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = COMMANDS[cmd_name].place if cmd_name in COMMANDS else _added().get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        return getattr(import_module(module), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as failure:
            # The group holds no commands itself, so it would suggest nothing.
            raise click.NoSuchCommand(args[0], possibilities=[*COMMANDS, *_added()], ctx=ctx) from failure

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, COMMANDS))  # the same column in all sections
        for name, entry in COMMANDS.items():
            if entry.heading:
                sections.setdefault(entry.heading, []).append((name.ljust(width), entry.summary))
        for name in _added():
            command = self.get_command(ctx, name)
            summary = "" if command is None else command.get_short_help_str(100)
            sections.setdefault("Teams", []).append((name.ljust(width), summary))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def _added() -> dict[str, str]:
    """Return the commands of installed extensions; looking for them takes as long as a small command."""
    from remit.extensions import extensions

    return {name: place for extension in extensions() for name, place in extension.commands.items()}


class _Recorder:
    """Records what the command changes in files, so `remit undo` can take it back; rarely needed."""

    def __init__(self, context: click.Context) -> None:
        self._context = context
        self._record: Callable[[FileChange], object] | None = None

    def __call__(self, change: "FileChange") -> None:
        if self._record is None:
            from remit.bootstrap import open_journal

            usual = f"remit {self._context.invoked_subcommand}"
            self._record = open_journal().recorder(self._context.meta.get(CHANGE, usual))
        self._record(change)


def _change_directory(_context: click.Context, _option: click.Parameter, directories: Sequence[str]) -> None:
    for directory in directories:
        try:
            os.chdir(directory)
        except OSError as failure:
            raise click.BadParameter(f"cannot change to `{directory}`: {failure.strerror}") from None


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True
)
@click.option(
    "-C",
    "--project",
    "directory",
    metavar="DIR",
    multiple=True,
    expose_value=False,
    callback=_change_directory,
    help="Run as if started in DIR.",
)
@click.option("--client", metavar="NAME", help="The client that bare `remit` looks at.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.version_option(__version__, message="remit %(version)s")
@click.pass_context
def app(context: click.Context, client: str | None, as_json: bool) -> None:
    """Give every AI agent exactly the tools it should have, and say why."""
    from remit.files import observing

    context.with_resource(observing(_Recorder(context)))
    if context.invoked_subcommand is None:
        from remit.cli.overview import show_overview  # imported on demand, as commands are

        show_overview(client, as_json=as_json)
    elif client is not None or as_json:
        raise click.UsageError("pass --client and --json after the command")


def main() -> NoReturn:
    """Run the command line and exit."""
    _prepare_streams()
    if len(sys.argv) > 1:  # a shell that completes words passes none, but a repository may set the variable
        os.environ.pop(COMPLETES, None)
    try:
        app.main(prog_name="remit", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(0)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as failure:
        if isinstance(failure, click.UsageError) and failure.ctx is not None:
            render.note(failure.ctx.get_usage())
        render.error(RemitError(failure.format_message()))
        sys.exit(FAILURE)
    except RemitError as failure:
        render.error(failure)
        sys.exit(NOTHING_DONE if isinstance(failure, NotFoundError) else FAILURE)
    except OSError as failure:
        render.error(RemitError(f"could not write the output: {failure.strerror}"))
        _drop_output()
        sys.exit(FAILURE)


def _prepare_streams() -> None:
    """Replace closed streams, and escape characters that the encoding lacks."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 - open until exit
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # By line, so what goes to stderr stays in its place where both lead to one file.
            stream.reconfigure(errors="backslashreplace", line_buffering=True)


def _drop_output() -> None:
    """Keep the interpreter from flushing unwritten output again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
