"""Answers the hooks of Claude Code, and says what a session is told and what a project uses."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.hooks.main import Hook, Parts, respond, run
    from remit.hooks.notices import Installed, Notice, NoticeKind, find_notices, notices_section, weakened
    from remit.hooks.session import installed
    from remit.hooks.session_context import session_text
    from remit.hooks.usage import (
        Familiarity,
        PruneProposal,
        ToolUse,
        UsageReport,
        familiarity,
        proposals,
        report,
    )

_MODULES = {
    "main": "Hook Parts respond run",
    "notices": "Installed Notice NoticeKind find_notices notices_section weakened",
    "session": "installed",
    "session_context": "session_text",
    "usage": "Familiarity PruneProposal ToolUse UsageReport familiarity proposals report",
}
_HOMES = {name: f"remit.hooks.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.hooks` has no attribute `{name}`")
