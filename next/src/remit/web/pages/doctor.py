"""Doctor: problems in configuration with their fixes, and the servers, with the gateways that run."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from remit.bootstrap import running_gateways
from remit.cli import Finding, answers, diagnose, read_setups
from remit.config import unmatched
from remit.decision import Context, is_at_or_below, shorten
from remit.web.listing import Listing, Source
from remit.web.page import Answer, Request, Values, paged

_SERVERS = 60  # on a page


class FileFindings(NamedTuple):
    """What was found in a file."""

    place: str
    findings: Sequence[Finding]


def read(source: Source, request: Request) -> Answer:
    """Diagnose as `remit doctor` does."""
    listing = source.listing(request.here)
    context = listing.context
    gateways = [gateway for gateway in running_gateways() if _is_here(gateway, context)]
    servers = answers.servers(listing.known, context)

    def values() -> Values:
        findings = _findings(source, listing)
        groups = groupby(findings, key=lambda finding: finding.source)
        running = {status["server"]: status for gateway in gateways for status in gateway["upstreams"]}
        return {
            "files": [FileFindings(shorten(path, context), [*group]) for path, group in groups],
            "counts": {
                word: sum(item.severity == word for item in findings) for word in ("error", "warning", "note")
            },
            "gateways": gateways,
            "running": running,
            "page": paged(servers, request.number("page"), _SERVERS),
            "places": {server["source"]: shorten(server["source"], context) for server in servers},
        }

    def shape() -> answers.Shape:
        diagnosis = answers.diagnosis(_findings(source, listing), context)
        return {**diagnosis, "gateways": gateways, "servers": servers}

    return Answer("doctor.html", shape, values, part="part")


def _findings(source: Source, listing: Listing) -> list[Finding]:
    registry, context = source.registry, listing.context
    idle = unmatched(listing.catalog.configuration, listing.catalog.tools)
    return diagnose(read_setups(registry, context), registry.config.problems(context.workspace), idle)


def _is_here(gateway: Mapping[str, Any], context: Context) -> bool:
    """Return whether a gateway serves this project: others must not show here."""
    root = context.workspace.project.path
    return any(is_at_or_below(endpoint["directory"], root) for endpoint in gateway["endpoints"])
