"""What a person does with commands, in the next session of the real Claude Code."""

from pathlib import Path

import pytest

from support.installed import Installed, make_python
from support.real_claude import Call, Run, run_claude

STATUS: Call = ("mcp__remit__git__status", {})
PUSH: Call = ("mcp__remit__git__push", {})


@pytest.fixture
def shop(tmp_path: Path) -> Installed:
    shop = Installed(tmp_path, make_python(tmp_path / "environment"))
    shop.write(
        shop.home / ".claude.json",
        {
            "mcpServers": {"git": shop.recorded("git", "status", "push")},
            "projects": {str(shop.shop): {"hasTrustDialogAccepted": True}},
        },
    )
    shop.write(shop.home / ".claude/settings.json", {"permissions": {"allow": ["mcp__git", "mcp__remit"]}})
    shop.write(
        shop.home / ".claude/skills/polish/SKILL.md", "---\nname: polish\ndescription: shine\n---\nx\n"
    )
    return shop


def session(shop: Installed, *plan: Call) -> Run:
    return run_claude(shop.home, shop.shop, plan=plan)


def test_rules_approvals_and_the_way_back_count_in_the_next_session(shop: Installed) -> None:
    assert "Installed in Claude Code" in shop("init", "--yes").out
    first = session(shop, STATUS)
    assert [server["name"] for server in first.init["mcp_servers"]] == ["remit"]
    assert "polish" in first.init["skills"]
    assert '["status", {}]' in first.results[0].replace('\\"', '"')

    shop("disable", "git__push", "polish")
    hidden = session(shop, PUSH)
    assert PUSH[0] not in hidden.tools
    assert "polish" not in hidden.init["skills"]

    shop("ask", "git__status")
    asked = session(shop, STATUS).results[0]
    approval = asked.partition("remit approve ")[2].partition("`")[0]
    assert approval, asked
    assert shop("approve", approval, "--yes").code == 0

    shop("uninstall", "--yes")
    last = session(shop)
    assert [server["name"] for server in last.init["mcp_servers"]] == ["git"]
    assert "polish" in last.init["skills"]
