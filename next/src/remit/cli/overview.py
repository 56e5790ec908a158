"""Bare `remit`: what agents have here, what it costs, what waits, and the next command, on one screen."""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.bootstrap import clock, old_store, open_registry
from remit.catalog import ALL_CLIENTS, DEFAULT_CLIENT, group_tools, summarize
from remit.cli import render
from remit.cli.options import NOTHING_DONE, Here
from remit.decision import (
    REMIT,
    Context,
    Declaration,
    Face,
    Gate,
    Kind,
    Status,
    Tool,
    ToolDecision,
    client_title,
    is_at_or_below,
    offered_alone,
    shorten,
)
from remit.text import plural, rounded

if TYPE_CHECKING:
    from remit.catalog import ListedGroup, Registry, RequestCost
    from remit.cli.render import Line, Shape

KIND_WORDS: Mapping[Kind, str] = {
    Kind.MCP_SERVER: "server",
    Kind.SLASH_COMMAND: "command",
    Kind.SKILL: "skill",
    Kind.PLUGIN: "plugin",
    Kind.SUBAGENT: "subagent",
    Kind.MCP_TOOL: "tool",
    Kind.BUILTIN: "built-in",
}
FIRST_LOOK_SECONDS = 20.0  # in which servers that were never asked may answer
LONGEST_SECONDS = 60.0  # in which one may answer that a person asks for: `npx` may fetch it first
WORTH_SAVING = 300  # tokens per request; fewer are no reason to install anything
_MOST_NAMED = 3  # servers in a sentence
_MOST_SERVERS = 12
_LABEL = 10  # columns


class FoundClient(NamedTuple):
    """A client on this machine."""

    name: str
    servers: int  # that its files declare for this workspace
    is_installed: bool  # Remit is installed in it

    @property
    def title(self) -> str:
        """Its display name."""
        return client_title(self.name)


class Overview(NamedTuple):
    """What there is in a workspace, for the client that matters most there."""

    context: Context
    clients: Sequence[FoundClient]
    servers: "Sequence[ListedGroup]"  # available ones
    visible: Mapping[Kind, int]
    hidden: int
    cost: "RequestCost"
    offered: Sequence[ToolDecision]  # by the client, although Remit hides it
    unlisted: Sequence[str]  # available servers whose tools are unknown
    failed: Sequence[str]  # available servers that could not be listed
    pending: Sequence[str]  # servers that need approval in the client
    untrusted: Sequence[str]
    unaccepted: Sequence[str]  # tools whose definition waits for a person
    invalid: Sequence[str]  # Remit's own files that have errors
    problems: int
    approvals: int

    @property
    def is_installed(self) -> bool:
        """Whether Remit is in the client."""
        return self.context.face is not Face.CLIENT


class NextStep(NamedTuple):
    """The command to run next, and what it is for."""

    command: str
    purpose: str


def show_overview(client: str | None, *, as_json: bool) -> None:
    """Print what there is in the working directory."""
    old = old_store()
    with open_registry() as registry:
        here = Here(client=client)
        if not as_json and sys.stdout.isatty() and sys.stderr.isatty():
            first_look(registry, here)
        overview = read_overview(registry, here)
        problems = registry.problems(overview.context)
    if as_json:
        render.data(overview_answer(overview))
    else:
        render.problems(problems, lambda path: shorten(path, overview.context))
        render.out(overview_lines(overview))
        if old is not None:
            render.note(old)
    if not (overview.visible or overview.hidden):
        sys.exit(NOTHING_DONE)


def first_look(registry: "Registry", here: Here) -> None:
    """Ask the servers that were never asked and that are the user's own or trusted; keep the answers."""
    context = here.context(registry)
    new = [
        tool.server
        for tool, decision in registry.tools(context)
        if is_startable(tool) and decision.is_available and tool.server
        if tool.listed_at is None and tool.failure is None and tool.is_trusted is not False
    ]
    if new:
        ask_servers(registry, context, new, FIRST_LOOK_SECONDS)


