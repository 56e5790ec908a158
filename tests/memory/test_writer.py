"""Saving: past the gate, beside what is known, all or nothing."""

import json
from dataclasses import asdict

import pytest

from remit.errors import ArtifactError, NotApprovedError, UnknownArtifactError
from remit.memory.project_memory import Memory
from remit.memory.results import BatchSaveResult
from support.databases import run_sql
from support.memory_calls import (
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
def memory(sandbox: Sandbox) -> Memory:
    sandbox.project("shop")
    return sandbox.memory()


def test_a_project_is_created_by_a_session_and_by_nothing_else(memory: Memory) -> None:
    for tool, given in (
        ("save_decision", {"decision": decision("Use X")}),
        ("save_pattern", {"pattern": pattern()}),
        ("save_context", {"context": context("x")}),
        ("upsert_entity_with_deps", {"entity": entity("e", "f")}),
    ):
        blocked = one(memory.save(tool, {**given, "project_id": "shop"}))
        assert blocked.status == "blocked_scope"
        assert blocked.next_step is not None
        assert "save_session(" in blocked.next_step
        assert one(memory.save(tool, given)).message == "Scope state: unresolved: no project_id was given"
    assert memory.projects() == []
    start(memory, "shop")
    assert [project[0] for project in memory.projects()] == ["shop"]


def test_the_call_that_a_blocked_write_names_unblocks_it(memory: Memory) -> None:
    blocked = decide(memory, "shop", "Use X")
    assert blocked.next_step is not None
    call = blocked.next_step.removeprefix("Create it first: save_session(").removesuffix(")")
    assert one(memory.save("save_session", json.loads(call))).status == "saved"
    assert decide(memory, "shop", "Use X").status == "saved"


def test_a_new_focus_is_created_by_saving_with_it(memory: Memory) -> None:
    start(memory, "shop")
    asked = {"project_id": "shop", "focus": "auth"}
    assert memory.get_scope_state(asked).scope_state == "uncertain"
    note(memory, "shop", "tokens rotate", "auth")
    assert memory.get_scope_state(asked).scope_state == "resolved"


def test_the_scope_focus_needs_a_focus(memory: Memory) -> None:
    start(memory, "shop")
    with pytest.raises(ArtifactError, match="`focus` must be given, because the scope is `focus`"):
        memory.save("save_context", {"context": context("x", scope="focus"), "project_id": "shop"})


def test_a_batch_that_is_blocked_says_so_of_every_part(memory: Memory) -> None:
    given = {
        "session": session(),
        "decisions": [decision("Use X")],
        "patterns": [pattern()],
        "project_id": "shop",
    }
    result = memory.save("store_session_with_learnings", given)
    assert isinstance(result, BatchSaveResult)
    assert result.overall == "blocked_scope"
    assert [len(result.decisions), len(result.patterns)] == [1, 1]
    assert memory.projects() == []
    start(memory, "shop")
    result = memory.save("store_session_with_learnings", given)
    assert isinstance(result, BatchSaveResult)
    assert result.overall == "saved"
    assert len(memory.artifacts("shop", 10)) == 4


def test_one_bad_part_of_a_batch_keeps_all_from_being_written(memory: Memory) -> None:
    start(memory, "shop")
    with pytest.raises(ArtifactError, match=r"`decisions\[1\].confidence`"):
        memory.save(
            "store_session_with_learnings",
            {
                "session": session(),
                "decisions": [decision("Use X"), decision("Use Y", confidence=7)],
                "project_id": "shop",
            },
        )
    assert len(memory.artifacts("shop", 10)) == 1


def test_the_same_decision_is_kept_once(memory: Memory) -> None:
    start(memory, "shop")
    first = decide(memory, "shop", "Use SQLite")
    again = decide(memory, "shop", "use  sqlite")
    assert (again.status, again.artifact_id) == ("duplicate_skip", first.artifact_id)
    assert one(memory.save("save_pattern", {"pattern": pattern(), "project_id": "shop"})).status == "saved"
    assert (
        one(memory.save("save_pattern", {"pattern": pattern(), "project_id": "shop"})).status
        == "duplicate_skip"
    )


def test_another_projects_decision_is_no_duplicate(memory: Memory) -> None:
    start(memory, "shop", "blog")
    first = decide(memory, "shop", "Use SQLite")
    second = decide(memory, "blog", "Use SQLite")
    assert (second.status, second.dedup_outcome) == ("saved", "new")
    assert recalled(memory, "shop", categories=["decision"]) == [first.artifact_id]
    assert recalled(memory, "blog", categories=["decision"]) == [second.artifact_id]


def test_what_says_the_same_anew_supersedes_and_the_old_is_kept(memory: Memory) -> None:
    start(memory, "shop")
    old = decide(memory, "shop", "Use SQLite", "one file, no server, quick enough for us")
    new = decide(memory, "shop", "Use SQLite", "one file, no server, quick enough for everyone")
    assert (new.dedup_outcome, new.message) == ("supersede", f"replaces {old.artifact_id}")
    assert recalled(memory, "shop", categories=["decision"]) == [new.artifact_id]
    assert memory.find(str(old.artifact_id), "shop").status == "superseded"
    assert old.artifact_id not in recalled(memory, "shop", keyword="SQLite")
    edges = memory.relations(str(new.artifact_id))
    assert [edge[:3] for edge in edges] == [(new.artifact_id, "SUPERSEDES", old.artifact_id)]


LIKE = ("Use one queue", "red green blue black white grey"), ("Use one queue", "red green blue pink brown")


def test_what_is_much_like_another_is_held_until_somebody_judges(memory: Memory) -> None:
    start(memory, "shop")
    first = decide(memory, "shop", *LIKE[0])
    held = decide(memory, "shop", *LIKE[1])
    assert (held.status, held.dedup_outcome) == ("partial", "manual_review")
    assert str(first.artifact_id) in str(held.message)
    assert recalled(memory, "shop", categories=["decision"]) == [first.artifact_id]
    assert memory.run_hygiene({"project_id": "shop"}).candidate_ids == {"held_for_review": [held.artifact_id]}
    again = decide(memory, "shop", *LIKE[1])
    assert (again.status, again.artifact_id) == ("duplicate_skip", held.artifact_id)
    judged = decide(memory, "shop", *LIKE[1], supersedes=[])
    assert (judged.status, judged.artifact_id) == ("saved", held.artifact_id)
    assert set(recalled(memory, "shop", categories=["decision"])) == {first.artifact_id, held.artifact_id}
    assert recalled(memory, "shop", keyword="pink")[0] == held.artifact_id


def test_a_judged_decision_supersedes_those_that_it_names(memory: Memory) -> None:
    start(memory, "shop")
    first = decide(memory, "shop", *LIKE[0])
    held = decide(memory, "shop", *LIKE[1])
    judged = decide(memory, "shop", *LIKE[1], supersedes=[first.artifact_id])
    assert (judged.artifact_id, judged.dedup_outcome) == (held.artifact_id, "supersede")
    assert recalled(memory, "shop", categories=["decision"]) == [held.artifact_id]


def test_only_decisions_of_the_same_project_can_be_superseded(memory: Memory) -> None:
    start(memory, "shop", "blog")
    other = decide(memory, "blog", "Use SQLite")
    for id in (other.artifact_id, "decision-none", recalled(memory, "shop")[0]):
        with pytest.raises(UnknownArtifactError, match=r"`supersedes\[0\]`"):
            decide(memory, "shop", "Use X", supersedes=[id])
    assert recalled(memory, "blog", categories=["decision"]) == [other.artifact_id]


def test_contradicting_decisions_are_both_kept_and_reported(memory: Memory) -> None:
    start(memory, "shop")
    one_ = decide(memory, "shop", "Use SQLite for storage", "one file")
    other = decide(memory, "shop", "Use PostgreSQL for storage", "many writers")
    assert other.message == f"contradicts {one_.artifact_id}"
    found = memory.retrieve_context({"project_id": "shop", "scope": "project"})
    assert (found.retrieval_status, found.conflicts_found) == ("conflicted", True)
    assert [set(pair) for pair in found.conflicts] == [{one_.artifact_id, other.artifact_id}]
    decide(memory, "shop", "Use PostgreSQL for storage", "many writers", supersedes=[one_.artifact_id])
    settled = memory.retrieve_context({"project_id": "shop", "scope": "project"})
    assert (settled.retrieval_status, settled.conflicts_found) == ("succeeded", False)


def test_a_contradiction_is_reported_though_one_side_is_not_shown(memory: Memory) -> None:
    start(memory, "shop")
    decide(memory, "shop", "Use SQLite for storage", "one file")
    for number in range(25):
        note(memory, "shop", f"note {number}")
    decide(memory, "shop", "Use PostgreSQL for storage", "many writers")
    found = memory.retrieve_context({"project_id": "shop", "scope": "project"})
    assert (len(found.items), found.conflicts_found, found.truncated_scopes) == (20, True, ["project"])


def test_an_entity_has_one_fact_in_a_place_and_projects_do_not_share_it(memory: Memory) -> None:
    start(memory, "shop", "blog")

    def upsert(project: str, fact: str, **others: object) -> str:
        given = {"entity": entity("Store", fact), "project_id": project, **others}
        return str(one(memory.save("upsert_entity_with_deps", given)).artifact_id)

    first, other = upsert("shop", "in SQLite"), upsert("blog", "in files")
    assert upsert("shop", "in PostgreSQL") == first
    assert memory.find(first, "shop").content["fact"] == "in PostgreSQL"
    assert memory.find(other, "blog").content["fact"] == "in files"
    assert recalled(memory, "shop", keyword="PostgreSQL") == [first]
    assert recalled(memory, "shop", keyword="SQLite", categories=["decision"]) == []


def test_an_entity_is_related_to_what_is_named(memory: Memory) -> None:
    start(memory, "shop", "blog")
    store = one(
        memory.save("upsert_entity_with_deps", {"entity": entity("Store", "f"), "project_id": "shop"})
    )
    scan = one(
        memory.save(
            "upsert_entity_with_deps",
            {
                "entity": entity("Scan", "f"),
                "project_id": "shop",
                "related_entities": [
                    {"entity_id": "store", "relationship_type": "WRITES", "properties": {"often": True}}
                ],
            },
        )
    )
    assert memory.relations(str(scan.artifact_id)) == [
        (scan.artifact_id, "WRITES", store.artifact_id, {"often": True})
    ]
    for unknown in ("Shelf", "entity-0"):
        with pytest.raises(UnknownArtifactError, match=r"`related_entities\[0\].entity_id`"):
            memory.save(
                "upsert_entity_with_deps",
                {
                    "entity": entity("New", "f"),
                    "project_id": "blog",
                    "related_entities": [{"entity_id": unknown, "relationship_type": "READS"}],
                },
            )
    assert recalled(memory, "blog", categories=["entity"]) == []
    with pytest.raises(UnknownArtifactError):
        memory.save(
            "upsert_entity_with_deps",
            {
                "entity": entity("New", "f"),
                "project_id": "blog",
                "related_entities": [{"entity_id": store.artifact_id, "relationship_type": "READS"}],
            },
        )


def test_deleting_a_project_erases_all_of_it_and_makes_it_uncertain(sandbox: Sandbox, memory: Memory) -> None:
    start(memory, "shop", "blog")
    decide(memory, "shop", "Use zzyzx")
    note(memory, "shop", "xyzzy", "auth")
    assert memory.memory_surface({"query": "xyzzy", "project_id": "shop"}).total_found == 1
    deleted = asdict(memory.delete_project({"project_id": "shop"}))
    assert (deleted["status"], deleted["deleted"]) == ("deleted", 3)
    assert memory.get_scope_state({"project_id": "shop"}).scope_state == "uncertain"
    assert asdict(memory.delete_project({"project_id": "shop"}))["status"] == "blocked_scope"
    assert memory.memory_surface({"query": "xyzzy", "project_id": "blog"}).total_found == 0
    assert run_sql(sandbox.database, "select count(*) from memory_nodes where project = 'shop'") == [(0,)]
    memory.close()
    assert [path.name for path in sandbox.database.parent.iterdir() if b"zzyzx" in path.read_bytes()] == []


def test_what_every_project_sees_needs_a_persons_approval_of_that_very_content(
    sandbox: Sandbox, memory: Memory
) -> None:
    start(memory, "shop", "blog")
    given = {"decision": decision("Speak plainly", scope="global"), "project_id": "shop"}
    with pytest.raises(NotApprovedError) as refused:
        memory.save("save_decision", given)
    assert memory.artifacts(None, 10) == []
    with sandbox.registry() as registry:
        here = registry.at(str(sandbox.root / "code" / "shop"))
        (waiting,) = registry.approvals.waiting(here)
        assert "Speak plainly" in waiting.shown
        with pytest.raises(NotApprovedError):
            memory.save("save_decision", given)
        registry.approvals.answer(str(refused.value.approval_id), here, approve=True)
    other = {"decision": decision("Speak in riddles", scope="global"), "project_id": "shop"}
    for wrong in (other, {**other, "governance_token": refused.value.approval_id}):
        with pytest.raises(NotApprovedError):
            memory.save("save_decision", wrong)
    saved = one(memory.save("save_decision", {**given, "governance_token": refused.value.approval_id}))
    assert saved.status == "saved"
    assert recalled(memory, "blog", categories=["decision"]) == [saved.artifact_id]
    assert one(memory.save("save_decision", given)).status == "duplicate_skip"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("save_session", {"session": session(save_scope="global")}),
        ("save_pattern", {"pattern": pattern(scope="global")}),
        ("save_context", {"context": context("x", scope="global")}),
        ("upsert_entity_with_deps", {"entity": entity("e", "f", scope="global")}),
        (
            "store_session_with_learnings",
            {"session": session(), "decisions": [decision("Use X", scope="global")]},
        ),
    ],
)
def test_nothing_of_any_kind_is_written_for_all_without_approval(
    memory: Memory, tool: str, given: dict[str, object]
) -> None:
    start(memory, "shop")
    with pytest.raises(NotApprovedError):
        memory.save(tool, {**given, "project_id": "shop"})
    assert memory.artifacts(None, 10) == []
    assert len(memory.artifacts("shop", 10)) == 1


