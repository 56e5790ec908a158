"""What the gateway lists for a client, and the names that a model can call."""

import pytest

from remit.configuration.config_model import ServerOptions, Strategy
from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.globs import glob
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT as OURS
from remit.decision.tools import Definition, Tool, Winner
from remit.presentation.served_names import LONGEST
from remit.presentation.serving_plan import RunRule, ServingPlan
from remit.sessions.gateway_view import GatewayView, gateway_view
from support.builders import context, server

REMIT = server("remit")._replace(config_status=ConfigStatus.ITSELF)
COMMIT = server("git")._replace(name="mcp__git__commit", kind=Kind.MCP_TOOL)
DEPLOY = COMMIT._replace(name="deploy", kind=Kind.SKILL, server=None)
DEAR, USUAL, SMALL = COMMIT._replace(tokens=100), ServingPlan(), ServingPlan(token_budget=99)
HELD = DEAR._replace(source=OURS, is_held_back=True)


def listed(*tools: Tool) -> list[ToolDecision]:
    seen = Decision(verdict=Verdict.VISIBLE, gate=None, reason="", unlock=None)
    return [ToolDecision(tool, seen) for tool in tools]


def view(*tools: Tool, plan: ServingPlan = USUAL) -> GatewayView:
    return gateway_view(listed(*tools), context(), plan, {}, {})


def test_without_a_gateway_every_tool_keeps_its_own_name() -> None:
    found = view(COMMIT, DEPLOY)
    assert (found.name_of(COMMIT), found.name_of(DEPLOY)) == ("mcp__git__commit", "deploy")


def test_with_the_gateway_a_servers_tools_are_called_through_it() -> None:
    found = view(REMIT, COMMIT, DEPLOY)
    assert (found.name_of(COMMIT), found.name_of(DEPLOY)) == ("mcp__remit__git__commit", "deploy")


def test_a_tool_that_the_gateway_may_not_start_keeps_its_own_name() -> None:
    untrusted = COMMIT._replace(is_trusted=False)
    assert view(REMIT, untrusted).name_of(untrusted) == "mcp__git__commit"


def test_a_name_that_is_too_long_or_not_unique_is_the_one_that_is_served() -> None:
    long = COMMIT._replace(name=f"mcp__git__{'x' * 80}")
    own = COMMIT._replace(name="mcp__git__discover_tools")
    bare = ServingPlan(running=(RunRule(glob("git"), ServerOptions(prefix=False)),))
    found = view(REMIT, COMMIT, long, own, plan=bare)
    assert found.name_of(COMMIT) == "mcp__remit__commit"
    assert len(found.name_of(long)) == len("mcp__remit__") + LONGEST
    assert found.name_of(own).startswith("mcp__remit__discover_tools_")


def test_without_a_prefix_a_tool_has_the_name_that_its_server_uses() -> None:
    bare = ServingPlan(running=(RunRule(glob("git"), ServerOptions(prefix=False)),))
    dotted = Definition(name=COMMIT.name, server="git", tool="git.commit", description=None)
    found = gateway_view(listed(REMIT, COMMIT), context(), bare, {}, {COMMIT.key: dotted})
    assert found.name_of(COMMIT) == "mcp__remit__git.commit"


def test_a_gateway_of_another_client_or_behind_another_does_not_count() -> None:
    assert view(REMIT._replace(client="cursor")).prefix is None
    assert view(REMIT._replace(shadowed_by=Winner(Scope.LOCAL, "/f"))).prefix is None
    assert view(REMIT).prefix == "mcp__remit__"


def test_a_model_can_discover_tools_where_the_gateway_does_not_list_all() -> None:
    assert view(REMIT, DEAR, plan=SMALL).can_discover
    assert view(REMIT, plan=ServingPlan(strategy=Strategy.SEARCH)).can_discover
    assert not view(REMIT, DEAR, plan=ServingPlan(token_budget=100)).can_discover
    assert not view(REMIT, DEAR, plan=SMALL._replace(strategy=Strategy.FLAT)).can_discover
    assert not view(REMIT, DEAR, plan=SMALL._replace(own_tools=("why_tool",))).can_discover
    assert not view(DEAR, plan=SMALL).can_discover


@pytest.mark.parametrize("strategy", ["auto", "flat", "state", "rooms", "manifest", "search"])
def test_a_model_can_discover_tools_that_are_held_back(strategy: str) -> None:
    assert view(REMIT, HELD, plan=ServingPlan(strategy=Strategy(strategy))).can_discover


def test_tools_of_namespaces_are_not_discovered_but_opened() -> None:
    assert not view(REMIT, HELD, plan=ServingPlan(strategy=Strategy.NAMESPACE)).can_discover


def test_the_gateway_sends_a_part_where_not_all_fits_besides_what_is_held_back() -> None:
    assert view(REMIT, DEAR, plan=SMALL).presentation.is_partial
    assert view(REMIT, DEAR, plan=ServingPlan(strategy=Strategy.SEARCH)).presentation.is_partial
    assert not view(REMIT, DEAR, plan=ServingPlan(token_budget=100)).presentation.is_partial
    assert not view(REMIT, DEAR, plan=SMALL._replace(strategy=Strategy.STATE)).presentation.is_partial
    assert not view(REMIT, HELD, plan=SMALL).presentation.is_partial


def test_a_tool_that_was_only_seen_in_use_is_not_listed() -> None:
    assert list(view(REMIT, COMMIT).presentation.entries) == []
