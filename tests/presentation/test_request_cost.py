"""What a request costs through the gateway."""

from remit.decision.kinds import Authority, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.presentation.listing_strategies import Presentation, ToolGroup, VisibleTool
from remit.presentation.remit_tools import OwnTool
from remit.presentation.request_cost import RequestCost, listed_tokens
from remit.text.token_estimate import name_tokens


def entry(tokens: int | None) -> VisibleTool:
    tool = Tool(
        "mcp__git__log", Kind.MCP_TOOL, "claude-code", Scope.GLOBAL, "", Authority.CONFIG, tokens=tokens
    )
    return VisibleTool(tool, {"name": "git__log"})


def test_listed_tools_groups_and_remits_own_tools_are_counted() -> None:
    nothing = listed_tokens(Presentation([], own=()))
    assert nothing == 0
    assert listed_tokens(Presentation([entry(40), entry(None)], own=())) == 40
    own = listed_tokens(Presentation([], own=(OwnTool.WHY,)))
    assert own > 0
    group = ToolGroup("git", "Tools of `git`", [entry(40)])
    assert listed_tokens(Presentation([], own=(OwnTool.WHY,), groups=[group])) > own


def test_a_client_that_searches_by_itself_pays_for_names() -> None:
    assert RequestCost(900, 690, 9).direct == 900
    assert RequestCost(900, 690, 9, names=100).direct == 100
    assert (RequestCost(900, 690, 9).saved, RequestCost(900, 690, 9, names=100).saved) == (210, -590)
    assert 0 == name_tokens([]) < name_tokens(["mcp__git__log"]) < name_tokens(["mcp__git__log"] * 2)


def test_remit_costs_more_for_definitions_only_if_the_rest_costs_no_more_than_the_names() -> None:
    cost = RequestCost(definitions=900, served=600, tools=9, names=300, listed_tokens=400)
    assert cost.is_for_definitions
    assert not cost._replace(listed_tokens=200).is_for_definitions
    assert not cost._replace(served=250).is_for_definitions
    assert not cost._replace(names=None).is_for_definitions
