"""What a model reads at the start of a session with the gateway."""

from collections.abc import Mapping

from remit.configuration.config_model import Strategy
from remit.decision.tool_names import GATEWAY_TOOLS
from remit.presentation.instructions import instructions
from remit.presentation.plan import ServingPlan
from remit.presentation.strategies import Presentation, VisibleTool, present
from support.builders import server


def searched(counts: Mapping[str, int], own_tools: tuple[str, ...] = GATEWAY_TOOLS) -> Presentation:
    """Servers with so many tools, of which the strategy `search` lists none."""
    visible = [
        VisibleTool(server(label)._replace(name=f"mcp__{label}__t{at}"), {"name": f"{label}__t{at}"})
        for label, count in counts.items()
        for at in range(count)
    ]
    return present(visible, ServingPlan(strategy=Strategy.SEARCH, own_tools=own_tools))


def test_instructions_say_what_waits_and_what_servers_say() -> None:
    told = instructions(searched({"git": 12, "web": 3}), {"git": "Be careful.", "web": None})
    assert told is not None
    assert told.splitlines()[0].endswith("Not listed are tools of: git (12), web (3).")
    assert told.endswith("# git\nBe careful.")


def test_where_all_is_listed_there_is_nothing_to_say() -> None:
    assert instructions(present([], ServingPlan()), {}) is None
    assert instructions(searched({"git": 1}, own_tools=()), {}) is None
    assert instructions(present([], ServingPlan(strategy=Strategy.STATE)), {"git": "x"}) == "# git\nx"


def test_instructions_stay_short_however_many_servers_there_are() -> None:
    many = {f"server{at:03}": 7 for at in range(100)}
    told = instructions(searched(many), dict.fromkeys(many, "w" * 9_000))
    assert told is not None
    assert "and 40 more servers" in told
    assert len(told) < 25_000
