"""Retrieving: the nearest first, by words and by meaning, within limits."""

from functools import partial

import pytest

from remit.errors import ArtifactError, ScopeError, StoreTimeoutError
from remit.memory import reader
from remit.memory.artifacts import ArtifactKind, ObservationType, StoredArtifact
from remit.memory.project_memory import Memory, NewObservation
from remit.memory.transfer import HEAD, record_line
from remit.store import memory_store
from remit.store.memory_store import SqlMemory
from support.databases import drop_word_index
from support.memory_calls import approved_import, decide, note, one, recalled, session, start
from support.sandbox import Sandbox


@pytest.fixture
def memory(sandbox: Sandbox) -> Memory:
    sandbox.project("shop")
    return start(sandbox.memory(), "shop")


def test_the_focus_comes_before_the_project(memory: Memory) -> None:
    far = note(memory, "shop", "the till prints receipts")
    near = note(memory, "shop", "receipts are signed", "auth")
    other = note(memory, "shop", "receipts are blue", "look")
    found = recalled(memory, "shop", scope="focus", focus="auth", keyword="receipts")
    assert found == [near.artifact_id, far.artifact_id]
    assert other.artifact_id not in recalled(memory, "shop", scope="focus", focus="auth")
    surfaced = memory.memory_surface({"query": "receipts", "project_id": "shop"})
    assert {match["id"] for match in surfaced.matches} == {
        near.artifact_id,
        far.artifact_id,
        other.artifact_id,
    }


def test_an_unknown_focus_shows_the_project_alone(memory: Memory) -> None:
    note(memory, "shop", "x", "auth")
    found = memory.retrieve_context({"project_id": "shop", "scope": "focus", "focus": "new"})
    assert (found.scope_state, len(found.items)) == ("uncertain", 1)
    assert found.next_step is not None
    assert "creates" in found.next_step


def test_an_unknown_project_is_empty_and_not_failed(memory: Memory) -> None:
    found = memory.retrieve_context({"project_id": "blog", "scope": "project"})
    assert (found.retrieval_status, found.scope_state, found.items) == ("empty", "uncertain", [])
    assert memory.memory_surface({"query": "x", "project_id": "blog"}).retrieval_status == "empty"
    assert memory.run_hygiene({"project_id": "blog"}).candidate_ids == {}


def test_without_a_project_nothing_is_read(memory: Memory) -> None:
    for read in (
        lambda: memory.retrieve_context({"scope": "global"}),
        lambda: memory.memory_surface({"query": "x"}),
        lambda: memory.run_hygiene({}),
    ):
        with pytest.raises(ScopeError, match="unresolved"):
            read()


def test_each_scope_has_its_limit_and_says_when_there_is_more(memory: Memory) -> None:
    for number in range(21):
        note(memory, "shop", f"note {number}")
        note(memory, "shop", f"note {number}", "auth")
    for keyword in ({}, {"keyword": "note"}):
        found = memory.retrieve_context({"project_id": "shop", "scope": "focus", "focus": "auth", **keyword})
        assert [item["scope"] for item in found.items] == ["focus"] * 10 + ["project"] * 20
        assert found.truncated_scopes == ["focus", "project"]


def test_categories_narrow_what_is_found(memory: Memory) -> None:
    made = decide(memory, "shop", "Use receipts")
    note(memory, "shop", "receipts")
    for asked in ({}, {"keyword": "receipts"}):
        assert recalled(memory, "shop", categories=["decision"], **asked) == [made.artifact_id]
    with pytest.raises(ArtifactError, match="`categories`"):
        recalled(memory, "shop", categories=["thought"])


def test_what_is_meant_is_found_without_a_common_word(memory: Memory) -> None:
    wanted = note(memory, "shop", "Passwords are hashed with argon2 before they are stored")
    note(memory, "shop", "The build takes four minutes on the old laptop")
    found = memory.memory_surface({"query": "how do users log in securely", "project_id": "shop"})
    assert [match["id"] for match in found.matches][:1] == [wanted.artifact_id]


def test_without_a_model_words_alone_decide(sandbox: Sandbox) -> None:
    sandbox.project("shop")
    sandbox.variables["REMIT_EMBEDDINGS"] = "none"
    memory = start(sandbox.memory(), "shop")
    wanted = note(memory, "shop", "Passwords are hashed")
    assert recalled(memory, "shop", keyword="hashing a password") == [wanted.artifact_id]
    assert recalled(memory, "shop", keyword="how do users log in") == []


@pytest.mark.parametrize(
    "text", ["NOT", "a AND b", '"', "name:x", "NEAR(a b)", "x*", "h1", "(", "-", "^a", "{}"]
)
def test_what_looks_like_an_operator_searches_for_itself(memory: Memory, text: str) -> None:
    wanted = note(memory, "shop", f"write {text} here")
    found = memory.retrieve_context({"project_id": "shop", "scope": "project", "keyword": f"{text} here"})
    assert found.retrieval_status == "succeeded"
    assert wanted.artifact_id in [item["id"] for item in found.items]


