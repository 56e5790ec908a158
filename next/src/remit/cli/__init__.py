"""The command line, and what pages show as its commands do."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.cli.app import main
    from remit.cli.approve import approval_answer
    from remit.cli.calls import outcome_text
    from remit.cli.doctor.diagnosis import diagnose
    from remit.cli.doctor.findings import Finding, read_setups
    from remit.cli.options import Here, is_agents, with_here
    from remit.cli.overview import (
        KIND_WORDS,
        Overview,
        cost_lines,
        name_of,
        next_step,
        offered_line,
        overview_answer,
        place,
        read_overview,
    )
    from remit.cli.render import Line, note, out, printable
    from remit.cli.tools import CAUSES
    from remit.cli.trust import (
        Candidates,
        definition_lines,
        find_candidates,
        label_of,
        request_lines,
        server_lines,
        trust_answer,
    )
    from remit.cli.why import allow_step, elsewhere_lines, explain, find_obstacle, lines_of, source, why_lines

_MODULES = {
    "app": "main",
    "approve": "approval_answer",
    "calls": "outcome_text",
    "doctor.diagnosis": "diagnose",
    "doctor.findings": "Finding read_setups",
    "options": "Here is_agents with_here",
    "overview": "KIND_WORDS Overview cost_lines name_of next_step offered_line"
    " overview_answer place read_overview",
    "render": "Line note out printable",
    "tools": "CAUSES",
    "trust": "Candidates definition_lines find_candidates label_of request_lines server_lines trust_answer",
    "why": "allow_step elsewhere_lines explain find_obstacle lines_of source why_lines",
}
_HOMES = {name: f"remit.cli.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.cli` has no attribute `{name}`")
