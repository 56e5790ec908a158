"""What keeps an installed Remit from protecting, as the user and a model are told it."""

import json
import os
from typing import Any

import pytest

from remit.clients import ClientReading, InstallLevel, InstallRecord, Mod, SettingsFacts, Wanted
from remit.decision import Failure, Offer
from remit.hooks import Installed, Notice, NoticeKind, find_notices, installed, notices_section, weakened
from support.builders import context
from support.hooks import Client


@pytest.fixture
def served(client: Client) -> Client:
    """A client whose gateway serves `git`."""
    client.servers("git")
    client.install(wanted=wanted(client))
    assert notices(client) == []
    return client


def wanted(client: Client) -> Wanted:
    with client.registry() as registry:
        resolved = registry.catalog(client.context(registry)).resolved
    servers = [item.declaration for item in resolved if item.declaration.server not in (None, "remit")]
    return Wanted(served=servers, declared=servers, blocks=["Bash"])


def notices(client: Client) -> list[Notice]:
    with client.registry() as registry:
        here = client.context(registry)
        return find_notices(registry, here, installed(here, client.machine))


def only(client: Client, kind: NoticeKind) -> Notice:
    (notice,) = (item for item in notices(client) if item.kind is kind)
    return notice


def edit(client: Client, name: str, **content: object) -> None:
    path = client.home / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **content}))


def test_hooks_that_are_off_are_told_with_the_setting_and_its_file(served: Client) -> None:
    served.write(served.shop / ".claude/settings.json", {"disableAllHooks": True})
    notice = only(served, NoticeKind.HOOKS)
    assert "hooks are off here" in notice.reason
    assert ".claude" not in notice.reason
    assert "`disableAllHooks` in .claude/settings.json" in notice.full_reason
    assert notice.fix == "remove `disableAllHooks` from .claude/settings.json"


def test_settings_that_cannot_be_read_may_switch_hooks_off(served: Client) -> None:
    served.write(served.shop / ".claude/settings.json", "{")
    assert "may be off" in only(served, NoticeKind.HOOKS).reason


@pytest.mark.parametrize("change", ["removed", "changed", "replaced", "denied"])
def test_without_its_gateway_a_client_lacks_the_servers_it_served(served: Client, change: str) -> None:
    state = json.loads((served.home / ".claude.json").read_text())
    entry: dict[str, Any] = state["mcpServers"]["remit"]
    if change == "removed":
        del state["mcpServers"]["remit"]
    if change == "changed":
        entry["args"] = ["x"]
    served.write(served.home / ".claude.json", state)
    if change == "replaced":
        local = {"mcpServers": {"remit": {"command": "x"}}, "hasTrustDialogAccepted": True}
        served.write(served.home / ".claude.json", {**state, "projects": {str(served.shop): local}})
    if change == "denied":
        served.write(served.shop / ".claude/settings.json", {"deniedMcpServers": [{"serverName": "remit"}]})
    notice = only(served, NoticeKind.GATEWAY)
    causes = {
        "removed": "is gone",
        "changed": "was changed",
        "replaced": "takes its place",
        "denied": "denied",
    }
    assert causes[change] in notice.full_reason
    assert "the servers that it served are unavailable until that is repaired" in notice.reason
    assert "remit uninstall claude-code" in notice.fix


def test_rules_that_others_took_out_of_the_clients_settings_are_told(served: Client) -> None:
    settings = json.loads((served.home / ".claude/settings.json").read_text())
    settings["permissions"]["deny"].remove("Bash")
    served.settings(**settings)
    notice = only(served, NoticeKind.RULES)
    assert "a part of what Remit wrote into ~/.claude/settings.json was changed" in notice.full_reason
    edit(served, ".claude/settings.json", model="opus")  # what others add is theirs
    assert only(served, NoticeKind.RULES) == notice


def test_a_server_that_the_client_starts_itself_is_told_with_how_to_serve_it(served: Client) -> None:
    state = json.loads((served.home / ".claude.json").read_text())
    state["mcpServers"]["wiki"] = {"command": "wiki"}
    served.write(served.home / ".claude.json", state)
    notice = only(served, NoticeKind.ADDED)
    assert "the client starts `wiki` itself" in notice.reason
    assert "remit install claude-code" in notice.fix
    assert "adopt = true" in notice.fix
    assert notices_section([notice]) == ""


def test_a_projects_server_that_is_not_trusted_is_told(served: Client) -> None:
    served.write(served.shop / ".mcp.json", {"mcpServers": {"docs": {"command": "docs"}}})
    served.write(served.home / ".claude/settings.local.json", {})
    edit(served, ".claude/settings.json", enableAllProjectMcpServers=True)
    reason = only(served, NoticeKind.TRUST).reason
    assert reason == "this project's server `docs` is not trusted in Remit, so its calls are refused"


