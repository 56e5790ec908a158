"""Whether Claude Code searches tools by itself, and so sends their names instead of their definitions."""

from remit.clients.claude.claude_entries import NAME
from remit.clients.claude_code import settings_path
from remit.clients.parsing.client_reader import FILE_LIMIT
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text
from remit.files.formats import parse_json

_SWITCH = "ENABLE_TOOL_SEARCH"
_ON = frozenset({"", "true", "1", "yes", "on", "force"})  # `auto` sends all definitions that fit a limit


def searches_itself(client: str | None, machine: Machine) -> bool:
    """Tell whether a client's own tool search is on: Claude Code's is, unless a variable turns it off.

    The client gives its servers and hooks the variables of its settings, so only commands that a person types
    need the user's file.
    """
    if client != NAME:
        return False
    value = _in_settings(machine).get(_SWITCH) or machine.variables.get(_SWITCH, "")
    return value.strip().lower() in _ON


def _in_settings(machine: Machine) -> dict[str, str]:
    try:
        text = read_text(settings_path(machine), limit=FILE_LIMIT, within=ANYWHERE)
        return {} if text is None else EntryFields(parse_json(text)).pairs("env")
    except (FileError, EntryError):
        return {}
