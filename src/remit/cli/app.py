"""The command line: registers the commands and turns errors into exit codes."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

import click

from remit import __version__
from remit.cli import render
from remit.cli.options import CHANGE, COMPLETES, FAILURE, INTERRUPTED, NOTHING_DONE
from remit.errors import (
    NotInstalledError,
    RemitError,
    UnknownApprovalError,
    UnknownArtifactError,
    UnknownProjectError,
    UnknownServerError,
    UnknownStateError,
)
from remit.files.safe_changes import ObservedChange, Observer, observing

COMMANDS = {  # in the order of the help and the reference: location and summary
    "scan": ("scan_command.scan", "Read all configuration again, and show what changed."),
    "tools": ("tool_commands.tools", "List the available tools, by server."),
    "why": ("why_command.why", "Explain why a tool is available or hidden."),
    "search": ("search_commands.search", "Find tools by what they do."),
    "usage": ("usage_command.usage", "Show which tools were used here, and which never were."),
    "calls": ("calls.calls_command.calls", "Show what agents called here, newest first."),
    "states": ("state_commands.states", "List the states and their values; set or clear one."),
    "clients": ("clients_command.clients", "List the clients on this machine, with their files."),
    "doctor": ("doctor_command.doctor", "Find problems in the configuration, with fixes."),
    "status": ("status_command.status", "Show the running gateways and their servers."),
    "web": ("remit.web.web_command.web", "Look at tools, approvals, calls and costs in the browser."),
    "init": ("onboarding.init_command.init", "Set up Remit, step by step."),
    "install": ("install_commands.install", "Install Remit in a client."),
    "uninstall": ("install_commands.uninstall", "Remove Remit from a client."),
    "add": ("add_command.add", "Add a server to Claude Code."),
    "enable": ("switch_commands.enable", "Enable tools or servers that were disabled."),
    "disable": ("switch_commands.disable", "Disable tools or servers."),
    "ask": ("switch_commands.ask", "Ask a person before each call of a tool."),
    "prune": ("switch_commands.prune", "Suggest tools to disable, and disable those you choose."),
    "undo": ("switch_commands.undo", "Undo the last change Remit made to your files."),
    "trust": ("trust.trust_command.trust", "Trust servers, states and changed definitions."),
    "policy": ("rules.policy_command.policy", "Manage policy."),
    "login": ("login_commands.login", "Sign in to a remote server."),
    "logout": ("login_commands.logout", "Sign out of a remote server."),
    "completion": ("completion_command.completion", "Set up tab completion."),
    "serve": ("serve_command.serve", "Serve the available tools as one MCP server."),
    "demo": ("onboarding.demo_command.demo", "Show Remit at work, in a temporary directory."),
    "approve": ("approvals.approve_command.approve", "Approve or deny pending calls."),
    "context": ("tool_commands.session_context", "Print what an agent gets at session start."),
    "suggest": ("suggest_command.suggest", "Show which tools Remit would suggest, and why."),
    "memory": ("memory_commands.memory", "View, export and clean up project memory."),
    "lock": ("trust.lock_command.lock", "Write or check the lock of a project's servers."),
    "inspect": ("trust.inspect_command.inspect_definitions", "Find tool definitions that steer the model."),
    "audit": ("calls.calls_command.audit", "Check and export the log of calls."),
    "token": ("token_commands.token", "Manage gateway tokens."),
    "credential": (
        "credentials.credential_commands.credential",
        "Manage the credentials of gateway users for servers.",
    ),
    "team": ("team.team_commands.team", "Manage teams: their projects, servers and rules."),
    "store": ("store.store_commands.store", "Set up, copy, check and prune the store."),
    "names": ("names_commands.names", "Show or generate the tool names of a program's commands."),
    "eval": ("eval_command.evaluate", "Measure how good and how fast search is."),
    "forget": ("forget_command.forget", "Delete everything stored about a project."),
    "state": ("state_commands.state", "Set, clear and push states."),
    "hook": ("hook_command.hook", "Answer one hook event of Claude Code."),
}
GROUPS = {  # headings of the help
    "Look": (
        *("scan", "tools", "why", "search", "usage", "calls"),
        *("states", "clients", "doctor", "status", "web"),
    ),
    "Set up": (
        *("init", "install", "uninstall", "add", "enable", "disable", "ask", "prune", "undo"),
        *("trust", "lock", "policy", "login", "logout", "completion"),
    ),
    "Run": ("serve", "approve", "demo"),
    "Advanced": (
        *("context", "suggest", "memory", "inspect", "audit"),
        *("token", "credential", "team", "store", "names", "eval", "forget"),
    ),
}
HIDDEN = ("hook", "state")  # for programs, and the former name of `states`


class _Commands(click.Group):
    """Imports a command on demand: importing all takes longer than running most."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the same for all
        return sorted(name for name in COMMANDS if name not in HIDDEN)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].rpartition(".")
        # The page is built on the command line, so the command that serves it is in a package above this one.
        return getattr(import_module(module if module.startswith("remit.") else f"remit.cli.{module}"), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as failure:
            # The group holds no commands itself, so it would suggest nothing.
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx) from failure

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))  # the same column in all groups
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name][1]) for name in names])


class _Recorder:
    """Records what the command changes in files, so `remit undo` can undo it; rarely needed."""

    def __init__(self, context: click.Context) -> None:
        self._context = context
        self._record: Observer | None = None

    def __call__(self, change: ObservedChange) -> None:
        if self._record is None:
            from remit.bootstrap import open_journal

            usual = f"remit {self._context.invoked_subcommand}"
            self._record = open_journal().recorder(self._context.meta.get(CHANGE, usual))
        self._record(change)


def _change_directory(
    _context: click.Context, _parameter: click.Parameter, directories: Sequence[str]
) -> None:
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
    "directory",
    metavar="DIR",
    multiple=True,
    expose_value=False,
    callback=_change_directory,
    help="Run as if started in DIR.",
)
@click.version_option(__version__, message="remit %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Give every AI agent exactly the tools it should have, and say why."""
    context.with_resource(observing(_Recorder(context)))
    if context.invoked_subcommand is None:
        from remit.cli.onboarding.dashboard import show_dashboard  # imported on demand, as commands are

        show_dashboard()


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
        failure.show()
        sys.exit(FAILURE)
    except (
        NotInstalledError,
        UnknownApprovalError,
        UnknownArtifactError,
        UnknownProjectError,
        UnknownServerError,
        UnknownStateError,
    ) as failure:
        render.error(failure)
        sys.exit(NOTHING_DONE)
    except RemitError as failure:
        render.error(failure)
        sys.exit(FAILURE)
    except BrokenPipeError:  # the reader closed the pipe
        _drop_output()
        sys.exit(0)
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
    """Keep the interpreter from flushing unwritable output again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
