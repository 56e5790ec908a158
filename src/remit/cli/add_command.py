"""`remit add`: adds a server to Claude Code, which accepts none itself after an install."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import click

from remit.decision.tool_names import normalise
from remit.errors import InstallError

_CLAUDE = "claude"
_HELP = (["--help"], ["-h"])


class _Verbatim(click.Command):
    """Passes all arguments on unparsed: what follows `--` is a server's command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args in _HELP:
            return super().parse_args(ctx, ["--help"])
        ctx.params["words"] = tuple(args)
        return []


@click.command(cls=_Verbatim, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="NAME COMMAND_OR_URL [ARGS]...")
def add(words: Sequence[str]) -> None:
    """Add a server to Claude Code.

    Takes the arguments of `claude mcp add`, or of `claude mcp add-json` if the last one is JSON, and runs
    that command: `remit add wiki -- npx wiki@1.0.0`. After `remit install`, Claude Code adds only servers on
    its list of allowed servers; this allows the new one for one run.
    """
    program = shutil.which(_CLAUDE)
    if program is None:
        raise InstallError(
            f"`{_CLAUDE}` is not on PATH", hint="add the entry to its file yourself; Remit reads it there"
        )
    way = "add-json" if _is_json(words) else "add"
    command = [program, "--settings", json.dumps(leave_for(words)), "mcp", way, *words]
    done = subprocess.run(command)  # noqa: S603 - the user's own command
    if done.returncode == 0 and "project" in words:
        sys.stderr.write("hint: approve it when the client next starts here, then run `remit trust`\n")
    if done.returncode == 0:
        sys.stderr.write("hint: `claude mcp remove NAME` takes this back; `remit undo` does not\n")
    sys.exit(done.returncode)


def leave_for(words: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return settings that allow, for one run, whatever server the words declare.

    Next to Remit's own command in the list, the client admits a process by its command alone. Which word the
    command begins with is the client's to parse, so every rest of the line is allowed.
    """
    names = [word for word in dict.fromkeys(words) if word == normalise(word) and not word.startswith("-")]
    commands = [_declared_command(words[-1])] if _is_json(words) else _rests(words)
    return {
        "allowedMcpServers": [
            *({"serverName": name} for name in names),
            *({"serverCommand": command} for command in commands if command),
        ]
    }


def _is_json(words: Sequence[str]) -> bool:
    return words[-1].lstrip().startswith("{")


def _rests(words: Sequence[str]) -> list[list[str]]:
    at = words.index("--") + 1 if "--" in words else 0
    return [list(words[at:])] if at else [list(words[start:]) for start in range(len(words))]


def _declared_command(text: str) -> list[str]:
    try:
        entry = json.loads(text)
        return [str(entry["command"]), *map(str, entry.get("args", ()))]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []  # the client says what is wrong with it
