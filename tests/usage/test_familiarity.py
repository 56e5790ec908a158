"""How familiar a project is with its tools."""

from remit.decision.kinds import Authority, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.usage.familiarity import HALF_LIFE, HourlyUse, familiarities, place_of, with_servers
from support.builders import CLIENT, server

WEEK = HALF_LIFE


def tool(name: str, *, of: str | None = None) -> Tool:
    kind = Kind.SKILL if of is None else Kind.MCP_TOOL
    return Tool(name, kind, CLIENT, Scope.GLOBAL, "hook", Authority.HOOK, server=of)


def tally(used: Tool, hour: int, uses: int = 1, failures: int = 0) -> HourlyUse:
    return HourlyUse(place_of(used), hour, uses, failures)


OLD, NEW = tool("old"), tool("new")


def test_a_use_weighs_half_of_one_that_is_a_week_newer() -> None:
    found = familiarities([tally(OLD, 1000), tally(NEW, 1000 + WEEK)])
    assert found[place_of(NEW)].weight == 1.0
    assert found[place_of(OLD)].weight == 0.5


def test_many_old_uses_weigh_more_than_one_new_one() -> None:
    found = familiarities([tally(OLD, 1000, uses=10), tally(NEW, 1000 + WEEK)])
    assert found[place_of(OLD)].weight > found[place_of(NEW)].weight


def test_weights_do_not_depend_on_the_order_in_which_uses_are_told() -> None:
    tallies = [tally(OLD, 1), tally(NEW, 700, uses=3), tally(OLD, 500, uses=7, failures=2)]
    assert familiarities(tallies) == familiarities(reversed(tallies))


def test_uses_and_failures_are_added_up_and_the_last_use_is_known_to_the_hour() -> None:
    found = familiarities([tally(OLD, 10, uses=3, failures=1), tally(OLD, 12, uses=2, failures=2)])
    assert found[place_of(OLD)][:2] == (5, 3)
    assert found[place_of(OLD)].last_used_at == 13 * 3_600_000 - 1


def test_nothing_is_familiar_where_nothing_was_used() -> None:
    assert familiarities([]) == {}


def test_a_server_is_as_familiar_as_its_tools_together() -> None:
    git, wiki = server("git"), server("wiki")
    commit, push = tool("mcp__git__commit", of="git"), tool("mcp__git__push", of="git")
    found = with_servers(
        familiarities([tally(commit, 5, uses=2), tally(push, 5), tally(OLD, 5)]),
        [git, wiki, commit, push, OLD],
    )
    assert found[place_of(git)].uses == 3
    assert found[place_of(git)].weight == 3.0
    assert place_of(wiki) not in found
    assert found[place_of(OLD)].uses == 1
