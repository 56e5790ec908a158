"""Installing in whatever state the files are, with whatever goes wrong, and taking it back."""

import json
import os
import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.clients import CLIENTS, InstallLevel, Wanted, load_record, record_path
from remit.decision import Kind, Scope, Tool
from remit.errors import FileChangeError, InstallError
from remit.files import Edit, Format, apply_edits, change_file, observing
from support.git import git
from support.installs import Home

FULL, HOOKS, CONTEXT = InstallLevel.FULL, InstallLevel.HOOKS, InstallLevel.CONTEXT
CODE, NOTHING = "claude-code", Wanted()
SETTINGS: dict[str, Any] = {
    "model": "opus",
    "hooks": {"Stop": [{"hooks": []}]},
    "permissions": {"deny": ["WebFetch"]},
    "allowedMcpServers": [{"serverName": "git"}],
}
STATE = {"numStartups": 3, "mcpServers": {"git": {"command": "g", "env": {"A": "é"}}}}
FILES = {
    CODE: {".claude.json": json.dumps(STATE, indent=2), ".claude/settings.json": json.dumps(SETTINGS)},
    "vscode": {".config/Code/User/mcp.json": '{\n  "servers": { /* none */ }, // yet\n}\n'},
    "codex": {".codex/config.toml": 'model = "x"\n\n[mcp_servers.git]\ncommand = "g"\n\n[tui]\n# mine\n'},
    "gemini-cli": {".gemini/settings.json": '{"mcpServers": {}, /* so */ "mcp": {"allowed": []}}'},
    "cursor": {".cursor/mcp.json": ""},
    "zed": {".config/zed/settings.json": '// mine\n{"theme": "One"}\n'},
}
RULES = Wanted(blocks=["Bash", "mcp__git__push"], asks=["WebSearch", "mcp__git__tag"], matcher=["Bash"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for name, text in FILES[CODE].items():
        home.write(f"home/{name}", text)
    return home


@pytest.mark.parametrize("client", sorted(set(CLIENTS) - {"goose"}))
def test_every_clients_gateway_entry_goes_in_is_read_as_ours_and_out_to_the_byte(
    tmp_path: Path, client: str
) -> None:
    home = Home(tmp_path)
    for name, text in FILES.get(client, {}).items():
        home.write(f"home/{name}", text)
    before = home.files()
    home.installer().install(client, FULL, NOTHING)
    (entry,) = (item for item in home.read(client).declarations if item.server == "remit")
    assert entry.launch is not None
    assert (entry.launch.command, *entry.launch.args[:3]) == ("/opt/remit", "serve", "--client", client)
    assert str(entry.status) == ("pending" if client == "gemini-cli" else "itself")  # in a folder not trusted
    assert not any(change.is_change for change in home.installer().plan(client, FULL, NOTHING).changes)
    home.installer().uninstall(client)
    assert home.files() == before


def test_a_client_whose_file_remit_cannot_edit_is_told_what_to_run(home: Home) -> None:
    with pytest.raises(InstallError) as raised:
        home.installer().install("goose", FULL, NOTHING)
    assert "`goose configure`" in str(raised.value.hint)
    assert "serve --client goose" in str(raised.value.hint)


def damaged(text: bytes, chance: random.Random) -> bytes:
    """Return a text with some of its bytes taken out, put in or doubled."""
    data = bytearray(text)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                del data[at : at + chance.randrange(1, 9)]
            case 1:
                data[at:at] = chance.choice((b",", b"}", b'"', b"//", b"\xff", b"\n", b"[", b"\r\n", b"#"))
            case 2:
                data[at:at] = data[at : at + chance.randrange(20)]
            case _:
                data = data.replace(b"\n", b"\r\n")
    return bytes(data)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.integers(0, 2**32))
def test_damaged_files_are_left_alone_or_restored_to_the_last_byte(client: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        for name, text in FILES[client].items():
            home.write(f"home/{name}", "").write_bytes(damaged(text.encode(), chance))
        before = home.files()
        wanted = RULES if client == CODE else NOTHING
        try:
            home.installer().install(client, FULL, wanted)
        except InstallError:
            assert home.files() == before
            return
        assert not any(change.is_change for change in home.installer().plan(client, FULL, wanted).changes)
        home.installer().uninstall(client)
        assert home.files() == before


def test_a_failure_between_two_files_leaves_both_as_they_were(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, replace = home.files(), os.replace

    def fails(source: str, target: str) -> None:
        if target.endswith("settings.json"):
            raise OSError(5, "Input/output error")
        replace(source, target)

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", fails)
        with pytest.raises(FileChangeError, match=r"settings\.json cannot be changed: Input/output error"):
            home.installer().install(CODE, FULL, RULES)
    assert home.files() == before
    assert home.installer().level(CODE) is None


def test_the_record_is_written_before_a_file_and_the_server_before_the_settings(home: Home) -> None:
    order: list[str] = []
    with observing(lambda change: order.append(os.path.basename(change.path))):
        home.installer().install(CODE, FULL, RULES)
    record = "claude-code.json"
    assert order == [record, ".claude.json", record, "settings.json"]


def test_what_the_client_writes_during_the_install_is_kept(home: Home) -> None:
    state = home.home / ".claude.json"
    starts = 0

    def client_starts(_change: object) -> None:
        nonlocal starts
        starts += 1
        if starts == 1:  # between reading and replacing
            state.write_text(state.read_text().replace('"numStartups": 3', '"numStartups": 4'))

    with observing(client_starts):
        home.installer().install(CODE, FULL, NOTHING)
    assert home.json("home/.claude.json")["numStartups"] == 4
    assert home.json("home/.claude.json")["mcpServers"].keys() == {"git", "remit"}
    home.installer().uninstall(CODE)
    assert state.read_text() == FILES[CODE][".claude.json"].replace("3", "4")


def test_what_user_and_client_edit_in_between_stays_and_all_of_ours_goes(home: Home) -> None:
    home.installer().install(CODE, FULL, RULES)
    content = home.json("home/.claude/settings.json")
    content["permissions"]["deny"] += ["Read(secret)"]
    content["model"] = "haiku"
    home.write("home/.claude/settings.json", json.dumps(content, indent=4))
    home.installer().install(CODE, FULL, RULES._replace(blocks=["Grep"]))
    assert "Grep" in home.json("home/.claude/settings.json")["permissions"]["deny"]
    assert "Bash" not in home.json("home/.claude/settings.json")["permissions"]["deny"]
    home.installer().uninstall(CODE)
    assert home.json("home/.claude/settings.json") == {
        **SETTINGS,
        "model": "haiku",
        "permissions": {"deny": ["WebFetch", "Read(secret)"]},
    }


def test_an_item_that_was_there_before_stays_its_owners(home: Home) -> None:
    home.installer().install(CODE, FULL, Wanted(blocks=["WebFetch"]))
    content = home.json("home/.claude/settings.json")
    home.write("home/.claude/settings.json", json.dumps(content, indent=7))
    home.installer().uninstall(CODE)
    assert home.json("home/.claude/settings.json") == SETTINGS


def test_files_and_folders_that_an_install_made_go_with_it_whatever_came_in_between(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.installer().install(CODE, FULL, NOTHING)
    content = home.json("home/.claude/settings.json")
    home.write("home/.claude/settings.json", {**content, "model": "opus"})
    assert home.installer().refresh(CODE, RULES)
    content = home.json("home/.claude/settings.json")
    del content["model"]
    home.write("home/.claude/settings.json", content)
    home.installer().uninstall(CODE)
    assert list(home.home.iterdir()) == []


def test_another_server_of_our_name_is_not_replaced(home: Home) -> None:
    home.write("home/.claude.json", {"mcpServers": {"remit": {"command": "other"}}})
    before = home.files()
    with pytest.raises(InstallError, match="another server called `remit`"):
        home.installer().install(CODE, FULL, NOTHING)
    assert home.files() == before


@pytest.mark.parametrize("is_repaired", [False, True])
def test_without_a_record_our_entries_are_recognized_from_any_environment(
    home: Home, is_repaired: bool
) -> None:
    before = {name: json.loads(text) for name, text in FILES[CODE].items()}
    home.installer().install(CODE, FULL, NOTHING)
    os.unlink(record_path(CODE, home.machine))
    text = (home.home / ".claude.json").read_text().replace("/opt/remit", "/old/bin/remit")
    (home.home / ".claude.json").write_text(text)
    content = home.json("home/.claude/settings.json")
    old = {"type": "command", "command": "/old/python", "args": ["-m", "remit", "hook", "--install", "/r"]}
    content["hooks"]["FileChanged"] = [{"hooks": [old]}]
    mine = {"hooks": [{"type": "command", "command": "remit hook"}]}
    content["hooks"]["Stop"].append(mine)
    home.write("home/.claude/settings.json", content)
    if is_repaired:
        home.installer().install(CODE, FULL, NOTHING)
        assert home.json("home/.claude.json")["mcpServers"]["remit"]["command"] == "/opt/remit"
    home.installer().uninstall(CODE)
    assert home.json("home/.claude.json") == before[".claude.json"]
    after = home.json("home/.claude/settings.json")
    assert after["hooks"] == {"Stop": [{"hooks": []}, mine]}
    assert after["permissions"] == before[".claude/settings.json"]["permissions"]


def test_a_gateway_that_a_person_wrote_is_not_taken_out_without_a_record(home: Home) -> None:
    home.write("home/.cursor/mcp.json", {"mcpServers": {"remit": {"command": "remit", "args": ["serve"]}}})
    before = home.files()
    with pytest.raises(InstallError, match="not installed"):
        home.installer().uninstall("cursor")
    home.installer().install("cursor", FULL, NOTHING)
    home.installer().uninstall("cursor")
    assert home.files() == before


def test_a_damaged_record_is_named_and_nothing_changes(home: Home) -> None:
    home.write("data/installs/claude-code.json", "{")
    before = home.files()
    for act in (home.installer().plan_removal, home.installer().uninstall):
        with pytest.raises(FileChangeError, match="not a record") as raised:
            act(CODE)
        assert "move it away" in str(raised.value.hint)
    assert home.files() == before


@pytest.mark.parametrize("blank", ["", "\ufeff", " \r\n"])
def test_a_blank_file_is_filled_and_blank_again(home: Home, blank: str) -> None:
    (home.home / ".claude.json").write_bytes(blank.encode())
    home.installer().install(CODE, FULL, NOTHING)
    home.installer().uninstall(CODE)
    assert (home.home / ".claude.json").read_bytes() == blank.encode()


@pytest.mark.parametrize(
    "fault",
    [
        '{"skillOverrides": {"x": "no"}}',
        '{"hooks": {"Stop": [{"matcher": []}]}}',
        '{"permissions": {"allow": 1}}',
    ],
)
def test_settings_that_the_client_would_ignore_as_a_whole_are_refused(home: Home, fault: str) -> None:
    home.write("home/.claude/settings.json", fault)
    before = home.files()
    with pytest.raises(FileChangeError, match="ignores the whole file"):
        home.installer().install(CODE, FULL, RULES)
    assert home.files() == before


def test_a_plan_shows_the_change_and_makes_none(home: Home) -> None:
    declared = [item for item in home.read().declarations if item.server == "git"]
    wanted = RULES._replace(served=declared, declared=declared)
    before = home.files()
    plan = home.installer().plan(CODE, FULL, wanted)
    assert home.files() == before
    assert plan.served == ["git"]
    assert ("PreToolUse", "Bash") in plan.hooks
    assert {("deny", "Bash"), ("ask", "WebSearch")} <= set(plan.rules)
    assert [os.path.basename(change.path) for change in plan.changes] == [".claude.json", "settings.json"]
    assert home.installer().install(CODE, FULL, wanted) == plan
    assert [change.after for change in plan.changes] == [
        (home.home / name).read_text() for name in (".claude.json", ".claude/settings.json")
    ]
    removal = home.installer().plan_removal(CODE)
    home.installer().uninstall(CODE)
    assert home.files() == before
    assert {change.after for change in removal.changes} == {text.decode() for text in before.values()}


def test_context_only_is_the_section_and_the_count_and_takes_the_rest_out(home: Home) -> None:
    home.installer().install(CODE, FULL, RULES)
    home.installer().install(CODE, CONTEXT, RULES)
    assert (home.home / ".claude.json").read_text() == FILES[CODE][".claude.json"]
    content = home.json("home/.claude/settings.json")
    events = {"SessionStart", "PostToolUse", "PostToolUseFailure", "UserPromptExpansion", "Stop"}
    assert content.pop("hooks").keys() == events
    assert content == {name: value for name, value in SETTINGS.items() if name != "hooks"}
    assert not home.installer().refresh(CODE, RULES)
    assert not home.installer().refresh(CODE, RULES, home.project)
    home.installer().uninstall(CODE)
    assert (home.home / ".claude/settings.json").read_text() == FILES[CODE][".claude/settings.json"]


def test_hooks_only_leaves_the_servers_to_the_client(home: Home) -> None:
    home.installer().install(CODE, HOOKS, RULES)
    assert (home.home / ".claude.json").read_text() == FILES[CODE][".claude.json"]
    assert "Bash" in home.json("home/.claude/settings.json")["permissions"]["deny"]
    with pytest.raises(InstallError, match="has no hooks"):
        home.installer().install("cursor", HOOKS, NOTHING)


def test_a_new_rule_reaches_the_clients_own_rules_and_the_matcher(home: Home) -> None:
    assert not home.installer().refresh(CODE, RULES)  # not installed
    home.installer().install(CODE, FULL, NOTHING)
    assert home.installer().refresh(CODE, RULES)
    content = home.json("home/.claude/settings.json")
    assert {"Bash", "mcp__git__push"} <= set(content["permissions"]["deny"])
    assert "Bash" in [group.get("matcher") for group in content["hooks"]["PreToolUse"]]
    unchanged = home.files()
    assert not home.installer().refresh(CODE, RULES)
    assert home.files() == unchanged
    assert home.installer().refresh(CODE, NOTHING)
    assert "Bash" not in home.json("home/.claude/settings.json")["permissions"]["deny"]
    home.installer().uninstall(CODE)
    assert (home.home / ".claude/settings.json").read_text() == FILES[CODE][".claude/settings.json"]


def test_sessions_that_start_together_do_not_take_each_others_rules_for_the_users(home: Home) -> None:
    home.installer().install(CODE, FULL, NOTHING)
    with ThreadPoolExecutor(4) as sessions:
        started = [sessions.submit(home.installer().refresh, CODE, RULES) for _ in range(8)]
        changed = [session.result() for session in started]
    assert changed.count(True) == 1
    assert home.installer().refresh(CODE, NOTHING)
    home.installer().uninstall(CODE)
    assert (home.home / ".claude/settings.json").read_text() == FILES[CODE][".claude/settings.json"]


def test_another_configuration_changes_nothing_of_an_install(home: Home) -> None:
    home.installer().install(CODE, FULL, RULES)
    assert not home.installer("/other/remit.toml").refresh(CODE, NOTHING)


def test_a_projects_rules_go_into_its_own_settings_and_out_with_the_install(home: Home) -> None:
    before = home.files()
    installer = home.installer()
    installer.install(CODE, FULL, NOTHING)
    assert not installer.refresh(CODE, NOTHING, home.project)
    assert not (home.root / "data/installs/projects").exists()
    assert installer.refresh(CODE, RULES, home.project)
    assert "Bash" in home.json("shop/.claude/settings.local.json")["permissions"]["deny"]
    assert load_record(record_path(CODE, home.machine, project=home.project)) is not None
    content = home.json("shop/.claude/settings.local.json")
    content["permissions"]["allow"] = ["Read"]  # as the client writes it anew
    home.write("shop/.claude/settings.local.json", content)
    assert installer.refresh(CODE, NOTHING, home.project)
    assert home.json("shop/.claude/settings.local.json") == {"permissions": {"allow": ["Read"]}}
    (home.shop / ".claude/settings.local.json").unlink()
    assert installer.refresh(CODE, RULES, home.project)
    installer.uninstall(CODE)
    assert home.files() == before


def test_a_projects_settings_that_git_tracks_are_refused(home: Home) -> None:
    home.shop.joinpath(".git").rmdir()
    path = home.write("shop/.claude/settings.local.json", "{}\n")
    git("init", "-q", cwd=home.shop)
    git("add", ".", cwd=home.shop)
    home.installer().install(CODE, FULL, NOTHING)
    with pytest.raises(InstallError, match="git tracks") as raised:
        home.installer().refresh(CODE, RULES, home.project)
    assert "git rm --cached" in str(raised.value.hint)
    assert path.read_text() == "{}\n"


def test_no_rules_are_written_behind_a_link_of_the_repository(home: Home) -> None:
    victim = home.write("blog/.claude/keep.txt", "").parent
    link = home.shop / ".claude"
    if link.exists():
        link.rename(home.shop / "old")
    link.symlink_to(victim)
    home.installer().install(CODE, FULL, NOTHING)
    with pytest.raises(InstallError, match="is a link"):
        home.installer().refresh(CODE, RULES, home.project)
    assert [path.name for path in victim.iterdir()] == ["keep.txt"]


@pytest.mark.parametrize("is_repaired", [False, True])
def test_an_old_record_is_taken_back_to_the_byte(home: Home, is_repaired: bool) -> None:
    before = home.files()
    words = ["/old/python", "-I", "-m", "remit", "serve", "--client", CODE, "--install", "/r"]
    hook = {"hooks": [{"type": "command", "command": "/old/python", "args": ["-m", "remit", "hook"]}]}
    edits = {
        ".claude.json": [Edit(("mcpServers", "remit"), {"command": words[0], "args": words[1:]})],
        ".claude/settings.json": [
            *(Edit(("hooks", event), hook, is_item=True) for event in ("SessionStart", "ConfigChange")),
            Edit(("allowedMcpServers",), [{"serverCommand": words}, {"serverCommand": ["g"]}]),
        ],
    }
    files: list[object] = []
    for name, wanted in edits.items():
        path = str(home.home / name)
        text, edited = apply_edits((home.home / name).read_text(), path, Format.JSON, wanted)
        change_file(path, lambda _, text=text: text)
        keys = [
            {
                "path": key.path,
                "value": key.value,
                "item": key.is_item,
                "earlier": key.earlier,
                "known": key.known,
            }
            for key in edited.keys
        ]
        digests = {"before": edited.before, "after": edited.after, "steps": edited.steps, "keys": keys}
        files.append({"path": path, "format": "json", "new": False, "made": [], **digests})
    ground: dict[str, object] = {
        "home": str(home.home),
        "data": None,
        "configuration": None,
        "variables": {},
        "store": None,
    }
    record = {"version": 2, "client": CODE, "at": 1, "ground": ground, "files": files}
    home.write("data/installs/claude-code.json", record)
    if is_repaired:
        home.installer().install(CODE, FULL, RULES)
        assert home.json("home/.claude/settings.json")["allowedMcpServers"][0] == {"serverName": "git"}
        assert "ConfigChange" not in home.json("home/.claude/settings.json")["hooks"]
    home.installer().uninstall(CODE)
    assert home.files() == before


def test_the_clients_own_files_read_as_their_user_wrote_them(home: Home) -> None:
    home.write("home/.claude/skills/polish/SKILL.md", "---\nname: polish\ndescription: d\n---\n")
    home.write("home/.claude.json", {**STATE, "projects": {str(home.shop): {}}})
    home.write("home/.claude/settings.json", {})
    before = home.read()
    skill = Tool(CODE, Kind.SKILL, Scope.GLOBAL, None, None, None, None, "polish")
    served = [item for item in before.declarations if item.server == "git"]
    home.installer().install(CODE, FULL, RULES._replace(hidden=[skill], served=served, declared=served))
    assert home.json("home/.claude/settings.json")["deniedMcpServers"] == [{"serverCommand": ["g"]}]
    home.installer().refresh(CODE, RULES, home.project)
    after = home.read()
    statuses = {item.name: str(item.status) for item in after.declarations}
    assert statuses.pop("mcp__remit__*") == "itself"
    assert statuses == {item.name: str(item.status) for item in before.declarations}
    assert after.permissions == before.permissions
    assert not after.problems