def ask_servers(
    registry: "Registry", context: Context, labels: Sequence[str], deadline: float = LONGEST_SECONDS
) -> None:
    """Ask servers for their tools, side by side, with a bar; say which did not answer."""
    from remit.bootstrap import open_inspector, open_upstreams
    from remit.upstream import refresh  # few commands start servers

    with render.bar("asking servers", len(labels)) as step:
        listings = refresh(
            registry,
            context,
            labels,
            lambda listing: step(listing.tool.server or ""),
            launcher=open_upstreams(),
            inspector=open_inspector(),
            deadline=deadline,
        )
    for listing in listings:
        if listing.failure is not None:
            render.note(f"warning: `{listing.tool.server}`: {listing.failure}")
            if listing.offer is None and listing.decision.unlock is not None:
                render.note(f"hint: {listing.decision.unlock}")


def keep_own_lists(registry: "Registry", context: Context) -> None:
    """Store the tools of Remit's own servers, which are known without asking."""
    new = [
        tool
        for tool, decision in registry.tools(context)
        if tool.kind is Kind.MCP_SERVER and tool.source == REMIT
        if tool.listed_at is None and decision.is_available
    ]
    if not new:
        return
    from remit.memory import offer  # loads pydantic, which takes 120 ms
    from remit.trust import PreparedList

    catalog, store = registry.catalog(context), registry.store
    for tool in new:
        prepared = PreparedList(catalog.declarations[tool.key].declaration, offer())
        prepared.inspect(store.listings.known(prepared.declaration, prepared.digests, context.workspace))
        prepared.keep(store, context.workspace, clock())


def is_startable(tool: Tool) -> bool:
    """Return whether a row is a server of the client, which Remit could start; no gateway of Remit is."""
    is_own = tool.source == REMIT or tool.status in (Status.ITSELF, Status.NESTED)
    return tool.kind is Kind.MCP_SERVER and not is_own and tool.agent is None


def read_overview(registry: "Registry", here: Here) -> Overview:
    """Collect the facts; start nothing."""
    context = here.context(registry)
    keep_own_lists(registry, context)
    listed = registry.tools(context)
    catalog = registry.catalog(context)
    summary = summarize(listed, context)
    cost = registry.request_cost(context, first_texts(registry, context))
    groups = group_tools(
        [item for item in listed if context.client in (None, item.tool.client)], costs=cost.by_server
    )
    servers = [
        tool
        for tool, decision in listed
        if decision.is_available and is_startable(tool) and tool.listed_at is None
    ]
    untrusted = [tool for tool in servers if tool.is_trusted is False]  # the client alone starts them
    hidden = {group.cause: group.items for group in summary.hidden}
    return Overview(
        context=context,
        clients=_clients(registry, here, context),
        servers=[group for group in groups.servers if group.is_available],
        visible=summary.visible,
        hidden=summary.hidden_count,
        cost=cost,
        offered=still_offered(listed, catalog.context),
        unlisted=[name_of(tool) for tool in servers if tool.failure is None and tool not in untrusted],
        failed=[name_of(tool) for tool in servers if tool.failure is not None and tool not in untrusted],
        pending=[name_of(item.tool) for item in hidden.get("pending", ())],
        untrusted=[
            name_of(tool) for tool in (*(item.tool for item in hidden.get("untrusted", ())), *untrusted)
        ],
        unaccepted=[name_of(item.tool) for item in hidden.get(Gate.DEFINITION, ())],
        invalid=catalog.configuration.invalid,
        problems=len(registry.problems(context)),
        approvals=len(registry.approvals.waiting(context)),
    )


def _clients(registry: "Registry", here: Here, context: Context) -> list[FoundClient]:
    """List the clients on this machine, the one that the figures are about first."""
    from remit.bootstrap import installed_clients
    from remit.clients import CLIENTS, is_on_machine
    from remit.files import this_machine

    machine = this_machine()
    everywhere = registry.at(here.directory, ALL_CLIENTS)
    registry.clients.refresh(everywhere)
    servers = Counter(
        row.tool.client
        for row in registry.store.catalog.rows(everywhere)
        if is_startable(row.tool) and row.tool.is_declared and row.tool.status not in ("stale", "itself")
    )
    names = [name for name in CLIENTS if is_on_machine(name, machine)]
    installed = installed_clients()
    found = [FoundClient(name, servers[name], name in installed) for name in names]
    return sorted(found, key=lambda client: (client.name != context.client, -client.servers))


