"""The command `remit memory`."""

import json
from pathlib import Path
from typing import Any

import pytest

from memory_calls import decide, note, start
from remit.memory.scope_gate import memory_id
from support import Desk


@pytest.fixture
def shop(desk: Desk) -> Path:
    return desk.project("shop")


@pytest.fixture
def mine(desk: Desk, shop: Path) -> str:
    with desk.memory(shop.name) as memory:
        id = memory_id(memory.workspace.project)
        start(memory, id, "other")
        decide(memory, id, "Use SQLite for storage", "one file, no server")
        note(memory, id, "tokens rotate daily", "auth")
        note(memory, "other", "somebody else's words")
    return id


def answer(desk: Desk, cwd: Path, *arguments: str) -> dict[str, Any]:
    done = desk.remit("memory", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_id_is_the_folder_and_its_hash(desk: Desk, shop: Path, mine: str) -> None:
    assert desk.remit("memory", "id", cwd=shop).stdout == f"{mine}\n"
    assert mine.startswith("shop-")
    assert answer(desk, shop, "id") == {"project_id": mine, "exists": True}
    assert f"project_id: {mine}" in desk.remit("context", cwd=shop).stdout


def test_what_is_kept_is_listed_and_shown(desk: Desk, shop: Path, mine: str) -> None:
    listed = desk.remit("memory", "list", cwd=shop).stdout
    assert "Use SQLite for storage" in listed
    assert "focus auth" in listed
    assert "somebody" not in listed
    found = answer(desk, shop, "list")
    assert (found["project_id"], len(found["artifacts"])) == (mine, 3)
    id = next(each["id"] for each in found["artifacts"] if each["kind"] == "decision")
    shown = desk.remit("memory", "show", id, cwd=shop).stdout
    assert "one file, no server" in shown
    assert answer(desk, shop, "show", id)["content"]["owner"] == "ada"
    assert len(answer(desk, shop, "list", "--limit", "1")["artifacts"]) == 1


def projects(desk: Desk, shop: Path) -> list[str]:
    return [each["project_id"] for each in answer(desk, shop, "list", "--projects")["projects"]]


def test_other_memories_are_shown_to_their_user_by_name(desk: Desk, shop: Path, mine: str) -> None:
    assert projects(desk, shop) == ["other", mine]
    assert "other" in desk.remit("memory", "list", "--projects", cwd=shop).stdout
    assert "notes" in desk.remit("memory", "list", "--id", "other", cwd=shop).stdout
    assert "Nothing is kept" in desk.remit("memory", "list", "--global", cwd=shop).stdout
    both = desk.remit("memory", "list", "--global", "--id", "x", cwd=shop)
    assert (both.returncode, "give --id or --global" in both.stderr) == (2, True)


def test_an_artifact_of_another_project_is_not_there(desk: Desk, shop: Path, mine: str) -> None:
    theirs = answer(desk, shop, "list", "--id", "other")["artifacts"][0]["id"]
    for id in (theirs, "decision-none"):
        done = desk.remit("memory", "show", id, cwd=shop)
        assert done.returncode == 1
        assert done.stderr == (
            f"error: `id` must be that of an artifact of `{mine}`, and is unknown\n"
            "hint: `remit memory list` lists them\n"
        )


def test_memory_is_searched(desk: Desk, shop: Path, mine: str) -> None:
    found = answer(desk, shop, "search", "where", "is", "storage")
    assert found["matches"][0]["name"] == "Use SQLite for storage"
    assert mine == found["matches"][0]["project_id"]
    assert "tokens rotate daily" in desk.remit("memory", "search", "tokens", cwd=shop).stdout
    nothing = desk.remit("memory", "search", "xyzzy", cwd=shop)
    assert (nothing.returncode, nothing.stdout) == (1, "")


def test_memory_is_exported_and_imported(desk: Desk, shop: Path, mine: str, tmp_path: Path) -> None:
    lines = desk.remit("memory", "export", cwd=shop).stdout
    assert "somebody" not in lines
    file = tmp_path / "memory.jsonl"
    assert desk.remit("memory", "export", "--all", "--output", str(file), cwd=shop).returncode == 0
    assert "somebody" in file.read_text(encoding="utf-8")
    assert answer(desk, shop, "import", str(file))["added"] == 0
    other = Desk(root=tmp_path / "other")
    there = other.project("shop")
    done = other.remit("memory", "import", "-", cwd=there, stdin=lines)
    assert done.stdout == "added 5 records; 0 records known before\n"
    assert other.remit("memory", "export", "--id", mine, cwd=there).stdout == lines
    for wrong, code in (("nowhere.jsonl", 2), (str(tmp_path), 2)):
        assert desk.remit("memory", "import", wrong, cwd=shop).returncode == code
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "is no text in UTF-8" in desk.remit("memory", "import", str(tmp_path / "bytes"), cwd=shop).stderr
    assert desk.remit("memory", "export", "--output", str(tmp_path), cwd=shop).returncode == 2


def test_an_export_that_is_imported_again_adds_nothing_though_it_was_looked_through_since(
    desk: Desk, shop: Path, mine: str
) -> None:
    lines = desk.remit("memory", "export", "--id", mine, cwd=shop).stdout
    desk.remit("memory", "hygiene", cwd=shop)
    now = desk.remit("memory", "export", cwd=shop).stdout
    assert now != lines
    done = desk.remit("memory", "import", "-", cwd=shop, stdin=lines)
    assert done.stdout == "added 0 records; 5 records known before\n"
    assert desk.remit("memory", "export", cwd=shop).stdout == now


def test_memory_is_erased_one_by_one_or_as_a_whole(desk: Desk, shop: Path, mine: str) -> None:
    id = answer(desk, shop, "list")["artifacts"][0]["id"]
    assert desk.remit("memory", "delete", id, cwd=shop).returncode == 2
    assert desk.remit("memory", "delete", id, "--yes", cwd=shop).stdout == f"erased {id}\n"
    assert len(answer(desk, shop, "list")["artifacts"]) == 2
    assert answer(desk, shop, "delete", "--yes") == {"erased": mine}
    assert answer(desk, shop, "id")["exists"] is False
    assert desk.remit("memory", "delete", "--yes", cwd=shop).returncode == 1
    assert desk.remit("memory", "delete", "--global", "--yes", cwd=shop).returncode == 2
    assert projects(desk, shop) == ["other"]


def test_forgetting_a_project_erases_its_memory(desk: Desk, shop: Path, mine: str) -> None:
    assert mine in projects(desk, shop)
    desk.remit("tools", cwd=shop)
    assert desk.remit("forget", "--yes", str(shop)).returncode == 0
    assert projects(desk, shop) == ["other"]


def test_hygiene_names_what_to_look_at(desk: Desk, shop: Path, mine: str) -> None:
    with desk.memory() as memory:
        twice = [note(memory, mine, "said twice").artifact_id for _ in range(2)][1]
    assert answer(desk, shop, "hygiene")["candidate_ids"]["duplicates"] == [twice]
    assert f"duplicates: {twice}" in desk.remit("memory", "hygiene", cwd=shop).stdout
