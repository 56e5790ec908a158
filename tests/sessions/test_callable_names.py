"""The name that a model can call."""

from dataclasses import replace

from remit.configuration.config_model import ServerOptions
from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.globs import glob
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT as OURS
from remit.decision.tools import Tool, Winner
from remit.presentation.plan import ServingPlan
from remit.presentation.served_names import LONGEST
from remit.sessions.callable_names import called_by, can_discover, is_served, sends_a_part
from support.builders import context, server

REMIT = server("remit")._replace(config_status=ConfigStatus.ITSELF)
COMMIT = server("git")._replace(name="mcp__git__commit", kind=Kind.MCP_TOOL)
DEPLOY = COMMIT._replace(name="deploy", kind=Kind.SKILL, server=None)


def listed(*tools: Tool) -> list[ToolDecision]:
    seen = Decision(verdict=Verdict.VISIBLE, gate=None, reason="", unlock=None)
    return [ToolDecision(tool, seen) for tool in tools]


def test_without_a_gateway_every_tool_goes_by_its_own_name() -> None:
    called = called_by(listed(COMMIT, DEPLOY), context(), ServingPlan())
    assert (called(COMMIT), called(DEPLOY)) == ("mcp__git__commit", "deploy")


def test_with_the_gateway_a_servers_tools_are_called_through_it() -> None:
    called = called_by(listed(REMIT, COMMIT, DEPLOY), context(), ServingPlan())
    assert (called(COMMIT), called(DEPLOY)) == ("mcp__remit__git__commit", "deploy")


def test_a_plugins_gateway_has_the_plugins_name_before_what_it_serves() -> None:
    plugin = REMIT._replace(name="mcp__plugin_remit_remit__*", plugin="remit", scope=Scope.PLUGIN)
    called = called_by(listed(plugin, COMMIT), context(), ServingPlan())
    assert called(COMMIT) == "mcp__plugin_remit_remit__git__commit"


def test_what_the_gateway_may_not_start_keeps_its_own_name() -> None:
    untrusted = COMMIT._replace(is_trusted=False)
    assert called_by(listed(REMIT, untrusted), context(), ServingPlan())(untrusted) == "mcp__git__commit"


def test_a_name_that_is_too_long_or_not_the_only_one_is_the_one_that_is_served() -> None:
    long = COMMIT._replace(name=f"mcp__git__{'x' * 80}")
    own = COMMIT._replace(name="mcp__git__discover_tools")
    bare = ServingPlan(running=((glob("git"), ServerOptions(prefix=False)),))
    called = called_by(listed(REMIT, COMMIT, long, own), context(), bare)
    assert called(COMMIT) == "mcp__remit__commit"
    assert len(called(long)) == len("mcp__remit__") + LONGEST
    assert called(own).startswith("mcp__remit__discover_tools_")


def test_a_gateway_of_another_client_or_behind_another_does_not_count() -> None:
    assert not is_served(listed(REMIT._replace(client="cursor")), context())
    assert not is_served(listed(REMIT._replace(shadowed_by=Winner(Scope.LOCAL, "/f"))), context())
    assert is_served(listed(REMIT), replace(context()))


def test_a_model_can_discover_tools_where_the_gateway_does_not_list_all() -> None:
    dear = COMMIT._replace(tokens=100)
    here, small = context(), ServingPlan(token_budget=99)
    assert can_discover(listed(REMIT, dear), here, small)
    assert can_discover(listed(REMIT), here, ServingPlan(strategy="search"))
    assert not can_discover(listed(REMIT, dear), here, ServingPlan(token_budget=100))
    assert not can_discover(listed(REMIT, dear), here, small._replace(strategy="flat"))
    assert not can_discover(listed(REMIT, dear), here, small._replace(own_tools=("why_tool",)))
    assert not can_discover(listed(dear), here, small)


def test_remit_sends_a_part_of_what_it_serves_in_place_of_the_client_where_not_all_fits() -> None:
    dear, small = COMMIT._replace(tokens=100), ServingPlan(token_budget=99)
    served = replace(context(), starts_servers=True)
    assert sends_a_part(listed(REMIT, dear), served, small)
    assert sends_a_part(listed(REMIT), served, ServingPlan(strategy="search"))
    assert not sends_a_part(listed(REMIT, dear), served, ServingPlan(token_budget=100))
    assert not sends_a_part(listed(REMIT, dear), served, small._replace(strategy="state"))
    assert not sends_a_part(listed(REMIT, dear), context(), small)  # the client sends them itself
    held = dear._replace(source=OURS)
    assert not sends_a_part(listed(REMIT, held), served, small)
    assert sends_a_part(listed(REMIT, held), served, small._replace(lists_memory=True))
