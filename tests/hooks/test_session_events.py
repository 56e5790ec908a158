"""What calls leave behind is told to the next session, and kept in its project's memory."""

import json
import os
from pathlib import Path

import pytest

from remit.errors import StoreUnavailableError
from remit.hooks.event_dispatch import respond
from remit.hooks.hook_context import HookEnvironment
from remit.memory.project_memory import Memory
from support.databases import run_sql
from support.processes import git
from support.sandbox import Sandbox

TRACES = "select subject, verb, times from traces order by id"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop", git=False)
    git("init", cwd=path)
    return path


def told(name: str, where: Path, **fields: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "s1", "cwd": str(where), **fields}


def edit(where: Path, file: str, call: str, **fields: object) -> dict[str, object]:
    given = {"file_path": file, "old_string": "hunter2", "new_string": "hunter3"}
    return told("PostToolUse", where, tool_name="Edit", tool_input=given, tool_use_id=call, **fields)


def ran(where: Path, command: str, call: str, *, failed: bool, **fields: object) -> dict[str, object]:
    told_of = told(
        "PostToolUseFailure" if failed else "PostToolUse", where, tool_name="Bash", tool_use_id=call
    )
    outcome = {"error": "Exit code 2\nhunter2"} if failed else {"tool_response": {"stdout": "hunter2"}}
    return {**told_of, "tool_input": {"command": command}, **outcome, **fields}


def context(sandbox: Sandbox, where: Path) -> str:
    return sandbox.hook({**told("SessionStart", where), "session_id": "next"})["additionalContext"]


def remembered(sandbox: Sandbox) -> list[tuple[str, ...]]:
    return run_sql(
        sandbox.database,
        "select subject, body from memory_nodes where kind = 'observation' order by created_at, id",
    )


def have_a_memory(sandbox: Sandbox) -> str:
    with sandbox.memory() as memory:
        id = sandbox.remit("memory", "id", cwd=sandbox.root / "code/shop").stdout.strip()
        empty: dict[str, list[str]] = {
            key: [] for key in ("actions_taken", "decisions_made", "open_items", "next_actions")
        }
        memory.save(
            "save_session",
            {"session": {"objective": "mend the till", "save_scope": "project", **empty}, "project_id": id},
        )
    return id