def still_offered(listed: Sequence[ToolDecision], context: Context) -> list[ToolDecision]:
    """Select what only Remit's rules hide, if the client runs without Remit and so still offers it."""
    if context.face is not Face.CLIENT or not context.workspace.has_files:
        return []
    hidden = [
        item
        for item in listed
        if not item.decision.is_available and context.client in (None, item.tool.client)
    ]
    return offered_alone(hidden, context) if hidden else []


def offered_line(offered: Sequence[ToolDecision], context: Context) -> str:
    """Say that a client without Remit still offers what Remit hides."""
    client = context.client or DEFAULT_CLIENT
    kinds = Counter(item.tool.kind for item in offered)
    title, command = client_title(client), f"remit install {client}"
    return f"{title} still offers {counted(kinds)} that Remit's rules hide, until you run `{command}`"


def first_texts(registry: "Registry", context: Context) -> list[str]:
    """Return what Remit says at the start of a session besides its instructions."""
    from remit.hooks import session_text

    return [session_text(registry, context, clock)]


def cost_lines(cost: "RequestCost", context: Context) -> "Iterator[Line]":
    """Say what tools cost in a first request, without Remit and with it."""
    title = client_title(context.client) if context.client else "the client"
    alone, remit = rounded(cost.alone), rounded(cost.with_remit)
    if cost.alone or cost.is_served:
        sent = " (names only; it searches the definitions)" if cost.searches else ""
        if cost.is_served:
            yield f"tokens per request: about {remit:,} with Remit; {title} alone: about {alone:,}{sent}"
        else:
            yield f"tokens per request: {title} sends about {alone:,}{sent}; with Remit: about {remit:,}"
        if remit > alone:
            yield f"  Remit costs about {remit - alone:,} more here: {_why_more(cost)}"
    if unknown := [server.label for server in cost.unknown]:
        yield f"  not counted, because their tools are not known: {quoted(unknown)}"


def _why_more(cost: "RequestCost") -> str:
    if cost.searches:
        return "the client sends names only, and Remit sends whole definitions"
    return "there are too few tools to save on"


def saving(cost: "RequestCost") -> int:
    """Return the difference of the two figures that people see."""
    return rounded(cost.alone) - rounded(cost.with_remit)


def next_step(overview: Overview) -> NextStep:
    """Choose the one best next step."""
    if overview.invalid or overview.problems:
        return NextStep("remit doctor", "see the mistakes in your files, and the fixes")
    if not (overview.visible or overview.hidden):
        return NextStep("remit demo", "see Remit at work, in a temporary directory")
    if overview.approvals:
        return NextStep("remit approve", "approve or deny the pending calls")
    if overview.unaccepted:
        return NextStep("remit trust", "read what changed in these tools, and decide")
    if overview.unlisted:
        return NextStep("remit tools --refresh", "ask the servers for their tools")
    if overview.failed:
        return NextStep("remit doctor", "see why servers do not start, and the fix")
    if overview.untrusted:
        return NextStep("remit trust", "read what these servers run, and decide")
    if not overview.is_installed:
        return NextStep("remit init", _purpose(overview))
    return NextStep("remit tools", "see every tool that is available here")


def _purpose(overview: Overview) -> str:
    install = f"install Remit in {client_title(overview.context.client or DEFAULT_CLIENT)}"
    if overview.offered:
        return f"{install}, which still offers what your rules hide"
    if (saved := saving(overview.cost)) >= WORTH_SAVING:
        return f"save about {saved:,} tokens per request: {install}"
    return f"{install}, so your rules and approvals count there"


def overview_lines(overview: Overview) -> "Iterator[Line]":
    """Write the overview: at most a screen."""
    yield heading(overview.context)
    yield ""
    rows: list[tuple[str, Iterable[str]]] = [
        ("Clients", [", ".join(map(_client_text, overview.clients)) or "none found"]),
        ("Tools", _tool_lines(overview)),
        ("Cost", [str(line).strip() for line in cost_lines(overview.cost, overview.context)] or ["none"]),
        ("Waiting", [*_waiting(overview)] or ["nothing"]),
    ]
    for label, texts in rows:
        for text in texts:
            yield ((label.ljust(_LABEL), "title"), (text, ""))
            label = ""
    step = next_step(overview)
    yield ""
    yield (("Next".ljust(_LABEL), "title"), (step.command, "title"))
    yield ((" " * _LABEL, ""), (step.purpose, "dim"))


