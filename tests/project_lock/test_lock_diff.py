from remit.decision.definitions.project_lock import LockedPackage, LockedServer, Place, ProjectLock
from remit.project_lock.lock_diff import LockDetails, lock_differences

PACKAGE = LockedPackage("npm", "git", "1.0.0", "sha512-a")
PLACE: Place = (".mcp.json", "git")
GIT = LockedServer("e", PACKAGE, {"mcp__git__log": "p1", "mcp__git__add": "p2"})


def lock(
    server: LockedServer | None = GIT, source: str = ".mcp.json", **agents: tuple[str, ...]
) -> ProjectLock:
    servers = {} if server is None else {(source, "git"): server}
    seen = {agent: dict.fromkeys(names, "visible, low") for agent, names in agents.items()}
    return ProjectLock(servers=servers, visible={"claude-code": seen} if seen else {})


def notes(_: Place, tool: str) -> tuple[str, ...]:
    return (f"notes on {tool}",)


def test_equal_locks_do_not_differ() -> None:
    assert lock_differences(lock(main=("a",)), lock(main=("a",))) == []


def test_servers_come_and_go() -> None:
    assert lock_differences(lock(None), lock()) == ["git (.mcp.json): added"]
    assert lock_differences(lock(), lock(None)) == ["git (.mcp.json): removed"]


def test_everything_that_changed_in_a_server_is_named() -> None:
    newer = LockedPackage("npm", "git", "2.0.0", "sha512-b")
    now = LockedServer("f", newer, {"mcp__git__log": "p9", "mcp__git__rm": "p"})
    before = {"entry": ["runs git-mcp"], "mcp__git__log": ["description: a"]}
    after = {"entry": ["runs git-mcp --all"], "mcp__git__log": ["description: b"], "mcp__git__rm": ["c"]}
    details = LockDetails({PLACE: before}, {PLACE: after}, notes)
    assert lock_differences(lock(), lock(now), details) == [
        "git (.mcp.json): its entry changed",
        "    - runs git-mcp",
        "    + runs git-mcp --all",
        "git (.mcp.json): its package: version 1.0.0 -> 2.0.0",
        "git (.mcp.json): its package: integrity sha512-a -> sha512-b",
        "git (.mcp.json): - mcp__git__add",
        "git (.mcp.json): ~ mcp__git__log: its definition changed",
        "    - description: a",
        "    + description: b",
        "    notes on mcp__git__log",
        "git (.mcp.json): + mcp__git__rm",
        "    + c",
        "    notes on mcp__git__rm",
    ]


def test_a_change_in_a_part_that_a_lock_does_not_show_is_said() -> None:
    same = {PLACE: {"mcp__git__log": ["description: a"]}}
    now = GIT._replace(tools={**(GIT.tools or {}), "mcp__git__log": "p9"})
    changed = "git (.mcp.json): ~ mcp__git__log: its definition changed"
    found = lock_differences(lock(), lock(now), LockDetails(same, same))
    assert found == [changed, "    in a part that the lock does not show"]
    assert lock_differences(lock(), lock(now), LockDetails({}, same)) == [changed, "    + description: a"]


def test_a_long_integrity_is_shortened() -> None:
    old, new = (PACKAGE._replace(integrity=f"sha512-{sign * 88}") for sign in "ab")
    (line,) = lock_differences(lock(GIT._replace(package=old)), lock(GIT._replace(package=new)))
    assert line.endswith(f"integrity sha512-{'a' * 17}… -> sha512-{'b' * 17}…")


def test_a_server_whose_file_cannot_be_read_is_not_removed() -> None:
    details = LockDetails(unchecked=[PLACE])
    assert lock_differences(lock(main=("mcp__git__log",)), lock(None, main=()), details) == []


def test_tools_of_a_server_that_was_not_listed_are_not_gone() -> None:
    unlisted = GIT._replace(tools=None)
    assert lock_differences(lock(main=("mcp__git__log",)), lock(unlisted, main=())) == []


