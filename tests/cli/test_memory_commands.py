"""The command `remit memory`."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.memory.memory_scopes import memory_id
from support.memory_calls import decide, note, start
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


@pytest.fixture
def mine(sandbox: Sandbox, shop: Path) -> str:
    with sandbox.memory(shop.name) as memory:
        id = memory_id(memory.workspace.project)
        start(memory, id, "other")
        decide(memory, id, "Use SQLite for storage", "one file, no server")
        note(memory, id, "tokens rotate daily", "auth")
        note(memory, "other", "somebody else's words")
    return id


def answer(sandbox: Sandbox, cwd: Path, *arguments: str) -> dict[str, Any]:
    done = sandbox.remit("memory", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_id_is_the_folder_and_its_hash(sandbox: Sandbox, shop: Path, mine: str) -> None:
    assert sandbox.remit("memory", "id", cwd=shop).stdout == f"{mine}\n"
    assert mine.startswith("shop-")
    assert answer(sandbox, shop, "id") == {"project_id": mine, "exists": True}
    assert f"project_id: {mine}" in sandbox.remit("context", cwd=shop).stdout


def test_what_is_kept_is_listed_and_shown(sandbox: Sandbox, shop: Path, mine: str) -> None:
    listed = sandbox.remit("memory", "list", cwd=shop).stdout
    assert "Use SQLite for storage" in listed
    assert "focus auth" in listed
    assert "somebody" not in listed
    found = answer(sandbox, shop, "list")
    assert (found["project_id"], len(found["artifacts"])) == (mine, 3)
    id = next(each["id"] for each in found["artifacts"] if each["kind"] == "decision")
    shown = sandbox.remit("memory", "show", id, cwd=shop).stdout
    assert "one file, no server" in shown
    assert answer(sandbox, shop, "show", id)["content"]["owner"] == "ada"
    assert len(answer(sandbox, shop, "list", "--limit", "1")["artifacts"]) == 1


def projects(sandbox: Sandbox, shop: Path) -> list[str]:
    return [each["project_id"] for each in answer(sandbox, shop, "list", "--projects")["projects"]]


def test_other_memories_are_shown_to_their_user_by_name(sandbox: Sandbox, shop: Path, mine: str) -> None:
    assert projects(sandbox, shop) == ["other", mine]
    assert "other" in sandbox.remit("memory", "list", "--projects", cwd=shop).stdout
    assert "notes" in sandbox.remit("memory", "list", "--id", "other", cwd=shop).stdout
    assert "No global memory." in sandbox.remit("memory", "list", "--global", cwd=shop).stdout
    both = sandbox.remit("memory", "list", "--global", "--id", "x", cwd=shop)
    assert (both.returncode, "pass --id or --global, not both" in both.stderr) == (2, True)


def test_an_artifact_of_another_project_is_not_there(sandbox: Sandbox, shop: Path, mine: str) -> None:
    theirs = answer(sandbox, shop, "list", "--id", "other")["artifacts"][0]["id"]
    for id in (theirs, "decision-none"):
        done = sandbox.remit("memory", "show", id, cwd=shop)
        assert done.returncode == 1
        assert done.stderr == (
            f"error: `id` must be the id of an artifact of `{mine}`, but is unknown\n"
            "hint: `remit memory list` lists them\n"
        )


def test_memory_is_searched(sandbox: Sandbox, shop: Path, mine: str) -> None:
    found = answer(sandbox, shop, "search", "where", "is", "storage")
    assert found["matches"][0]["name"] == "Use SQLite for storage"
    assert mine == found["matches"][0]["project_id"]
    assert "tokens rotate daily" in sandbox.remit("memory", "search", "tokens", cwd=shop).stdout
    nothing = sandbox.remit("memory", "search", "xyzzy", cwd=shop)
    assert (nothing.returncode, nothing.stdout) == (1, "")


def test_a_search_for_tools_finds_no_memory_and_one_of_memory_no_tools(
    sandbox: Sandbox, shop: Path, mine: str
) -> None:
    sandbox.write(shop / ".claude/commands/storage.md", "Clean up the storage")
    found = json.loads(sandbox.remit("search", "storage", "--json", cwd=shop).stdout)
    assert [each["name"] for each in found["tools"]] == ["/storage"]
    kept = answer(sandbox, shop, "search", "storage")["matches"]
    assert {each["project_id"] for each in kept} == {mine}
    assert "Clean up" not in json.dumps(kept)


def test_memory_is_exported_and_imported(sandbox: Sandbox, shop: Path, mine: str, tmp_path: Path) -> None:
    lines = sandbox.remit("memory", "export", cwd=shop).stdout
    assert "somebody" not in lines
    file = tmp_path / "memory.jsonl"
    assert sandbox.remit("memory", "export", "--all", "--output", str(file), cwd=shop).returncode == 0
    assert "somebody" in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    assert answer(sandbox, shop, "import", str(file))["added"] == 0
    other = Sandbox(root=tmp_path / "other")
    there = other.project("shop")
    refused = other.remit("memory", "import", "-", cwd=there, stdin=lines)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "would be seen in other projects" in refused.stderr
    (pending,) = json.loads(other.remit("approve", "--json", cwd=there).stdout)["approvals"]
    assert other.remit("approve", pending["id"], "--yes", cwd=there).returncode == 0
    done = other.remit("memory", "import", "-", cwd=there, stdin=lines)
    assert done.stdout == "added 5 records; 0 records already known\n"
    assert other.remit("memory", "export", "--id", mine, cwd=there).stdout == lines
    for wrong, code in (("nowhere.jsonl", 2), (str(tmp_path), 2)):
        assert sandbox.remit("memory", "import", wrong, cwd=shop).returncode == code
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "is not UTF-8 text" in sandbox.remit("memory", "import", str(tmp_path / "bytes"), cwd=shop).stderr
    assert sandbox.remit("memory", "export", "--output", str(tmp_path), cwd=shop).returncode == 2


def test_an_export_that_is_imported_again_adds_nothing_though_it_was_looked_through_since(
    sandbox: Sandbox, shop: Path, mine: str
) -> None:
    lines = sandbox.remit("memory", "export", "--id", mine, cwd=shop).stdout
    sandbox.remit("memory", "hygiene", cwd=shop)
    now = sandbox.remit("memory", "export", cwd=shop).stdout
    assert now != lines
    done = sandbox.remit("memory", "import", "-", cwd=shop, stdin=lines)
    assert done.stdout == "added 0 records; 5 records already known\n"
    assert sandbox.remit("memory", "export", cwd=shop).stdout == now


def test_memory_is_erased_one_by_one_or_as_a_whole(sandbox: Sandbox, shop: Path, mine: str) -> None:
    id = answer(sandbox, shop, "list")["artifacts"][0]["id"]
    assert sandbox.remit("memory", "delete", id, cwd=shop).returncode == 2
    assert sandbox.remit("memory", "delete", id, "--yes", cwd=shop).stdout == f"erased {id}\n"
    assert len(answer(sandbox, shop, "list")["artifacts"]) == 2
    assert answer(sandbox, shop, "delete", "--yes") == {"erased": mine}
    assert answer(sandbox, shop, "id")["exists"] is False
    assert sandbox.remit("memory", "delete", "--yes", cwd=shop).returncode == 1
    assert sandbox.remit("memory", "delete", "--global", "--yes", cwd=shop).returncode == 2
    assert projects(sandbox, shop) == ["other"]


def test_forgetting_a_project_erases_its_memory(sandbox: Sandbox, shop: Path, mine: str) -> None:
    assert mine in projects(sandbox, shop)
    sandbox.remit("tools", cwd=shop)
    assert sandbox.remit("forget", "--yes", str(shop)).returncode == 0
    assert projects(sandbox, shop) == ["other"]


def test_hygiene_names_what_to_look_at(sandbox: Sandbox, shop: Path, mine: str) -> None:
    with sandbox.memory() as memory:
        twice = [note(memory, mine, "said twice").artifact_id for _ in range(2)][1]
    assert answer(sandbox, shop, "hygiene")["candidate_ids"]["duplicates"] == [twice]
    assert f"duplicates: {twice}" in sandbox.remit("memory", "hygiene", cwd=shop).stdout
