"""`remit status`: running gateways and their servers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from remit.bootstrap import open_registry, read_store_facts
from remit.bootstrap_gateway import open_login, open_status_files
from remit.cli import render
from remit.cli.options import JSON, PROJECT
from remit.cli.output.json_output import store_shape
from remit.cli.output.server_status import server_statuses, sign_in_states, status_notices, status_shape
from remit.text.times import local_time

if TYPE_CHECKING:
    from remit.cli.output.server_status import ServerStatus
    from remit.decision.context import Context
    from remit.registry import Registry
    from remit.sessions.install_notices import InstallNotice

NONE = "No gateway is running.\nhint: run `remit serve`, or start a client that has Remit installed"


@click.command()
@PROJECT
@JSON
def status(*, project: str, as_json: bool) -> None:
    """Show the running gateways and their servers.

    Includes gateways that clients started on stdio. Also reports problems: a client runs here without
    Remit's gateway, Remit's hooks or a server it approved, or loads a server next to Remit; a server cannot
    start or failed last time; the Python that Remit was installed with is gone; tools are held because their
    definitions changed.
    """
    running, store = open_status_files().running(), read_store_facts()
    notices, servers = _findings(project, with_servers=as_json) if store.problem is None else ([], [])
    if as_json:
        render.data({**status_shape(running, servers, notices), "store": store_shape(store)})
    else:
        render.notices(notices)
        _show_all(running)
        render.store(store)
    if store.problem is not None:
        raise store.problem


def _findings(project: str, *, with_servers: bool) -> "tuple[list[InstallNotice], list[ServerStatus]]":
    with open_registry() as registry:
        notices = status_notices(registry, project)
        return notices, _servers(registry, registry.at(project)) if with_servers else []


def _show_all(running: Sequence[Mapping[str, Any]]) -> None:
    if not running:
        render.out(NONE)
    for number, gateway in enumerate(running):
        if number:
            render.out()
        _show(gateway)


def _servers(registry: "Registry", context: "Context") -> "list[ServerStatus]":
    sign_ins = sign_in_states(registry, context, open_login())
    return server_statuses(registry.tools(context), context, sign_ins)


def _show(gateway: Mapping[str, Any]) -> None:
    memory = gateway.get("memory_mb")
    parts = [
        f"gateway {gateway['pid']} on {gateway['url'] or 'stdio'}",
        f"since {local_time(gateway['started_at'])}",
        *([] if memory is None else [f"{memory:g} MB"]),
    ]
    render.out(render.printable(", ".join(parts)))
    endpoints = [_endpoint(each) for each in gateway["endpoints"]]
    if endpoints:
        render.out()
        columns = ("endpoint", "listed", "sessions", "calls", "errors", "p50 ms", "p95 ms")
        render.table("", columns, endpoints, numbers=columns[1:])
    servers = [_server(each) for each in gateway["upstreams"]]
    if servers:
        render.out()
        columns = ("server", "health", "calls", "errors", "p50 ms", "p95 ms", "problem")
        render.table("", columns, servers, numbers=columns[2:6])


def _endpoint(said: Mapping[str, Any]) -> Sequence[str]:
    words = [said["directory"], said["client"], *_named(said, "agent", "room", "strategy", "mode")]
    listed = f"{said['listed_tools']} of {said['available_tools']}"
    return (", ".join(words), listed, str(said["sessions"]), *_counts(said))


def _named(said: Mapping[str, Any], *names: str) -> Iterator[str]:
    for name in names:
        if said.get(name) is not None:
            yield f"{name} {said[name]}"


def _server(said: Mapping[str, Any]) -> Sequence[str]:
    return (said["server"], said["health"], *_counts(said), said["failure"] or "")


def _counts(said: Mapping[str, Any]) -> Iterator[str]:
    for name in ("calls", "errors", "p50_ms", "p95_ms"):
        yield "" if said[name] is None else f"{said[name]:g}"