def test_a_server_that_failed_is_told_with_its_reason(served: Client) -> None:
    with served.registry() as registry:
        resolved = registry.catalog(served.context(registry)).resolved
        (git,) = (item.declaration for item in resolved if item.declaration.server == "git")
        failed = Offer(failure=Failure("exit code 3\x1b[2J"))
        registry.store.listings.keep(git, failed, [], served.workspace, served.now())
    notice = only(served, NoticeKind.SERVER)
    assert notice.reason == "the server `git` cannot be used: exit code 3 [2J"
    assert "remit tools git --refresh" in notice.fix


def test_definitions_that_wait_are_counted_by_server_with_or_without_an_install(client: Client) -> None:
    client.servers("git")
    client.lists("git", "push")
    assert notices(client) == []
    client.lists("git", "push", "log", "status")
    notice = only(client, NoticeKind.DEFINITION)
    assert notice.reason.startswith(
        "held until you accept the change: 2 definitions of `git` (mcp__git__log, "
    )
    client.rules('block = ["mcp__git__log"]')  # nobody waits for what is off
    assert "1 definition of `git`" in only(client, NoticeKind.DEFINITION).reason


def test_a_module_that_can_override_decisions_is_told_unless_an_administrator_forbids_it() -> None:
    mods = [Mod("/p/hooks/a.js", "/p/hooks/hooks.json", "quill@m", is_repositorys=True)]
    record = Installed(InstallRecord("claude-code", at=1))

    def told(**facts: Any) -> list[Notice]:
        reading = ClientReading("claude-code", [], [], [], {}, facts=SettingsFacts(mods=mods, **facts))
        return weakened(reading, context(), record)

    (notice,) = told()
    assert notice.reason.startswith("this repository's plugin `quill@m` runs a module inside the client, ")
    assert "/p/hooks/a.js" in notice.full_reason
    assert told(only_managed_mods=True) == told(has_managed_settings=True) == []


def test_a_session_is_told_that_the_local_file_changed_since_the_last_one(client: Client) -> None:
    client.later = 0
    client.send("PostToolUse", tool_name="mcp__git__push", tool_use_id="t")
    local = client.write(client.shop / "remit.local.toml", 'block = ["Bash"]')
    for seconds, expected in ((3600, True), (-3600, False)):
        at = client.now() // 1000 + seconds
        os.utime(local, (at, at))
        message = client.send("SessionStart", mode="start").get("systemMessage", "")
        assert ("remit.local.toml changed since the last session" in message) is expected


def test_a_session_is_told_of_a_file_of_rules_with_a_mistake(client: Client) -> None:
    client.rules('block = ["Bash"]')
    assert "mistake" not in client.send("SessionStart", mode="start").get("systemMessage", "")
    client.rules('block = ["Bash"')
    answer = client.send("SessionStart", mode="start")
    told, shown = answer["hookSpecificOutput"]["additionalContext"], answer["systemMessage"]
    assert shown.startswith("Remit: a mistake in ~/.config/remit/remit.toml (end of document): not valid")
    assert "correct ~/.config/remit/remit.toml; `remit doctor` lists all mistakes" in shown
    assert "Remit's rules for this project have a mistake" in told
    assert "remit.toml" not in told


def test_an_install_for_context_alone_protects_nothing(client: Client) -> None:
    client.install(InstallLevel.CONTEXT)
    client.settings(disableAllHooks=True)
    assert notices(client) == []


def test_a_session_tells_the_user_the_fix_and_the_model_the_reason(served: Client) -> None:
    served.write(served.shop / ".claude/settings.json", {"disableAllHooks": True})
    answer = served.send("SessionStart", mode="start")
    told, shown = answer["hookSpecificOutput"]["additionalContext"], answer["systemMessage"]
    assert "Missing here: Remit's hooks are off here" in told
    assert "Only the user can change this." in told
    assert "remove `disableAllHooks`" in shown
    assert "remove `disableAllHooks`" not in told


def test_a_model_reads_at_most_ten_reasons() -> None:
    many = [Notice(NoticeKind.TRUST, f"reason {number}", "fix") for number in range(13)]
    section = notices_section([*many, *many])
    assert "reason 9; and 3 more." in section
    assert "reason 10" not in section
    assert notices_section([]) == ""


def test_without_an_install_there_is_no_record(client: Client) -> None:
    with client.registry() as registry:
        assert installed(client.context(registry), client.machine) is None
