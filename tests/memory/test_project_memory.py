"""Nothing is lost: the queue, export and import."""

import json
from pathlib import Path

import pytest

from remit import bootstrap
from remit.errors import BadFileError, StoreUnavailableError
from remit.files.write_queue import WriteQueue
from remit.memory.memory_scopes import memory_id
from remit.memory.project_memory import Memory
from remit.memory.results import BatchSaveResult, SaveStatus
from support.databases import ConstraintError, Locked, older_database, run_constrained, run_sql
from support.memory_calls import (
    approved_import,
    context,
    decide,
    decision,
    entity,
    note,
    one,
    pattern,
    recalled,
    session,
    start,
)
from support.sandbox import Sandbox


@pytest.fixture
def memory(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Memory:
    sandbox.project("shop")
    monkeypatch.setattr(bootstrap, "MEMORY_PATIENCE", 0.0)
    return start(sandbox.memory(), "shop")


def test_a_write_that_cannot_be_made_now_is_queued_and_made_later(sandbox: Sandbox, memory: Memory) -> None:
    with Locked(sandbox.database):
        first = decide(memory, "shop", "Use SQLite")
        assert first.status == "pending_retry"
        batch = memory.save(
            "store_session_with_learnings",
            {"session": session(), "patterns": [pattern()], "project_id": "shop"},
        )
        assert isinstance(batch, BatchSaveResult)
        assert batch.overall is SaveStatus.PENDING_RETRY
        assert recalled(memory, "shop", categories=["decision"]) == []
        waiting = memory.run_hygiene({"project_id": "shop", "check_pending_only": True})
        assert (waiting.unresolved_saves, len(waiting.pending_artifact_ids)) == (2, 2)
    assert recalled(memory, "shop", categories=["decision"]) == [first.artifact_id]
    assert len(memory.artifacts("shop", 10)) == 4
    assert memory.run_hygiene({"project_id": "shop"}).unresolved_saves == 0


def test_what_waits_survives_the_process(sandbox: Sandbox, memory: Memory) -> None:
    with Locked(sandbox.database):
        first = decide(memory, "shop", "Use SQLite")
        memory.close()
    with sandbox.memory() as later:
        second = decide(later, "shop", "Write tests")
        assert set(recalled(later, "shop", categories=["decision"])) == {
            first.artifact_id,
            second.artifact_id,
        }


def test_what_was_written_before_the_queue_forgot_it_is_written_once(
    sandbox: Sandbox, memory: Memory
) -> None:
    with Locked(sandbox.database):
        decide(memory, "shop", "Use SQLite")
    folder = sandbox.database.parent / "memory-queue"
    (file,) = folder.iterdir()
    text = file.read_text(encoding="utf-8")
    assert len(recalled(memory, "shop", categories=["decision"])) == 1
    assert list(folder.iterdir()) == []
    file.write_text(text, encoding="utf-8")
    assert len(recalled(memory, "shop", categories=["decision"])) == 1
    assert list(folder.iterdir()) == []


def test_the_gate_holds_for_what_is_queued_too(sandbox: Sandbox, memory: Memory) -> None:
    with Locked(sandbox.database):
        assert decide(memory, "blog", "Use SQLite").status == "blocked_scope"
        everywhere = {"context": context("x", scope="global"), "project_id": "shop"}
        assert one(memory.save("save_context", everywhere)).status == "failed"
        assert (
            one(memory.save("save_session", {"session": session(), "project_id": "blog"})).status
            == "pending_retry"
        )
    assert memory.get_scope_state({"project_id": "blog"}).scope_state == "resolved"


def test_a_queued_write_whose_project_is_gone_is_kept_and_told(sandbox: Sandbox, memory: Memory) -> None:
    other = sandbox.memory()
    with Locked(sandbox.database):
        decide(memory, "shop", "Use SQLite")
    (sandbox.database.parent / "memory-queue").rename(sandbox.root / "aside")
    other.delete_project({"project_id": "shop"})
    (sandbox.root / "aside").rename(sandbox.database.parent / "memory-queue")
    report = memory.run_hygiene({"project_id": "shop"})
    assert (report.unresolved_saves, "does not exist" in report.next_step) == (1, True)


def test_of_the_refused_writes_of_a_project_the_newest_are_kept(sandbox: Sandbox, memory: Memory) -> None:
    queue = sandbox.database.parent / "memory-queue"
    with Locked(sandbox.database):
        for number in range(22):
            decide(memory, "shop", f"Use number {number}")
    for file in queue.iterdir():  # as if a person had deleted the project
        file.write_text(file.read_text(encoding="utf-8").replace('"shop"', '"gone"'), encoding="utf-8")
    names = sorted(file.name for file in queue.iterdir())
    assert memory.run_hygiene({"project_id": "shop"}).unresolved_saves == 0
    assert sorted(file.name for file in queue.iterdir()) == names[2:]
    assert decide(memory, "shop", "Use SQLite").status == "saved"


def test_a_write_that_cannot_even_be_queued_is_refused(sandbox: Sandbox, memory: Memory) -> None:
    (sandbox.database.parent / "memory-queue").write_text("in the way", encoding="utf-8")
    with Locked(sandbox.database), pytest.raises(StoreUnavailableError, match="cannot be written"):
        decide(memory, "shop", "Use SQLite")
    assert recalled(memory, "shop", categories=["decision"]) == []


def test_a_queue_takes_a_limited_number_of_writes_and_bytes(tmp_path: Path) -> None:
    few, small = WriteQueue(str(tmp_path / "few"), most=1), WriteQueue(str(tmp_path / "small"), most_bytes=50)
    for queue in (few, small):
        queue.add({"a": "x" * 20}, "x", 1)
        with pytest.raises(StoreUnavailableError, match="is full: 1 writes"):
            queue.add({"a": "y" * 20}, "y", 2)
        assert [write for _, write in queue.waiting()] == [{"a": "x" * 20}]


def test_a_folder_with_other_files_is_no_trouble(tmp_path: Path) -> None:
    queue = WriteQueue(str(tmp_path / "queue"))
    assert queue.waiting() == []
    queue.add({"a": 1}, "x", 2)
    queue.add({"a": 2}, "y", 1)
    (tmp_path / "queue/notes.txt").write_text("x", encoding="utf-8")
    (tmp_path / "queue/broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "queue/list.json").write_text("[]", encoding="utf-8")
    assert [write for _, write in queue.waiting()] == [{"a": 2}, {"a": 1}]
    (first, _), _ = queue.waiting()
    queue.mark(first, {"a": 3})
    assert [write for _, write in queue.waiting()] == [{"a": 3}, {"a": 1}]
    queue.drop(first)
    queue.drop(first)
    assert len(queue.waiting()) == 1


@pytest.mark.parametrize(
    "change", [{"tool": "delete_project"}, {"arguments": []}, {"id": 7}, {"at": "now"}, {"refused": 7}]
)
def test_a_file_that_nobody_queued_is_left_alone(
    sandbox: Sandbox, memory: Memory, change: dict[str, object]
) -> None:
    arguments = {"context": context("x"), "project_id": "shop"}
    write = {"tool": "save_context", "arguments": arguments, "id": "0", "at": 1}
    folder = sandbox.database.parent / "memory-queue"
    sandbox.write(folder / "0.json", {**write, **change})
    assert recalled(memory, "shop", categories=["context"]) == []
    assert len(list(folder.iterdir())) == 1
    sandbox.write(folder / "0.json", write)
    assert recalled(memory, "shop", categories=["context"]) == ["context-0"]
    assert list(folder.iterdir()) == []


def test_a_queued_write_that_breaks_a_rule_is_kept_and_told(sandbox: Sandbox, memory: Memory) -> None:
    write = {"tool": "save_context", "arguments": {"project_id": "shop"}, "id": "0", "at": 1}
    sandbox.write(sandbox.database.parent / "memory-queue/0.json", write)
    for _ in range(2):
        report = memory.run_hygiene({"project_id": "shop"})
        assert (report.pending_artifact_ids, "`context` must be given" in report.next_step) == (["0"], True)


def filled(memory: Memory) -> Memory:
    start(memory, "blog")
    decide(memory, "shop", "Use SQLite for storage", "one file")
    decide(memory, "shop", "Use SQLite for storage", "one file, please")
    decide(memory, "shop", "Use PostgreSQL for storage", "many writers")
    note(memory, "shop", 'ümläut \u2028 and "quotes"', "auth")
    memory.save("upsert_entity_with_deps", {"entity": entity("Store", "f"), "project_id": "shop"})
    related = [{"entity_id": "Store", "relationship_type": "READS", "properties": {"n": 1.5}}]
    memory.save(
        "upsert_entity_with_deps",
        {"entity": entity("Scan", "f"), "project_id": "shop", "related_entities": related},
    )
    memory.save(
        "save_pattern", {"pattern": pattern(last_validated_at="2026-11-15T10:00:00Z"), "project_id": "blog"}
    )
    memory.run_hygiene({"project_id": "shop"})
    return memory


def test_what_is_exported_is_imported_exactly(sandbox: Sandbox, memory: Memory) -> None:
    lines = list(filled(memory).export(None))
    other = Sandbox(root=sandbox.root / "other")
    other.project("shop")
    with other.memory() as copy:
        assert approved_import(copy, lines) == (len(lines) - 1, 0)
        assert list(copy.export(None)) == lines
        assert copy.restore(lines) == (0, len(lines) - 1)
        asked = {"project_id": "shop", "scope": "project", "keyword": "which database"}
        assert copy.retrieve_context(asked).items == memory.retrieve_context(asked).items


def test_one_project_is_exported_without_the_others(memory: Memory) -> None:
    lines = list(filled(memory).export("blog"))
    assert len(lines) == 4
    assert "SQLite" not in "".join(lines)


def test_an_import_that_cannot_be_is_refused_as_a_whole(memory: Memory) -> None:
    lines = list(filled(memory).export("shop"))
    before = list(memory.export(None))
    renamed = [line.replace('"Store"', '"Shelf"') for line in lines]
    with pytest.raises(BadFileError, match=r"line \d+: `artifact.id` must be new"):
        memory.restore(renamed)
    with pytest.raises(BadFileError, match="line 1: not a memory export"):
        memory.restore(lines[1:])
    with pytest.raises(BadFileError, match=r"line 3: `artifact.kind`"):
        memory.restore([lines[0], "", json.dumps({"artifact": {"id": "x", "content": {}, "kind": "x"}})])
    orphan = next(line for line in lines if '"decision"' in line).replace('"shop"', '"bank"')
    with pytest.raises(BadFileError, match="line 2: `project_id` must be of a project"):
        memory.restore([lines[0], orphan])
    edge = next(line for line in lines if line.startswith('{"edge"'))
    project = '{"project":{"project_id":"bank","created_at":1,"checked_at":0}}'
    with pytest.raises(BadFileError, match=r"line 3: `edge\.source` must be an artifact"):
        memory.restore([lines[0], project, edge.replace('"shop"', '"bank"')])
    store = next(line for line in lines if '"Store"' in line).replace('"id":"entity-', '"id":"entity-0')
    with pytest.raises(BadFileError, match=r"`artifact\.content\.entity_name` must be new"):
        memory.restore([lines[0], store])
    hidden = next(line for line in lines if '"Store"' in line)
    hidden = hidden.replace('"id":"entity-', '"id":"entity-0').replace("Store", "Shelf")
    with pytest.raises(BadFileError, match=r"`artifact\.status` must be live"):
        memory.restore([lines[0], hidden.replace('"live"', '"held"')])
    assert list(memory.export(None)) == before


def test_forgetting_a_project_erases_its_memory_and_no_others(sandbox: Sandbox, memory: Memory) -> None:
    mine = memory_id(memory.workspace.project)
    start(memory, mine)
    note(memory, mine, "xyzzy")
    with sandbox.registry() as registry:
        registry.tools(registry.at(str(sandbox.root / "code" / "shop")))
        registry.projects.forget(registry.projects.find(str(sandbox.root / "code" / "shop")))
    assert [project[0] for project in memory.projects()] == ["shop"]


def test_a_database_of_an_older_remit_gets_a_memory(sandbox: Sandbox) -> None:
    sandbox.project("shop")
    sandbox.database.parent.mkdir()
    older_database(sandbox.database, 4)
    with sandbox.memory() as memory:
        start(memory, "shop")
        assert decide(memory, "shop", "Use SQLite").status == "saved"


@pytest.mark.parametrize(
    "statement",
    [
        "insert into memory_nodes (key, kind, project, home, home_kind, {rest}) "
        "values ('x', 'decision', 'shop', null, null, {values})",
        "insert into memory_nodes (key, kind, project, home, home_kind, {rest}) "
        "values ('x', 'decision', 'shop', 9999, 'project', {values})",
        "insert into memory_nodes (key, kind, project, home, home_kind, {rest}) "
        "select 'x', 'decision', 'blog', id, 'project', {values} from memory_nodes where key = 'global'",
        "insert into memory_nodes (key, kind, project, home, home_kind, {rest}) "
        "select 'x', 'context', 'shop', id, 'focus', {values} from memory_nodes where key = 'project:shop'",
        "insert into memory_edges (source, relation, target, project, properties, created_at) "
        "select a.id, 'READS', b.id, 'shop', '{{}}', 0 from memory_nodes a, memory_nodes b "
        "where a.project = 'shop' and b.project = 'blog' limit 1",
        "update memory_nodes set project = 'blog' where kind = 'session' and project = 'shop'",
    ],
)
def test_the_store_itself_lets_no_orphan_be(sandbox: Sandbox, memory: Memory, statement: str) -> None:
    start(memory, "blog")
    rest = "name, body, subject, fingerprint, content, status, dated_at, created_at, updated_at"
    values = "'', '', '', '', '{}', 'live', 0, 0, 0"
    with pytest.raises(ConstraintError):
        run_constrained(sandbox.database, statement.format(rest=rest, values=values))


def test_a_model_that_changes_reads_everything_anew(sandbox: Sandbox, memory: Memory) -> None:
    wanted = note(memory, "shop", "Passwords are hashed")
    assert recalled(memory, "shop", keyword="password") == [wanted.artifact_id]
    run_sql(sandbox.database, "update memory_model set model = 'another'")
    assert recalled(memory, "shop", keyword="password") == [wanted.artifact_id]
    assert run_sql(sandbox.database, "select model from memory_model") == [("static-1",)]
    assert run_sql(sandbox.database, "select count(*) from memory_vectors") == [(2,)]


def test_a_decision_that_is_known_needs_no_turn_of_the_queue(memory: Memory) -> None:
    given = {"decision": decision("Use SQLite"), "project_id": "shop"}
    assert [one(memory.save("save_decision", given)).status for _ in range(2)] == ["saved", "duplicate_skip"]
