"""`remit usage`: shows which tools were used, and which never were."""

from collections.abc import Sequence

import click

from remit.bootstrap import open_registry
from remit.catalog.costs import SentDefinitions
from remit.cli import render
from remit.cli.options import WorkspaceOptions, for_a_workspace
from remit.cli.output.json_output import Shape, asked_for
from remit.decision.context import Context
from remit.presentation.request_cost import RequestCost
from remit.text.times import moment
from remit.usage.reports import ProjectUse, SessionUse, ToolUse, UsageReport

_WIDTH = 16  # columns of the longest bar
_UNUSED = 10  # unused tools in the text output
_SESSIONS = 5
_ID = 8  # characters of a session's id in the text output
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command()
@for_a_workspace
@click.option("--projects", "by_project", is_flag=True, help="List all your projects, without naming tools.")
def usage(*, options: WorkspaceOptions, by_project: bool, as_json: bool) -> None:
    """Show which tools were used here, and which never were.

    Costs are the tokens that the definitions of visible tools take in each request.
    """
    with open_registry() as registry:
        context = options.context(registry)
        projects = registry.usage.by_project() if by_project else ()
        found = None if by_project else registry.usage.report(context)
        sent = registry.sent_definitions(registry.tools(context), context)
        request = registry.sessions.request_cost(context)
        problems = registry.problems(context)
    render.problems(problems, context)
    if found is None:
        _show_projects(projects, as_json=as_json)
    elif as_json:
        render.data(usage_shape(found, request, context))
    else:
        _show_usage(found, context, sent=sent)


def _show_usage(found: UsageReport, context: Context, *, sent: SentDefinitions) -> None:
    render.out(render.heading(context))
    render.out()
    if found.used:
        most = found.used[0].uses
        rows = [_used_cells(each, most) for each in found.used]
        columns = ("tool", "kind", "tokens", "uses", "failed", "last used", "")
        render.table("used", columns, rows, numbers=("tokens", "uses", "failed"))
    else:
        render.out("No usage recorded yet.")
    if found.sessions:
        render.out()
        columns = ("session", "began", "ended", "calls", "failed", "tools")
        rows = [_session_cells(each) for each in found.sessions[:_SESSIONS]]
        all_of_them = f" of {len(found.sessions):,}" if len(found.sessions) > _SESSIONS else ""
        render.out(f"last {len(rows)}{all_of_them} sessions (`--json` has whole ids)")
        render.table("", columns, rows, numbers=columns[3:])
    if found.unused:
        render.out()
        columns = ("tool", "kind", "tokens")
        rows = [_unused_cells(each) for each in found.unused[:_UNUSED]]
        when = "in each request" if sent is SentDefinitions.ALL else "if they were sent"
        title = f"never used here: {len(found.unused)}, about {found.unused_tokens:,} tokens {when}"
        render.out(title)
        render.table("", columns, rows, numbers=("tokens",))
        if len(found.unused) > _UNUSED:
            render.out(f"  and {len(found.unused) - _UNUSED} more; `--json` lists them all")


def _show_projects(projects: Sequence[ProjectUse], *, as_json: bool) -> None:
    if as_json:
        render.data(
            {"projects": [{**each._asdict(), "last_used_at": moment(each.last_used_at)} for each in projects]}
        )
        return
    most = max((each.uses for each in projects), default=0)
    columns = ("project", "uses", "failed", "tools", "sessions", "last used", "")
    rows = [
        (
            each.path,
            f"{each.uses:,}",
            f"{each.failures:,}",
            str(each.tools),
            str(each.sessions),
            _day(each.last_used_at),
            chart(each.uses, most),
        )
        for each in projects
    ]
    render.table("", columns, rows, numbers=("uses", "failed", "tools", "sessions"))


def _used_cells(each: ToolUse, most: int) -> tuple[str, ...]:
    failed = f"{100 * each.failures / each.uses:.0f} %" if each.failures else ""
    return (
        each.tool.name,
        render.WORDS[each.tool.kind],
        _tokens(each),
        f"{each.uses:,}",
        failed,
        _day(each.last_used_at),
        chart(each.uses, most),
    )


def _unused_cells(each: ToolUse) -> tuple[str, ...]:
    return each.tool.name, render.WORDS[each.tool.kind], _tokens(each)


def _tokens(each: ToolUse) -> str:
    return "" if each.tool.tokens is None else f"{each.tool.tokens:,}"


def _session_cells(each: SessionUse) -> tuple[str, ...]:
    times = (_minute(each.started_at), _minute(each.ended_at))
    return each.session_id[:_ID], *times, str(each.calls), str(each.failures), str(each.tools)


def chart(count: int, most: int) -> str:
    """Draw a bar in eighths of a column; `most` gets the full width."""
    eighths = max(1, round(8 * _WIDTH * count / most)) if count and most else 0
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def usage_shape(found: UsageReport, request: RequestCost, context: Context) -> Shape:
    """Return the JSON of `remit usage`."""
    return {
        **asked_for(context),
        "request_tokens": {
            "without_remit": request.direct,
            "with_remit": request.served,
            "all_definitions": request.definitions,
            "client_searches": request.names is not None,
        },
        "used": [_tool_use(each) for each in found.used],
        "unused": [_tool_use(each) for each in found.unused],
        "unused_tokens": found.unused_tokens,
        "sessions": [
            {
                **each._asdict(),
                "started_at": moment(each.started_at),
                "ended_at": None if each.ended_at is None else moment(each.ended_at),
            }
            for each in found.sessions
        ],
    }


def _tool_use(each: ToolUse) -> Shape:
    tool = each.tool
    return {
        "name": tool.name,
        "kind": tool.kind,
        "server": tool.server,
        "scope": tool.scope,
        "status": tool.status,
        "tokens": tool.tokens,
        "uses": each.uses,
        "failures": each.failures,
        "last_used_at": None if each.last_used_at is None else moment(each.last_used_at),
        "mean_ms": None if each.mean_ms is None else round(each.mean_ms),
    }


def _day(at: int | None) -> str:
    return "" if at is None else moment(at)[:10]


def _minute(at: int | None) -> str:
    return "" if at is None else moment(at)[:16].replace("T", " ")