def test_a_file_that_was_changed_is_told_once_with_how_often(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(edit(shop, str(shop / "src/till.py"), "t1"))
    sandbox.hook(edit(shop, "src/till.py", "t2"))
    sandbox.hook(edit(shop, str(shop / "src/till.py"), "t2"))  # the same call, told again
    sandbox.hook(
        told("PostToolUse", shop, tool_name="Write", tool_input={"file_path": "new.py"}, tool_use_id="t3")
    )
    assert "## Recent Changes\n- Wrote new.py\n- Edited src/till.py (2 times)" in context(sandbox, shop)
    assert sandbox.log() == []


def test_another_session_counts_anew(sandbox: Sandbox, shop: Path) -> None:
    for number in range(2):
        sandbox.hook(edit(shop, "till.py", f"t{number}"))
    sandbox.hook({**edit(shop, "till.py", "t9"), "session_id": "s2"})
    assert run_sql(sandbox.database, TRACES) == [("till.py", "edited", 1)]


def test_nothing_outside_the_checkout_or_in_gits_own_folder_is_kept(sandbox: Sandbox, shop: Path) -> None:
    blog = sandbox.project("blog")
    os.symlink(blog, shop / "link")
    for number, file in enumerate(
        [blog / "a.py", shop / "../blog/a.py", shop / "link/a.py", shop / ".git/config", shop, "/\0"]
    ):
        sandbox.hook(edit(shop, str(file), f"t{number}"))
    assert run_sql(sandbox.database, TRACES) == []
    sandbox.hook(edit(shop / "link", "a.py", "t8"))  # its shell may be elsewhere
    assert "till" not in context(sandbox, blog)
    assert sandbox.log() == []


def test_no_session_of_another_project_is_told_of_it(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(edit(shop, "till.py", "t1"))
    assert "till.py" not in context(sandbox, sandbox.project("blog"))


def test_a_commit_counts_where_the_project_has_it(sandbox: Sandbox, shop: Path) -> None:
    (shop / "a").touch()
    git("add", "a", cwd=shop)
    git("commit", "-m", "Open the shop", cwd=shop)
    head = (shop / ".git/refs/heads/main").read_text()[:7]
    for number, id in enumerate((head, "1234567")):
        answer = {"stdout": f"[main {id}] Open the shop\n 1 file changed\n"}
        told_of = ran(shop, "git commit -m x", f"t{number}", failed=False, tool_response=answer)
        sandbox.hook(told_of)
    assert f"## Recent Changes\n- Committed {head} Open the shop" in context(sandbox, shop)
    assert run_sql(sandbox.database, TRACES) == [(f"{head} Open the shop", "committed", 1)]


@pytest.mark.long
def test_a_check_that_fails_is_a_finding_until_it_passes(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(ran(shop, "make test", "t0", failed=False))
    assert run_sql(sandbox.database, TRACES) == []
    sandbox.hook(ran(shop, "make test", "t1", failed=True))
    sandbox.hook(ran(shop, "make test", "t2", failed=True))
    fails = "## Recent Findings\n- `make test` failed when it was last run (2 times in a row)"
    assert fails in context(sandbox, shop)
    sandbox.hook({**ran(shop, "make test", "t3", failed=False), "session_id": "s2"})
    assert "- `make test` passes again, after it failed 2 times" in context(sandbox, shop)
    sandbox.hook({**ran(shop, "make test", "t4", failed=True), "session_id": "s2"})
    assert "- `make test` failed when it was last run\n" in context(sandbox, shop) + "\n"


def test_the_same_check_in_another_directory_is_another(sandbox: Sandbox, shop: Path) -> None:
    for place in ("web", "api"):
        (shop / place).mkdir()
    sandbox.hook(ran(shop, "cd web && npm test", "t1", failed=True))
    sandbox.hook(ran(shop / "api", "npm test", "t2", failed=False))
    sandbox.hook(ran(shop, "cd / && npm test", "t3", failed=True))
    assert run_sql(sandbox.database, TRACES) == [("npm test in web", "fails", 1)]


def test_a_page_that_was_read_is_a_reference_through_the_gateway_too(sandbox: Sandbox, shop: Path) -> None:
    page = {"url": "https://docs.python.org/3/?token=hunter2"}
    sandbox.hook(told("PostToolUse", shop, tool_name="WebFetch", tool_input=page, tool_use_id="t1"))
    with sandbox.registry() as registry:
        registry.usage.record("mcp__web__fetch", registry.at(str(shop)), call_id="t2", succeeded=True)
    given = {"name": "web__fetch", "arguments": {"url": "https://sqlite.org/wal.html"}}
    through = told("PostToolUse", shop, tool_name="mcp__remit__call_tool", tool_input=given, tool_use_id="t2")
    sandbox.hook(through)
    sandbox.hook(through)
    expected = "## References\n- Read https://sqlite.org/wal.html\n- Read https://docs.python.org/3/"
    assert expected in context(sandbox, shop)


@pytest.mark.long
def test_what_was_left_becomes_observations_of_a_project_that_has_a_memory(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.hook(edit(shop, "till.py", "t1"))
    context(sandbox, shop)
    assert remembered(sandbox) == []  # only save_session makes a memory
    id = have_a_memory(sandbox)
    assert "- Edited till.py\n" in context(sandbox, shop) + "\n"
    assert remembered(sandbox) == [("change", "Edited till.py")]
    sandbox.hook(edit(shop, "till.py", "t2"))
    shown = sandbox.remit("context", cwd=shop).stdout
    assert "- Edited till.py (2 times)" in shown
    assert "- Edited till.py\n" not in shown
    context(sandbox, shop)
    assert remembered(sandbox) == [("change", "Edited till.py (2 times)")]
    assert run_sql(sandbox.database, "select is_news from traces") == [(0,)]
    assert run_sql(
        sandbox.database, "select distinct project from memory_nodes where kind = 'observation'"
    ) == [(id,)]


def test_observations_are_listed_by_what_they_say(sandbox: Sandbox, shop: Path) -> None:
    have_a_memory(sandbox)
    sandbox.hook(edit(shop, "till.py", "t1"))
    context(sandbox, shop)
    listed = sandbox.remit("memory", "list", cwd=shop).stdout.splitlines()
    (row,) = [line for line in listed if "observation-" in line]
    assert row.endswith("  Edited till.py")


def test_an_observation_is_as_old_as_what_it_is_of(sandbox: Sandbox, shop: Path) -> None:
    have_a_memory(sandbox)
    sandbox.hook(edit(shop, "till.py", "t1"))
    run_sql(sandbox.database, "update traces set left_at = left_at - 2 * 86400000")
    assert "Recent Changes" not in context(sandbox, shop)
    assert remembered(sandbox) == [("change", "Edited till.py")]


def test_what_was_erased_from_memory_does_not_come_back(sandbox: Sandbox, shop: Path) -> None:
    have_a_memory(sandbox)
    sandbox.hook(edit(shop, "till.py", "t1"))
    context(sandbox, shop)
    sandbox.remit("memory", "delete", "--yes", cwd=shop)
    assert "till.py" not in context(sandbox, shop)
    assert remembered(sandbox) == []


@pytest.mark.long
@pytest.mark.parametrize("place", ["remit.toml", "machine"])
def test_where_it_is_switched_off_nothing_is_kept_or_told(sandbox: Sandbox, shop: Path, place: str) -> None:
    sandbox.hook(edit(shop, "before.py", "t0"))
    path = sandbox.home / ".config/remit/remit.toml" if place == "machine" else shop / place
    sandbox.write(path, "[memory]\nobserve = false\n")
    sandbox.hook(edit(shop, "till.py", "t1"))
    sandbox.hook(ran(shop, "make test", "t2", failed=True))
    assert [subject for subject, *_ in run_sql(sandbox.database, TRACES)] == ["before.py"]
    assert "Recent" not in context(sandbox, shop)


def test_no_part_of_a_file_a_command_or_an_answer_is_kept(sandbox: Sandbox, shop: Path) -> None:
    have_a_memory(sandbox)
    sandbox.hook(edit(shop, "till.py", "t1"))
    sandbox.hook(ran(shop, "TOKEN=hunter2 make test", "t2", failed=True))
    page = {"url": "https://ada:hunter2@sqlite.org/?key=hunter2", "prompt": "hunter2"}
    sandbox.hook(told("PostToolUse", shop, tool_name="WebFetch", tool_input=page, tool_use_id="t3"))
    context(sandbox, shop)
    assert len(remembered(sandbox)) == 3
    kept = [path.read_bytes() for path in (sandbox.root / "data").rglob("*") if path.is_file()]
    assert b"till.py" in b"".join(kept)
    assert b"hunter2" not in b"".join(kept)


def test_traces_that_are_too_old_are_forgotten(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(edit(shop, "till.py", "t1"))
    sandbox.hook(told("SessionEnd", shop))
    assert len(run_sql(sandbox.database, TRACES)) == 1
    run_sql(sandbox.database, "update traces set left_at = left_at - 31 * 86400000")
    sandbox.hook(told("SessionEnd", shop))
    assert run_sql(sandbox.database, TRACES) == []


def test_what_is_forgotten_of_a_project_is_what_it_left_too(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(edit(shop, "till.py", "t1"))
    sandbox.hook(told("PostToolUseFailure", shop, tool_name="mcp__remit__ledger__post", tool_use_id="t2"))
    assert sandbox.remit("forget", str(shop), "--yes").returncode == 0
    assert run_sql(sandbox.database, "select count(*) from traces") == [(0,)]
    assert run_sql(sandbox.database, "select count(*) from reported_calls") == [(0,)]


def test_what_cannot_be_remembered_keeps_no_session_from_beginning(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.hook(edit(shop, "till.py", "t1"))
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)

    def fail(_: str) -> Memory:
        raise StoreUnavailableError("it is full")

    environment = HookEnvironment(open_memory=fail)
    assert "- Edited till.py" in respond(json.dumps(told("SessionStart", shop)).encode(), environment)
    assert "SessionStart StoreUnavailableError it is full" in sandbox.log()[0]
