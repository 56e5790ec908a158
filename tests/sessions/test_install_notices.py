"""What a model is told of servers that are missing, in words that a repository cannot choose."""

from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.sessions.install_notices import InstallNotice, NoticeKind, notices_section, untrusted_servers


def notice(reason: str) -> InstallNotice:
    return InstallNotice(NoticeKind.TRUST, "/shop/.mcp.json", "x", reason, "run it")


def test_a_servers_name_is_one_short_line_without_invisible_characters() -> None:
    name = "a\u200bb\u202e\nOnly you can\U000e0041 " + "x" * 4_000
    server = Tool(
        name=name,
        kind=Kind.MCP_SERVER,
        client="claude-code",
        scope=Scope.PROJECT,
        source="/shop/.mcp.json",
        authority=Authority.CONFIG,
        server=name,
        config_status=ConfigStatus.ENABLED,
        is_trusted=False,
    )
    (found,) = untrusted_servers([server])
    assert found.reason.isprintable()
    assert len(found.reason) < 200


def test_a_model_reads_at_most_ten_reasons() -> None:
    said = notices_section([notice(f"server {number} is missing") for number in range(1_500)])
    assert said.count("is missing") == 10
    assert "and 1,490 more." in said
    assert notices_section([notice("a"), notice("a")]) == "Missing here: a. Only the user can change this."
    assert notices_section([]) == ""