def test_what_several_clients_see_is_told_once() -> None:
    def seen(**clients: tuple[str, ...]) -> ProjectLock:
        found = {client: {"main": dict.fromkeys(names, "visible, low")} for client, names in clients.items()}
        return ProjectLock(visible=found)

    before = seen(claude=("a",), codex=("a",), cursor=("a",))
    everywhere = lock_differences(before, seen(claude=(), codex=(), cursor=()))
    assert everywhere == ["visible in all clients: main: - a"]
    some = lock_differences(before, seen(claude=(), codex=(), cursor=("a",)))
    assert some == ["visible in claude, codex: main: - a"]


def test_changed_instructions_are_named_and_those_that_are_not_locked() -> None:
    said = GIT._replace(instructions="i1")
    now = GIT._replace(instructions="i2")
    old, new = ({PLACE: {"instructions": [f"instructions: {text}"]}} for text in "ab")
    assert lock_differences(lock(said), lock(now), LockDetails(old, new)) == [
        "git (.mcp.json): ~ its instructions changed",
        "    - instructions: a",
        "    + instructions: b",
    ]
    assert lock_differences(lock(), lock(said)) == ["git (.mcp.json): its instructions are not locked"]
    assert lock_differences(lock(said), lock()) == ["git (.mcp.json): ~ its instructions changed"]


def test_a_package_that_comes_or_goes_is_named() -> None:
    without = GIT._replace(package=None)
    assert lock_differences(lock(without), lock()) == ["git (.mcp.json): its package was added: git"]
    assert lock_differences(lock(), lock(without)) == ["git (.mcp.json): its package was removed: git"]
    assert lock_differences(lock(without), lock(without)) == []


def test_what_is_unknown_now_is_no_difference_and_what_is_not_locked_is() -> None:
    vague = LockedServer("e", LockedPackage("npm", "git"), None)
    assert lock_differences(lock(), lock(vague)) == []
    assert lock_differences(lock(vague), lock()) == ["git (.mcp.json): its tools are not locked"]


def test_another_sandbox_is_named() -> None:
    boxed = GIT._replace(sandbox="no network; reads .")
    assert lock_differences(lock(boxed), lock()) == [
        "git (.mcp.json): its sandbox: no network; reads . -> none"
    ]
    assert lock_differences(lock(), lock(boxed))[0].endswith("none -> no network; reads .")


def test_a_server_of_a_plugin_that_is_not_installed_here_is_no_difference() -> None:
    plugins = lock(source="plugin quill")
    assert lock_differences(plugins, lock(None)) == []
    assert lock_differences(lock(None), plugins) == ["git (plugin quill): added"]
    assert lock_differences(lock(source="plugin x/.mcp.json"), lock(None)) == [
        "git (plugin x/.mcp.json): removed"
    ]


def test_what_clients_and_agents_see_is_compared() -> None:
    found = lock_differences(lock(main=("a", "b"), scout=("a",)), lock(main=("b", "c")))
    assert found == [
        "visible in claude-code: main: - a; + c",
        "visible in claude-code: scout: - a",
    ]


def test_a_tool_with_another_verdict_or_danger_is_named() -> None:
    asks = ProjectLock(visible={"claude-code": {"main": {"a": "ask, critical", "b": "visible, low"}}})
    assert lock_differences(asks, lock(None, main=("a", "b"))) == [
        "visible in claude-code: main: ~ a (ask, critical -> visible, low)"
    ]


def test_many_tools_are_counted_in_one_line_for_each_client_and_agent() -> None:
    found = lock_differences(lock(main=("a", "b", "c", "d", "e")), lock(main=()))
    assert found == ["visible in claude-code: main: - a, b, c and 2 more"]


def test_what_follows_from_an_entry_is_not_repeated_for_each_client() -> None:
    seen = lock(main=("mcp__git__log", "mcp__gitlab__log"))
    unseen = lock(main=())
    others = ["visible in claude-code: main: - mcp__gitlab__log"]
    removed = unseen._replace(servers={})
    assert lock_differences(seen, removed) == ["git (.mcp.json): removed", *others]
    assert lock_differences(removed, seen)[0] == "git (.mcp.json): added"
    changed = unseen._replace(servers={(".mcp.json", "git"): GIT._replace(entry="f")})
    assert lock_differences(seen, changed) == ["git (.mcp.json): its entry changed", *others]