def test_what_takes_too_long_has_timed_out_and_is_not_empty(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        note(memory, "shop", f"note {number}")
    monkeypatch.setattr(reader, "TIME_LIMIT", -1.0)
    found = memory.retrieve_context({"project_id": "shop", "scope": "project", "keyword": "note"})
    assert (found.retrieval_status, found.items) == ("timed_out", [])
    assert memory.memory_surface({"query": "note", "project_id": "shop"}).retrieval_status == "timed_out"
    with pytest.raises(StoreTimeoutError):
        memory.run_hygiene({"project_id": "shop"})


def test_a_failure_is_called_failed(sandbox: Sandbox, memory: Memory) -> None:
    note(memory, "shop", "x")
    drop_word_index(sandbox.database)
    asked = {"project_id": "shop", "scope": "project", "keyword": "x"}
    found = memory.retrieve_context(asked)
    assert (found.retrieval_status, found.items) == ("failed", [])
    assert memory.memory_surface({"query": "x", "project_id": "shop"}).retrieval_status == "failed"


def test_hygiene_is_due_until_it_was_run(memory: Memory) -> None:
    assert memory.retrieve_context({"project_id": "shop", "scope": "project"}).hygiene_due
    memory.run_hygiene({"project_id": "shop"})
    assert not memory.retrieve_context({"project_id": "shop", "scope": "project"}).hygiene_due


def test_hygiene_looks_at_the_scope_that_is_asked_for(memory: Memory) -> None:
    for place in (None, "auth"):
        note(memory, "shop", "said twice", place)
        note(memory, "shop", "said twice", place)
    counts = [
        memory.run_hygiene({"project_id": "shop", **scope}).duplicates_found
        for scope in ({}, {"scope": "project"}, {"scope": "focus"}, {"scope": "global"})
    ]
    assert counts == [2, 1, 1, 0]
    assert memory.run_hygiene({"project_id": "shop", "check_pending_only": True}).duplicates_found == 0


def test_a_session_starts_with_what_is_recent(memory: Memory) -> None:
    memory.save(
        "save_session", {"session": session("mend the till", open_items=["tests"]), "project_id": "shop"}
    )
    decide(memory, "shop", "Use SQLite")
    secret = "ghp_" + "a1B2c3D4e5" * 4
    for observed in ObservationType:
        memory.observe("shop", NewObservation(observed, f"saw a {observed}, {secret}"))
    assert memory.observe("blog", NewObservation(ObservationType.CHANGE, "x")) == []
    text = "\n".join(section.text for section in memory.sections("shop"))
    assert "## Last Session\nmend the till\nOpen: tests" in text
    assert "## Active Decisions\n- Use SQLite - " in text
    assert "## Recent Changes\n- saw a change, ***" in text
    assert "## Recent Findings\n- saw a finding" in text
    assert "## References\n- saw a reference" in text
    assert secret not in text


def test_what_was_only_observed_comes_after_what_was_saved(memory: Memory) -> None:
    memory.save("save_session", {"session": session("mend the till"), "project_id": "shop"})
    memory.observe(
        "shop", *(NewObservation(ObservationType.CHANGE, f"edited {number}.py") for number in range(30))
    )
    found = memory.retrieve_context({"project_id": "shop", "scope": "project"}).items
    is_observed = [item["_label"] == "Observation" for item in found]
    assert len(found) == 20
    assert sorted(is_observed) == is_observed != [True] * 20


def test_an_observation_takes_the_place_of_what_says_the_same_or_less(memory: Memory) -> None:
    memory.save("save_session", {"session": session("mend the till"), "project_id": "shop"})
    first, _ = memory.observe(
        "shop",
        NewObservation(ObservationType.CHANGE, "edited till.py", at=5),
        NewObservation(ObservationType.CHANGE, "edited scale.py"),
    )
    memory.observe(
        "shop",
        NewObservation(ObservationType.CHANGE, "edited scale.py"),
        NewObservation(ObservationType.CHANGE, "edited till.py twice", at=6, instead_of=first),
    )
    kept = memory.artifacts("shop", 10)
    said = [(each.content["text"], each.created_at) for each in kept if each.kind is ArtifactKind.OBSERVATION]
    assert [text for text, _ in said] == ["edited scale.py", "edited till.py twice"]
    assert said[1][1] == 6


def test_what_is_shown_is_what_was_saved(memory: Memory) -> None:
    made = one(memory.save("save_session", {"session": session("mend the till"), "project_id": "shop"}))
    (newest, *_) = memory.retrieve_context({"project_id": "shop", "scope": "project"}).items
    expected = {
        "id": made.artifact_id,
        "_label": "Session",
        "objective": "mend the till",
        "_freshness": "current",
    }
    assert expected.items() <= newest.items()


@pytest.mark.long
def test_a_large_memory_says_the_same_each_time_it_is_asked(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second time on, it is held by the process; 500 artifacts are large here."""
    monkeypatch.setattr(memory_store, "SqlMemory", partial(SqlMemory, many=500))
    sandbox.project("shop")
    memory = start(sandbox.memory(), "shop")
    many = [
        StoredArtifact(
            id=f"context-{number}",
            kind=ArtifactKind.CONTEXT,
            project_id="shop",
            focus=None,
            content={"content": f"the drawer {number} is empty", "topic": "notes", "relevance_score": 1.0},
            dated_at=1,
            created_at=1,
            updated_at=1,
        )
        for number in range(501)
    ]
    approved_import(memory, [HEAD, *map(record_line, many)])
    wanted = note(memory, "shop", "automobiles are parked behind the house")
    asked = {"project_id": "shop", "scope": "project", "keyword": "where is the car"}
    answers = [memory.retrieve_context(asked) for _ in range(3)]
    assert answers[0].items[0]["id"] == wanted.artifact_id
    assert answers[0] == answers[1] == answers[2]
    later = note(memory, "shop", "the car was sold")
    assert recalled(memory, "shop", keyword="where is the car")[0] == later.artifact_id
    memory.delete_artifact(memory.find(str(wanted.artifact_id), "shop"))
    assert wanted.artifact_id not in recalled(memory, "shop", keyword="where is the car")