def _client_text(client: FoundClient) -> str:
    installed = ", with Remit" if client.is_installed else ""
    return f"{client.title} ({plural(client.servers, 'server')}{installed})"


def _tool_lines(overview: Overview) -> Iterator[str]:
    hidden = f", {overview.hidden:,} hidden" if overview.hidden else ""
    yield f"{counted(overview.visible)}{hidden}" if overview.visible else f"none available{hidden}"
    known = [f"{group.label} {group.visible:,}" for group in overview.servers if group.is_known]
    if known:
        more = f" and {len(known) - _MOST_SERVERS:,} more" if len(known) > _MOST_SERVERS else ""
        yield f"by server: {', '.join(known[:_MOST_SERVERS])}{more}"
    if overview.offered:
        yield offered_line(overview.offered, overview.context)


def _waiting(overview: Overview) -> Iterator[str]:
    """Name each thing that waits for a person, with the command."""
    for path in overview.invalid:
        yield f"{shorten(path, overview.context)} is invalid: remit doctor"
    if overview.approvals:
        verb = "needs" if overview.approvals == 1 else "need"
        yield f"{plural(overview.approvals, 'call')} {verb} approval: remit approve"
    if overview.unaccepted:
        yield f"changed or suspicious: {quoted(overview.unaccepted)}: remit trust"
    if overview.pending:
        title = client_title(overview.context.client or DEFAULT_CLIENT)
        yield f"approval needed in {title}: {quoted(overview.pending)}"
    if overview.untrusted:
        yield f"not trusted: {quoted(overview.untrusted)}: remit trust"
    if overview.unlisted:
        yield f"not asked yet: {quoted(overview.unlisted)}: remit tools --refresh"
    if overview.failed:
        yield f"did not start: {quoted(overview.failed)}: remit doctor"
    if overview.problems and not overview.invalid:
        yield f"{plural(overview.problems, 'problem')} in files: remit doctor"


def overview_answer(overview: Overview) -> "Shape":
    """Return the overview as JSON."""
    from remit.cli.answers import asked_for, request_tokens

    step = next_step(overview)
    return {
        **asked_for(overview.context),
        "clients": [client._asdict() for client in overview.clients],
        "visible": {kind: overview.visible.get(kind, 0) for kind in Kind},
        "hidden": overview.hidden,
        "request_tokens": request_tokens(overview.cost),
        "waiting": {
            name: [*getattr(overview, name)]
            for name in ("unlisted", "failed", "pending", "untrusted", "unaccepted", "invalid")
        }
        | {"approvals": overview.approvals, "problems": overview.problems},
        "next": step._asdict(),
    }


def heading(context: Context) -> "Line":
    """Name the directory and the client."""
    client = client_title(context.client) if context.client else "all clients"
    return ((place(context), "title"), (f" ({client})", "dim"))


def place(context: Context) -> str:
    """Return the directory of a context, relative to the home directory where it can be."""
    path, home = context.workspace.dir, context.home.rstrip(os.sep)
    return f"~{path.removeprefix(home)}" if home and is_at_or_below(path, home) else path


def name_of(tool: Tool | Declaration) -> str:
    """Return the name that a person types: of a server, the one in its file."""
    return tool.server if tool.kind is Kind.MCP_SERVER and tool.server is not None else tool.name


def counted(counts: Mapping[Kind, int]) -> str:
    """Write counts by kind."""
    words = [plural(count, KIND_WORDS[kind]) for kind, count in counts.items()]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:]))) or "nothing"


def quoted(names: Sequence[str]) -> str:
    """Name servers or tools in a sentence: the first few, and the number of the others."""
    shown = [f"`{name}`" for name in names[:_MOST_NAMED]]
    shown += [f"{len(names) - _MOST_NAMED:,} more"] if len(names) > _MOST_NAMED else []
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def nothing_available(invalid: Sequence[str], context: Context) -> "Iterator[Line]":
    """Say that no tool is available, and what to do about it."""
    yield "No tools are available here."
    if invalid:
        files = " and ".join(shorten(path, context) for path in invalid)
        yield f"hint: fix {files}; `remit doctor` shows how"
    else:
        client = "" if context.client is None else f" --client {shlex.quote(context.client)}"
        yield f"hint: `remit tools --all{client}` shows what is hidden"
