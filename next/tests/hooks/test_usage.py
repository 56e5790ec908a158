"""What a project uses, and what to switch off."""

from remit.decision import Decision, Kind, Scope, Tool, ToolDecision, Verdict
from remit.hooks import PruneProposal, UsageReport, familiarity, proposals, report
from remit.hooks.usage import ENOUGH_SESSIONS, PATIENCE, make_report, weigh, with_servers
from remit.store import HourlyUse, SessionUse, Total
from support.builders import CLIENT, server, tool
from support.hooks import USER, Client

DAY = 86_400_000
SHOWN, HIDDEN = Decision(Verdict.VISIBLE, None, "x"), Decision(Verdict.HIDDEN, None, "x")


def listed(*tools: Tool, decision: Decision = SHOWN) -> list[ToolDecision]:
    return [ToolDecision(item, decision) for item in tools]


def use(name: str, hour: int, uses: int = 1, failures: int = 0) -> HourlyUse:
    return HourlyUse(CLIENT, name, hour, uses, failures)


def session(at: int) -> SessionUse:
    return SessionUse("s", CLIENT, at, at, 1, 0, 1)


def made(*tools: Tool, used: tuple[Total, ...] = (), seen: int = 0, sessions: int = 0) -> UsageReport:
    first_seen = {(item.client, item.name): seen for item in tools}
    return make_report(listed(*tools), used, first_seen, [session(seen + 1)] * sessions)


def test_a_use_weighs_half_of_one_that_is_a_week_newer_whatever_the_time_is_now() -> None:
    known = weigh([use("a", 168), use("b", 0)])
    assert (known[CLIENT, "a"].weight, known[CLIENT, "b"].weight) == (1.0, 0.5)
    assert weigh([use("b", 0), use("a", 168)]) == known
    assert weigh([]) == {}


def test_uses_and_failures_add_up_and_a_server_has_those_of_its_tools() -> None:
    known = weigh([use("mcp__git__status", 1, 2, 1), use("mcp__git__push", 2, 3), use("mcp__wiki__x", 2)])
    all_known = with_servers(known, [server("git"), tool("mcp__git__status"), tool("mcp__git__push")])
    git = all_known[CLIENT, "mcp__git__*"]
    assert (git.uses, git.failures, git.last_used_at) == (5, 1, 3 * 3_600_000 - 1)


def test_what_was_used_most_comes_first_and_what_costs_most_of_the_rest() -> None:
    tools = [tool(f"/{name}", tokens=cost) for name, cost in (("a", 1), ("b", 2), ("c", 9), ("d", 5))]
    uses = (Total(CLIENT, "/a", 1, 0, 5), Total(CLIENT, "/b", 7, 2, 6, 12.0))
    usage = made(*tools, used=uses)
    assert [(item.tool.name, item.uses, item.failures, item.mean_ms) for item in usage.used] == [
        ("/b", 7, 2, 12.0),
        ("/a", 1, 0, None),
    ]
    assert [item.tool.name for item in usage.unused] == ["/c", "/d"]
    assert usage.unused_tokens == 14


def test_a_server_of_which_nothing_was_used_stands_for_its_tools() -> None:
    git, push, log = (
        server("git", tokens=9),
        tool("mcp__git__push", tokens=5),
        tool("mcp__git__log", tokens=4),
    )
    assert [item.tool.name for item in made(git, push, log).unused] == ["mcp__git__*"]
    used = made(git, push, log, used=(Total(CLIENT, "mcp__git__log", 1, 0, 5),))
    assert [item.tool.name for item in used.unused] == ["mcp__git__push"]
    assert used.unused_tokens == 5


def test_what_is_hidden_or_the_clients_own_is_not_counted_as_unused() -> None:
    usage = make_report(
        [*listed(tool("/x", tokens=9), decision=HIDDEN), *listed(tool("Read"), tool("q", kind=Kind.PLUGIN))],
        [Total(CLIENT, "/x", 1, 0, 5)],
        {},
        [],
    )
    assert (usage.unused, usage.unused_tokens) == ([], 0)
    assert [item.tool.name for item in usage.used] == ["/x"]


def test_of_two_declarations_with_one_name_one_is_used() -> None:
    both = [tool("/x"), tool("/x", scope=Scope.PROJECT)]
    assert len(made(*both, used=(Total(CLIENT, "/x", 1, 0, 5),)).used) == 1


def test_what_is_unused_for_long_or_only_fails_is_proposed_most_savings_first() -> None:
    cheap, dear = tool("/cheap", tokens=1), tool("/dear", tokens=9)
    young = proposals(made(cheap, dear), now=PATIENCE * DAY - 1)
    assert young == []
    old = proposals(made(cheap, dear), now=PATIENCE * DAY)
    assert [(item.name, item.reason) for item in old] == [
        ("/dear", f"never used here, in {PATIENCE} days"),
        ("/cheap", f"never used here, in {PATIENCE} days"),
    ]
    busy = proposals(made(cheap, sessions=ENOUGH_SESSIONS), now=1)
    assert busy == [PruneProposal("/cheap", f"never used here, in {ENOUGH_SESSIONS} sessions", 1)]
    failing = tool("mcp__git__push", outcomes="+--" + "-")
    used = made(failing, tool("Bash", outcomes="----"), used=(Total(CLIENT, failing.name, 4, 3, 5),))
    assert [item.reason for item in proposals(used, now=1)] == ["3 of its last 4 calls here failed"]


def test_a_report_is_of_this_project_and_names_what_hooks_counted(client: Client) -> None:
    client.servers("git", "wiki")
    client.lists("git", "push", "status")
    client.lists("wiki", "read")
    client.send("PostToolUse", tool_name="mcp__git__push", tool_use_id="t", duration_ms=4, **USER)
    with client.registry() as registry:
        context = client.context(registry)
        usage = report(registry, context)
        known = familiarity(registry.store, context.workspace)
    assert [item.tool.name for item in usage.used] == ["mcp__git__push"]
    assert {item.tool.name for item in usage.unused} == {"mcp__git__status", "mcp__wiki__*"}
    assert [item.session for item in usage.sessions] == ["s"]
    assert known[CLIENT, "mcp__git__push"].uses == 1
