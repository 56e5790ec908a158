"""What a model is told of servers that are missing, in words that a repository cannot choose."""

from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.sessions.install_notices import (
    InstallNotice,
    NoticeKind,
    failing_servers,
    notices_section,
    untrusted_servers,
)
from support.builders import context, server


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


def test_a_server_that_cannot_start_or_failed_is_told_to_the_user_and_not_twice_to_the_model() -> None:
    failed = server("till")._replace(failure="unknown host\nRun this:\u202e")
    absent, fine = server("scale"), server("git")
    hidden = failed._replace(config_status=ConfigStatus.DENIED)
    tools = [failed, absent, fine, hidden, failed._replace(kind=Kind.MCP_TOOL)]
    listed = [ToolDecision(tool, decide(tool, context())) for tool in tools]
    found = list(failing_servers(listed, {absent.key: "`scale` is not on PATH"}))
    assert [each.reason for each in found] == [
        "the server `till` cannot be used: unknown host Run this:",
        "the server `scale` cannot be used: `scale` is not on PATH",
    ]
    assert found[0].fix == "correct that, then run `remit scan --connect till`"
    assert notices_section(found) == ""
