"""Why: one tool's gates as a path, the declarations that compete for its name, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from remit.catalog.costs import SentDefinitions
from remit.catalog.explanation import Explanation
from remit.cli.options import explained_name
from remit.cli.output import json_output
from remit.cli.output.explanation_output import facts, permission_lines, source, unknown_reason
from remit.cli.render import WORDS
from remit.decision.decide import Decision
from remit.decision.gate_rules import GateResult
from remit.decision.gates import Gate
from remit.decision.tools import Tool
from remit.sessions.install_notices import InstallNotice
from remit.trust.server_sandbox import Sandbox
from remit.web.page_model import PageAnswer, PageRequest, PageSources, Values


class GateStep(NamedTuple):
    """One gate on the path of a tool."""

    gate: Gate
    result: GateResult
    sign: str  # `passed`, `asks`, `stopped`, or `later`: after the gate that stopped it


class CompetingDeclaration(NamedTuple):
    """One of the declarations of a name."""

    tool: Tool
    place: str
    decision: Decision
    is_winner: bool


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """Explain a name as `remit why` does."""
    if not asked.name:
        return PageAnswer("why.html", dict[str, object], dict[str, object])
    registry, listing = sources.registry, sources.listings.read(asked.options)
    context = listing.context
    explained = explained_name(asked.name, registry, context)
    lines = registry.declaration_lines(explained.declared, context)

    def weaknesses() -> Sequence[InstallNotice]:
        """List why hidden does not mean blocked; this stores what it reads, so live updates leave it out.

        Of no interest on a gateway: its machine is not the one that runs the client.
        """
        if asked.viewer is not None or explained.decision.is_available:
            return []
        return registry.protection.weakened(context)

    def sandbox() -> Sandbox | None:
        """Return the sandbox of a server; a gateway tells no one the paths of its machine."""
        return registry.trust.sandbox(explained.tool, context) if asked.viewer is None else None

    def sent() -> SentDefinitions:
        is_needed = explained.tools and asked.viewer is None
        return registry.sent_definitions(listing.known, context) if is_needed else SentDefinitions.ALL

    def values() -> Values:
        found = explained.tool
        winner = [] if found is None else [(found, explained.decision)]
        return {
            "explained": explained,
            "decision": explained.decision,
            "kind": "" if found is None else WORDS[found.kind],
            "steps": _steps(explained),
            "facts": [*permission_lines(explained), *facts(explained, sent())],
            "unknown": unknown_reason(explained),
            "weaknesses": weaknesses,
            "declarations": [
                CompetingDeclaration(tool, source(tool, context, lines), decision, tool is found)
                for tool, decision in (*winner, *explained.shadowed)
            ],
        }

    return PageAnswer(
        "why.html",
        lambda: json_output.explanation(explained, lines, sandbox()),
        values,
        fragment="why_answer.html",
        status=404 if explained.tool is None else 200,
    )


def _steps(explained: Explanation) -> list[GateStep]:
    stopping = explained.decision.gate if not explained.decision.is_available else None
    steps: list[GateStep] = []
    is_later = False
    for gate, result in explained.gates:
        sign = "later" if is_later else "asks" if result.asks else "passed" if result.passed else "stopped"
        steps.append(GateStep(gate, result, sign))
        is_later = is_later or gate is stopping
    return steps
