"""Writes the reference pages that come from the code: the command line and the configuration."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from click.testing import CliRunner

from remit.cli.app import COMMANDS, app
from remit.config import reference_page
from remit.config.builtin_states import STATES  # a table, not a part of the interface

REFERENCE = Path(__file__).parent / "reference"
GENERATED = "<!-- `make docs` writes this page. -->"

COMMAND_LINE = f"""\
# Command line

{GENERATED}

stdout is data, stderr is talk. Every reading command has `--json` ([shapes](json.md)). All commands have the
same [exit codes](errors.md#exit-codes). `-C DIR` means the directory `DIR` instead of the current one.

Commands that only a person may run (`approve`, `trust`, `enable`, `undo`, `uninstall`, `forget`, `ask --off`,
`memory on`, `memory delete`) refuse where a client marks its shell, and need `--yes` without a terminal.

| variable | meaning |
|---|---|
| `REMIT_HOME` | the directory of Remit's data; default: `~/.local/share/remit` (Linux), \
`~/Library/Application Support/remit` (macOS), `%LOCALAPPDATA%\\remit` (Windows) |
| `REMIT_CONFIG` | your own configuration file; default: `~/.config/remit/remit.toml` |

They count in commands that you type. What `remit install` sets up takes its paths from the install record.
"""

CONFIGURATION = f"""\
# Configuration

{GENERATED}

Remit reads these files. A later one is stronger:

| file | for |
|---|---|
| `~/.config/remit/remit.toml`, or `REMIT_CONFIG` | you, in all projects |
| `remit.toml` in a project, here and in each directory up to its root | everyone in the project |
| `remit.local.toml` next to it | this checkout; it can only narrow, and Remit never writes it |
| `~/.config/remit/projects/NAME.toml` | you, in one project; `remit disable`, `ask` and `enable` write it |
| `/etc/remit/remit.toml` (Linux), `/Library/Application Support/Remit/remit.toml` (macOS), \
`C:\\Program Files\\Remit\\remit.toml` (Windows) | everyone on the machine; an administrator writes it |

Rules add up: no beats ask, and ask beats yes. The last column says what a project's file may do with a key:
set it, only narrow, set it after `remit trust`, or nothing. Unknown keys are errors, and
`remit doctor --rules` checks the files. If a file is invalid, its last valid version stays in force, and the
tools that its readable part names ask before each call.

A pattern names tools in any form: `mcp__git__git_push`, `git__git_push`, `Bash`. `*` stands for any text. A
pattern that covers a server (`mcp__git__*`) covers the server and each of its tools.

"""


def command_line() -> str:
    """Return the page of the command line, from the help of the commands."""
    names = ["remit", *_names("remit", app)]
    return "\n".join([COMMAND_LINE, *(f"## `{name}`\n\n```text\n{_help(name)}\n```\n" for name in names)])


def configuration() -> str:
    """Return the page of the configuration, from its table of keys and the built-in states."""
    states = "\n".join(_builtin(STATES))
    return f"{CONFIGURATION}{reference_page()}\n{states}\n"


def pages() -> dict[Path, str]:
    """Return each generated page by its path."""
    return {REFERENCE / "command-line.md": command_line(), REFERENCE / "configuration.md": configuration()}


def _names(above: str, group: click.Group) -> Iterator[str]:
    names = [name for name, entry in COMMANDS.items() if entry.heading] if group is app else group.commands
    for name in names:
        command = group.get_command(click.Context(group), name)
        if command is None or command.hidden:
            continue
        yield f"{above} {name}"
        if isinstance(command, click.Group):
            yield from _names(f"{above} {name}", command)


def _help(name: str) -> str:
    program, *words = name.split()
    return CliRunner().invoke(app, [*words, "--help"], prog_name=program, terminal_width=78).output.strip()


def _builtin(states: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    yield from ("## Built-in states", "", "| state | meaning |", "|---|---|")
    for name, table in states.items():
        yield f"| `{name}` | {table['description']} |"


if __name__ == "__main__":
    for path, page in pages().items():
        path.write_text(page, encoding="utf-8")
