"""The command `remit`: puts the commands together, and turns failures into exit codes."""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

import click
from click.shell_completion import get_completion_class

from remit import __version__
from remit.apps.cli import render
from remit.apps.cli.options import FAILURE, INTERRUPTED, NOTHING_DONE
from remit.errors import (
    NotInstalledError,
    RemitError,
    UnknownApprovalError,
    UnknownArtifactError,
    UnknownProjectError,
    UnknownServerError,
    UnknownStateError,
)

COMMANDS = {  # in the order of the reference: the module of each, and what it is called there
    "scan": "scanning.scan",
    "tools": "listing.tools",
    "clients": "scanning.clients",
    "why": "listing.why",
    "search": "searching.search",
    "doctor": "scanning.doctor",
    "states": "states.list_states",
    "state": "states.state",
    "policy": "policies.policy",
    "approve": "policies.approve",
    "serve": "serving.serve",
    "status": "gateways.status",
    "token": "tokens.token",
    "context": "listing.session_context",
    "memory": "memory.memory",
    "hook": "sessions.hook",
    "usage": "sessions.usage",
    "prune": "sessions.prune",
    "suggest": "sessions.suggest",
    "eval": "evaluation.evaluate",
    "names": "names.names",
    "trust": "trusting.trust",
    "install": "installing.install",
    "uninstall": "installing.uninstall",
    "add": "adding.add",
    "login": "signing_in.login",
    "logout": "signing_in.logout",
    "forget": "projects.forget",
    "completion": "main.completion",
}


class _Commands(click.Group):
    """Loads a command when it is asked for: to load them all takes longer than most of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the same for all
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(".")
        return getattr(import_module(f"remit.apps.cli.{module}"), name)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True
)
@click.version_option(__version__, message="remit %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Exactly the tools an AI agent should have: here, now, and why."""
    if context.invoked_subcommand is None:
        render.out(context.get_help())


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    script = get_completion_class(shell)
    if script is not None:
        render.out(script(app, {}, "remit", "_REMIT_COMPLETE").source())


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
