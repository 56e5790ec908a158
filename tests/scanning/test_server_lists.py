"""Asking real servers through the registry: what is started, from where, and what is kept of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from remit.decision.client_reports import ClientCall
from remit.decision.context import Context
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, Kind, ToolStatus
from remit.decision.scopes import Scope
from remit.errors import UnknownServerError
from remit.registry import Registry
from remit.scanning.scanner import Progress
from remit.scanning.server_lists import ServerListing
from remit.upstream.live_servers import LiveServers
from support.builders import servers, visible_names
from support.databases import run_sql
from support.forked_commands import fork_server
from support.processes import SERVERS, read_pipe
from support.sandbox import Sandbox
from support.upstream_pools import launch_resources

SMALL_SERVER = str(SERVERS / "small_server.py")


def entry(kind: str, *arguments: str, **more: object) -> dict[str, object]:
    return {"command": sys.executable, "args": [SMALL_SERVER, kind, *arguments], **more}


def connect(
    registry: Registry, at: Context, *labels: str, deadline: float = 60, home: str = "/"
) -> dict[str, ServerListing]:
    upstreams = LiveServers(launch_resources({"PATH": os.environ["PATH"]}, home))
    found = registry.servers.connect(at, upstreams, names=labels, deadline=deadline)
    return {str(item.tool.server): item for item in found}


def trust(registry: Registry, at: Context, *labels: str) -> None:
    registry.trust.grant(registry.trust.servers(at, labels), at)


def tools(registry: Registry, at: Context) -> dict[str, ToolStatus]:
    return {
        item.tool.name: item.tool.status for item in registry.tools(at) if item.tool.kind is Kind.MCP_TOOL
    }


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "note"


def test_a_server_lists_what_it_offers_to_a_client_that_can_answer_it(sandbox: Sandbox, shop: Path) -> None:
    able = {"command": sys.executable, "args": [str(SERVERS / "by_hand.py"), "--era", "old", "--summarizes"]}
    sandbox.write(sandbox.home / ".claude.json", servers(able=able))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        connect(registry, at)
        assert "mcp__able__summarize" in tools(registry, at)


def test_the_tools_of_a_users_server_are_listed_and_visible_in_every_project(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old")))
    blog = sandbox.project("blog")
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        connected = connect(registry, at)["git"]
        assert connected.offer is not None
        assert len(connected.offer.tools) == 3
        expected = {"mcp__git__read", "mcp__git__write", "mcp__git__do_it"}
        assert tools(registry, at).keys() == tools(registry, registry.at(str(blog))).keys() == expected
        read = registry.explain("mcp__git__read", at)
    assert read.tool is not None
    assert (read.tool.scope, read.tool.authority) == (Scope.GLOBAL, Authority.CONFIG)
    assert (read.tool.description, read.tool.server) == ("does read", "git")
    kept = run_sql(
        sandbox.database, "select listed_at, listed_digest = digest, protocol_version from tools order by id"
    )
    assert kept[0][0] is not None
    assert kept[0][1:] == (1, "2024-11-05")


def test_a_projects_server_is_not_started_until_it_is_trusted(
    sandbox: Sandbox, shop: Path, note: Path
) -> None:
    sandbox.write(shop / ".mcp.json", servers(till=entry("tell", str(note))))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        refused = connect(registry, at)["till"]
        assert (refused.offer, refused.decision.gate) == (None, Gate.CONFIG)
        assert refused.decision.unlock == "look at it with `remit trust`, then run `remit trust till`"
        assert not note.exists()
        assert visible_names(registry, at) == ["project till"]  # the client starts it by its own rules

        trust(registry, at, "till")
        assert connect(registry, at)["till"].offer is not None
    assert json.loads(note.read_text())["cwd"] == str(shop)


def change_command(entry: dict[str, object]) -> None:
    entry["command"] = "/bin/echo"


def change_arguments(entry: dict[str, object]) -> None:
    entry["args"] = [SMALL_SERVER, "old", "--more"]


def add_a_variable(entry: dict[str, object]) -> None:
    entry["env"] = {"NODE_OPTIONS": "--a", "MORE": "x"}


def steer_the_code(entry: dict[str, object]) -> None:
    entry["env"] = {"NODE_OPTIONS": "--require=./evil.js"}


@pytest.mark.parametrize("change", [change_command, change_arguments, add_a_variable, steer_the_code])
def test_trust_ends_when_the_entry_changes_and_comes_back_with_it(
    sandbox: Sandbox, shop: Path, change: Callable[[dict[str, object]], None]
) -> None:
    trusted = entry("old", env={"NODE_OPTIONS": "--a"})
    changed = dict(trusted)
    change(changed)
    with sandbox.registry() as registry:
        at = registry.at(str(shop))

        def is_trusted(content: dict[str, object]) -> list[tuple[bool, bool]]:
            sandbox.write(shop / ".mcp.json", servers(till=content))
            return [(item.is_trusted, item.is_changed) for item in registry.trust.servers(at)]

        assert is_trusted(trusted) == [(False, False)]
        trust(registry, at)
        assert is_trusted(trusted) == [(True, False)]
        assert is_trusted(changed) == [(False, True)]
        assert connect(registry, at)["till"].offer is None
        assert is_trusted(trusted) == [(True, False)]


def test_trust_is_taken_back_and_forgotten_with_the_project(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        trust(registry, at)
        registry.trust.revoke(registry.trust.servers(at, ["mcp__till__*"]), at)
        assert [item.is_trusted for item in registry.trust.servers(at)] == [False, True]
        registry.projects.forget(at.workspace.project)
        assert [item.is_trusted for item in registry.trust.servers(at)] == [False, False]
    assert run_sql(sandbox.database, "select * from trust") == []


def test_trust_of_one_project_is_none_in_another_with_the_same_file(
    sandbox: Sandbox, shop: Path, note: Path
) -> None:
    blog = sandbox.project("blog")
    for project in (shop, blog):
        sandbox.write(project / ".mcp.json", servers(till=entry("tell", str(note))))
    with sandbox.registry() as registry:
        trust(registry, registry.at(str(shop)))
        assert connect(registry, registry.at(str(blog)))["till"].offer is None
        assert [item.is_trusted for item in registry.trust.servers(registry.at(str(blog)))] == [False]
    assert not note.exists()


def test_what_cannot_be_seen_cannot_be_trusted(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers(till=entry("old")))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        registry.scan(at)
        sandbox.write(shop / ".mcp.json", "{ broken")
        trust(registry, at)
        assert [(item.declaration.launch, item.is_trusted) for item in registry.trust.servers(at)] == [
            (None, False)
        ]
        sandbox.write(shop / ".mcp.json", servers(till=entry("old")))
        trust(registry, at)
        sandbox.write(shop / ".mcp.json", "{ broken")
        (unread,) = connect(registry, at).values()
        sandbox.write(shop / ".mcp.json", servers(till=entry("old")))
        registry.scan(at)
        assert [item.is_trusted for item in registry.trust.servers(at)] == [True]
    assert (unread.offer, unread.why_not) == (None, "declared in .mcp.json, not trusted")


def test_a_users_server_in_a_file_that_cannot_be_read_now_is_not_started(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(till=entry("old")))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        registry.scan(at)
        sandbox.write(sandbox.home / ".claude.json", "{ broken")
        (unread,) = connect(registry, at).values()
    assert (unread.offer, unread.why_not) == (None, "its file cannot be read now")


def test_a_users_own_servers_need_no_trust(sandbox: Sandbox, shop: Path) -> None:
    local = {"mcpServers": {"mine": entry("old")}}
    sandbox.write(
        sandbox.home / ".claude.json", {**servers(git=entry("old")), "projects": {str(shop): local}}
    )
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        assert registry.trust.servers(at) == []
        assert {label: item.offer is not None for label, item in connect(registry, at).items()} == {
            "git": True,
            "mine": True,
        }


def test_a_global_server_starts_at_home_and_a_local_one_in_the_launch_directory(
    sandbox: Sandbox, shop: Path
) -> None:
    notes = {"git": sandbox.root / "git-note", "mine": sandbox.root / "mine-note"}
    local = {"mcpServers": {"mine": entry("tell", str(notes["mine"]))}}
    state = {**servers(git=entry("tell", str(notes["git"]))), "projects": {str(shop): local}}
    sandbox.write(sandbox.home / ".claude.json", state)
    (shop / "api").mkdir()
    with sandbox.registry() as registry:
        connect(registry, registry.at(str(shop / "api")), home=str(sandbox.home))
    read_pipe = {label: json.loads(note.read_text()) for label, note in notes.items()}
    assert read_pipe["git"]["cwd"] == read_pipe["git"]["env"]["CLAUDE_PROJECT_DIR"] == str(sandbox.home)
    assert read_pipe["mine"]["cwd"] == read_pipe["mine"]["env"]["CLAUDE_PROJECT_DIR"] == str(shop / "api")


def test_what_is_not_in_force_is_not_started(sandbox: Sandbox, shop: Path, note: Path) -> None:
    silent = entry("tell", str(note))
    sandbox.write(sandbox.home / ".claude/settings.json", {"disabledMcpjsonServers": ["rejected"]})
    local = {
        "mcpServers": {"shadowed": entry("old")},
        "disabledMcpServers": ["off"],
    }
    state = {**servers(off=silent, shadowed=silent), "projects": {str(shop): local}}
    sandbox.write(sandbox.home / ".claude.json", state)
    sandbox.write(shop / ".mcp.json", servers(pending=silent, rejected=silent))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        trust(registry, at)
        assert connect(registry, at).keys() == {"shadowed"}
        assert not note.exists()
        pending = connect(registry, at, "pending")["pending"]
    assert pending.offer is None
    assert "waiting for approval" in pending.decision.reason
    assert not note.exists()


def test_remit_itself_is_never_an_upstream(sandbox: Sandbox, shop: Path) -> None:
    sandbox.install_gateway()
    sandbox.write(shop / ".mcp.json", servers(other={"command": "remit", "args": ["serve"]}))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        trust(registry, at)
        (found,) = connect(registry, at).values()
    assert found.offer is None
    assert "starts another gateway of Remit" in found.decision.reason


def test_only_the_servers_that_are_named_are_asked(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old"), wiki=entry("old")))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        assert connect(registry, at, "wiki").keys() == {"wiki"}
        with pytest.raises(UnknownServerError, match="no server is called `nonsense` here"):
            connect(registry, at, "wiki", "nonsense")


def test_a_server_of_another_project_is_unknown_like_one_that_exists_nowhere(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(sandbox.project("blog") / ".mcp.json", servers("press"))
    with sandbox.registry() as registry:
        registry.scan(registry.at(str(sandbox.root / "code/blog")))
        at = registry.at(str(shop))
        press, nowhere = (refusals(registry, at, name) for name in ("press", "nowhere"))
    assert press == nowhere


def refusals(registry: Registry, at: Context, name: str) -> list[str]:
    with pytest.raises(UnknownServerError) as to_connect:
        connect(registry, at, name)
    with pytest.raises(UnknownServerError) as to_trust:
        trust(registry, at, name)
    return [str(raised.value).replace(name, "?") for raised in (to_connect, to_trust)]


def test_the_tools_of_a_projects_server_stay_in_the_project(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers(till=entry("old")))
    blog = sandbox.project("blog")
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        trust(registry, at)
        connect(registry, at)
        assert len(tools(registry, at)) == 3
        assert tools(registry, registry.at(str(blog))) == {}


def test_a_tool_that_is_no_longer_listed_is_stale_and_comes_back_when_it_is(
    sandbox: Sandbox, shop: Path
) -> None:
    with sandbox.registry() as registry:
        at = registry.at(str(shop))

        def listed(kind: str) -> dict[str, ToolStatus]:
            sandbox.write(sandbox.home / ".claude.json", servers(git=entry(kind)))
            connect(registry, at)
            return tools(registry, at)

        assert set(listed("old").values()) == {ToolStatus.ACTIVE}
        assert listed("bad") == {
            "mcp__git__read": ToolStatus.STALE,
            "mcp__git__write": ToolStatus.STALE,
            "mcp__git__do_it": ToolStatus.ACTIVE,
            "mcp__git__good": ToolStatus.ACTIVE,
            "mcp__git__also-good": ToolStatus.ACTIVE,
        }
        why = registry.explain("mcp__git__read", at)
        assert why.decision.reason == "its server `git` no longer lists it"
        assert listed("old")["mcp__git__read"] is ToolStatus.ACTIVE


def test_a_use_does_not_bring_back_what_a_server_does_not_list(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old")))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        registry.usage.record("mcp__git__hidden", at)
        connect(registry, at)
        assert tools(registry, at)["mcp__git__hidden"] is ToolStatus.STALE
        registry.usage.record("mcp__git__hidden", at)
        assert tools(registry, at)["mcp__git__hidden"] is ToolStatus.STALE
        call = ClientCall("mcp__git__hidden", server="git")
        assert registry.decide_call(call, at)[0].is_available  # the client has it, and knows better


def test_a_server_that_fails_keeps_its_last_known_tools_and_says_that_they_are_old(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old")))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        connect(registry, at)
        sandbox.write(sandbox.home / ".claude.json", servers(git=entry("crash")))
        failed = connect(registry, at)["git"]
        assert failed.offer is not None
        assert failed.offer.failure is not None
        assert set(tools(registry, at).values()) == {ToolStatus.ACTIVE}
        reason = registry.explain("mcp__git__read", at).decision.reason
    assert reason == "its server `git` is declared in ~/.claude.json (changed since its tools were listed)"


def test_doctor_says_once_what_keeps_a_server_from_being_started(sandbox: Sandbox, shop: Path) -> None:
    needy = {**entry("old"), "env": {"TOKEN": "${UNSET}"}}
    sandbox.write(sandbox.home / ".claude.json", servers(git={"command": "/nowhere/git"}, wiki=needy))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        connect(registry, at)
        found = {(item.subject, item.check) for item in registry.diagnose(at)}
    assert {("git", "program"), ("wiki", "variable")} <= found
    assert not any(check == "start" for _, check in found)


def test_doctor_names_a_server_that_did_not_answer_until_it_answers_or_its_entry_changes(
    sandbox: Sandbox, shop: Path
) -> None:
    def failures(registry: Registry, at: Context) -> list[str]:
        found = registry.diagnose(at)
        return [f"{item.subject}: {item.reason}" for item in found if item.check == "start"]

    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("crash")))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        assert failures(registry, at) == []
        connect(registry, at)
        (failure,) = failures(registry, at)
        assert failure.startswith("git: last connection failed: ended before it answered")
        sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old")))
        assert failures(registry, at) == []
        connect(registry, at)
        assert failures(registry, at) == []


def test_what_was_seen_in_use_before_becomes_one_with_what_is_listed(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        registry.usage.record("mcp__git__read", at)  # before any configuration knows the server
        registry.usage.report_tool("mcp__git__read", at, description="as an agent put it")
        sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old")))
        connect(registry, at)
        rows = [item.tool for item in registry.tools(at) if item.tool.name == "mcp__git__read"]
    assert [(row.scope, row.usage_count, row.description) for row in rows] == [(Scope.GLOBAL, 1, "does read")]


def test_the_tools_of_a_users_server_outlive_a_forgotten_project(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old")))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        connect(registry, at)
        registry.projects.forget(at.workspace.project)
        assert len(tools(registry, registry.at(str(sandbox.project("blog"))))) == 3


def test_two_servers_whose_names_fall_together_keep_their_own_tools(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": {"a.b": entry("old"), "a_b": entry("bad")}})
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        connect(registry, at)
        found = [item.tool for item in registry.tools(at) if item.tool.kind is Kind.MCP_TOOL]
    assert sorted((tool.server or "", tool.name) for tool in found if tool.name == "mcp__a_b__do_it") == [
        ("a.b", "mcp__a_b__do_it"),
        ("a_b", "mcp__a_b__do_it"),
    ]


def test_progress_is_told_from_nothing_to_all(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(
        sandbox.home / ".claude.json", servers(git=entry("old"), gone={"command": "/no/such/program"})
    )
    steps: list[Progress] = []
    with sandbox.registry() as registry:
        upstreams = LiveServers(launch_resources({"PATH": os.environ["PATH"]}))
        registry.servers.connect(registry.at(str(shop)), upstreams, on_progress=steps.append)
    assert [(step.done, step.total) for step in steps] == [(0, 2), (1, 2), (2, 2)]
    assert {step.label for step in steps[1:]} == {"git", "gone"}


@pytest.mark.parametrize("deadline", [0, -1, float("nan")])
def test_a_deadline_that_is_no_time_is_refused(sandbox: Sandbox, shop: Path, deadline: float) -> None:
    with sandbox.registry() as registry, pytest.raises(ValueError, match="a number of seconds above 0"):
        connect(registry, registry.at(str(shop)), deadline=deadline)


@pytest.mark.sqlite_only
def test_nothing_of_a_launch_is_stored(sandbox: Sandbox, shop: Path) -> None:
    canary = "c4n4ry-of-a-secret"
    env = {"TOKEN": canary, "NODE_OPTIONS": canary}
    sandbox.write(
        shop / ".mcp.json", servers(till=entry("crash", f"--token={canary}", env={**env, "PASSWORD": canary}))
    )
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        trust(registry, at)
        failed = connect(registry, at)["till"].offer
    assert failed is not None
    assert failed.failure is not None
    assert list(failed.failure.output) == ["cannot log in", "with ***"]
    assert canary not in repr(failed)
    files = list(sandbox.database.parent.iterdir())
    assert files
    assert [file.name for file in files if canary.encode() in file.read_bytes()] == []


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize(
    "numbers", [[signal.SIGINT] * 2, [signal.SIGTERM] * 2, [signal.SIGTERM, signal.SIGINT]]
)
def test_a_second_request_to_end_leaves_no_server_that_ignores_the_first(
    sandbox: Sandbox, shop: Path, numbers: list[signal.Signals]
) -> None:
    pipe = sandbox.root / "pipe"
    os.mkfifo(pipe)
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("deaf", str(pipe))))
    command = fork_server().command("remit", "scan", "--connect", "git")
    with subprocess.Popen(command, cwd=shop, env=sandbox.environment, stderr=subprocess.PIPE) as run:
        server = int(read_pipe(pipe))
        for number in numbers:
            run.send_signal(number)
            with suppress(subprocess.TimeoutExpired):  # it gets the next one while it ends the server
                run.wait(timeout=0.2)
        run.communicate(timeout=60)
    assert (run.returncode, is_running(server)) == (130, False)
