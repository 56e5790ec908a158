"""Servers: health, restarts, latency, last error and sign-in state of each, and what it wrote last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remit.cli.output.json_output import Shape, store_shape
from remit.cli.output.server_status import (
    ServerStatus,
    server_statuses,
    sign_in_states,
    status_notices,
    status_shape,
)
from remit.decision.context import Context, shorten
from remit.decision.scopes import is_at_or_below
from remit.web.page_model import PageAnswer, PageRequest, PageSources, Values, paged

SERVERS = 60  # on a page


class RunningServer(NamedTuple):
    """A server in a running gateway."""

    pid: int
    status: Mapping[str, Any]


class ServerRow(NamedTuple):
    """A declared server, with the gateways of this project that have it."""

    status: ServerStatus
    origin: str
    running: Sequence[RunningServer]


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """Show the servers as `remit status` does."""
    registry, listing = sources.registry, sources.listings.read(asked.options)
    context = listing.context
    gateways = sources.status_files.running()
    servers = server_statuses(listing.known, context, sign_in_states(registry, context, sources.login))

    def values() -> Values:
        running = list(_running(gateways, context))
        rows = [
            ServerRow(
                each,
                shorten(each.group.first.source, context),
                [one for one in running if one.status["server"] == each.group.label],
            )
            for each in servers
        ]
        return {
            "page": paged(rows, asked.number("page"), SERVERS),
            "gateways": [each for each in gateways if _is_here(each, context)],
            # These store what they read, so live updates leave them out.
            "install_notices": lambda: status_notices(registry, asked.options.project),
        }

    def shape() -> Shape:
        notices = status_notices(registry, asked.options.project)
        return {
            **status_shape(gateways, servers, notices),
            "store": store_shape(sources.openers.store_facts()),
        }

    return PageAnswer("servers.html", shape, values, fragment="servers_answer.html")


def _running(gateways: Sequence[Mapping[str, Any]], context: Context) -> Iterator[RunningServer]:
    for gateway in gateways:
        if _is_here(gateway, context):
            for status in gateway["upstreams"]:
                yield RunningServer(gateway["pid"], status)


def _is_here(gateway: Mapping[str, Any], context: Context) -> bool:
    """Whether a gateway serves this project: others must not show here."""
    root = context.workspace.project.path
    return any(is_at_or_below(endpoint["directory"], root) for endpoint in gateway["endpoints"])