def test_a_refused_approval_says_so(sandbox: Sandbox, memory: Memory) -> None:
    start(memory, "shop")
    given = {"context": context("x", scope="global"), "project_id": "shop"}
    with pytest.raises(NotApprovedError) as refused:
        memory.save("save_context", given)
    with sandbox.registry() as registry:
        here = registry.at(str(sandbox.root / "code" / "shop"))
        registry.approvals.answer(str(refused.value.approval_id), here, approve=False)
    with pytest.raises(NotApprovedError, match="a person denied it"):
        memory.save("save_context", given)


def test_an_endpoint_bound_to_projects_cannot_tell_others_from_none(sandbox: Sandbox, memory: Memory) -> None:
    start(memory, "shop", "blog")
    note(memory, "blog", "secret plans")
    waiting = {"tool": "save_context", "arguments": {"project_id": "blog"}, "id": "0", "at": 1}
    sandbox.write(sandbox.database.parent / "memory-queue/0.json", waiting)
    bound = frozenset({"shop"})

    def answers(project: str) -> list[object]:
        given = {"project_id": project}
        return [
            asdict(memory.get_scope_state(given, bound)) | given,
            one(memory.save("save_session", {"session": session(), **given}, bound)),
            one(memory.save("save_context", {"context": context("x"), **given}, bound)),
            memory.retrieve_context({"scope": "project", **given}, bound),
            memory.memory_surface({"query": "secret plans", **given}, bound),
            asdict(memory.run_hygiene(given, bound)) | {"checked_at": 0},
            memory.delete_project(given, bound),
        ]

    theirs, none = str(answers("blog")), str(answers("bank"))
    assert theirs.replace("blog", "bank") == none
    assert [project[0] for project in memory.projects()] == ["blog", "shop"]
    assert memory.get_scope_state({"project_id": "shop"}, bound).scope_state == "resolved"
