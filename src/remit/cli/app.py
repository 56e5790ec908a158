"""The command line: registers the commands and turns errors into exit codes."""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

import click

from remit import __version__
from remit.cli import render
from remit.cli.options import FAILURE, INTERRUPTED, NOTHING_DONE
from remit.errors import (
    NotInstalledError,
    RemitError,
    UnknownApprovalError,
    UnknownArtifactError,
    UnknownProjectError,
    UnknownServerError,
    UnknownStateError,
)

COMMANDS = {  # in the order of the reference: location and summary
    "scan": ("scan_commands.scan", "Scan again: what changed, is visible, hidden, and costs."),
    "tools": ("tool_commands.tools", "List the tools in force here, by scope."),
    "clients": ("scan_commands.clients", "List the clients found here, with their files."),
    "why": ("tool_commands.why", "Explain why a tool is available, or is not."),
    "search": ("search_commands.search", "Find tools by what they do."),
    "doctor": ("scan_commands.doctor", "Name each problem with its file and its fix."),
    "states": ("state_commands.list_states", "List the states, their values, and why."),
    "state": ("state_commands.state", "Set, clear and push states."),
    "policy": ("policy_commands.policy", "Manage policy."),
    "approve": ("policy_commands.approve", "Approve or deny pending calls."),
    "serve": ("serve_command.serve", "Serve the tools in force here, as one MCP server."),
    "status": ("status_command.status", "Show the gateways that run, and their servers."),
    "token": ("token_commands.token", "Look after who may reach the gateway."),
    "context": ("tool_commands.session_context", "Print what an agent is told at the start."),
    "memory": ("memory_commands.memory", "Look at project memory, move it, clean it up."),
    "hook": ("usage_commands.hook", "Answer one hook event of Claude Code."),
    "usage": ("usage_commands.usage", "Show what was used here, and what never was."),
    "prune": ("usage_commands.prune", "Propose what to switch off here, and do it when told."),
    "suggest": ("usage_commands.suggest", "Show what would be suggested, and why."),
    "eval": ("eval_command.evaluate", "Measure how good and how fast search is."),
    "names": ("names_commands.names", "Show, and generate, the names of a program's commands."),
    "inspect": ("inspect_command.inspect_definitions", "Find tool definitions that steer the model."),
    "trust": ("trust_command.trust", "Trust servers and states that run something."),
    "install": ("install_commands.install", "Put Remit into a client."),
    "uninstall": ("install_commands.uninstall", "Take Remit out of a client."),
    "add": ("add_command.add", "Add a server to Claude Code."),
    "login": ("login_commands.login", "Sign in to a remote server."),
    "logout": ("login_commands.logout", "Forget that you signed in to a remote server."),
    "forget": ("forget_command.forget", "Erase all that is stored about a project."),
    "completion": ("completion_command.completion", "Print the completion script for a shell."),
}


class _Commands(click.Group):
    """Imports a command on demand: importing all takes longer than running most."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the same for all
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(".")
        return getattr(import_module(f"remit.cli.{module}"), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as failure:
            # The group holds no commands itself, so it would suggest nothing.
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx) from failure

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = [click.Command(name, help=about) for name, (_, about) in COMMANDS.items()]
        click.Group(commands=listed).format_commands(ctx, formatter)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True
)
@click.version_option(__version__, message="remit %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Exactly the tools an AI agent should have: here, now, and why."""
    if context.invoked_subcommand is None:
        render.out(context.get_help())


def main() -> NoReturn:
    """Run the command line and exit."""
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
        render.error(RemitError(f"the output cannot be written: {failure.strerror}"))
        _drop_output()
        sys.exit(FAILURE)


def _prepare_streams() -> None:
    """Replace closed streams, and escape characters that the encoding lacks."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 - open until exit
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Keep the interpreter from flushing unwritable output again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
