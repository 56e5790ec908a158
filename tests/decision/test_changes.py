"""The differences between two scans."""

from remit.decision.declarations import Changes, Declaration
from remit.decision.kinds import Kind
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT


def declared(server: str, *, source: str = "/home/ada/.claude.json", is_remit: bool = False) -> Declaration:
    return Declaration(
        name=f"mcp__{server}__*",
        kind=Kind.MCP_SERVER,
        client="claude-code",
        scope=Scope.GLOBAL,
        source=source,
        server=server,
        is_remit=is_remit,
    )


def test_changes_leave_out_what_comes_and_goes_with_an_install() -> None:
    own, memory, git = (
        declared("remit", is_remit=True),
        declared("remit-memory", source=REMIT),
        declared("git"),
    )
    changes = Changes(added=[own, git], removed=[git, memory], changed=[own, memory])
    assert changes.without_remit() == Changes(added=[git], removed=[git], changed=[])
