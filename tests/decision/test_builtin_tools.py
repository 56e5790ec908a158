"""The tools that a client has by itself."""

from remit.decision.builtin_tools import builtin_tool
from remit.decision.kinds import Kind


def test_a_clients_own_tools_are_known_without_a_file() -> None:
    tool = builtin_tool("Bash", "claude-code")
    assert tool is not None
    assert (tool.name, tool.kind, tool.client) == ("Bash", Kind.BUILTIN, "claude-code")


def test_other_names_and_other_clients_have_none() -> None:
    assert builtin_tool("Bsah", "claude-code") is None
    assert builtin_tool("Bash", "cursor") is None
    assert builtin_tool("Bash", None) is None
