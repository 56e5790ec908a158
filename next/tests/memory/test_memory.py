"""Saving and recalling, behind the scope gate."""

import json
import struct
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from remit.decision import Workspace, identify
from remit.errors import ArtifactError, NotFoundError
from remit.memory import Memory, open_memory
from remit.search import Document, Fusion, open_model
from remit.store import open_store
from support.builders import BLOG, SHOP
from support.memory_calls import decide, found, new_memory, note, recalled
from support.stores import memory_store, sql

WRITES = ("save_decision", "save_pattern", "save_context", "upsert_entity_with_deps")
GIVEN: dict[str, dict[str, Any]] = {
    "get_scope_state": {},
    "retrieve_context": {},
    "memory_surface": {"query": "x"},
    "save_session": {"session": {}},
    "save_decision": {"decision": {"title": "Use X"}},
    "save_pattern": {"pattern": {"trigger": "a test fails"}},
    "save_context": {"context": {"content": "x"}},
    "upsert_entity_with_deps": {"entity": {"entity_name": "login"}},
}


@pytest.fixture
def memory() -> Memory:
    return new_memory()


class _Transcript:
    """Calls tools as the transcripts write them, and compares what they return."""

    def __init__(self) -> None:
        self.memory = new_memory(projects=())
        self.returned: Mapping[str, Any] = {}

    def __getattr__(self, tool: str) -> Any:
        def call(**arguments: Any) -> None:
            given: dict[str, object] = dict(arguments)
            if arguments.get("session") == {...}:
                given["session"] = {}
            self.returned = self.memory.call(tool, given)

        return call


def test_a_new_project_is_uncertain_then_saved_then_resolved() -> None:
    remit = _Transcript()

    # 1. Check state — project doesn't exist yet
    remit.get_scope_state(project_id="my-new-project")
    assert remit.returned.items() >= {"scope_state": "uncertain", "project_exists": False}.items()

    # 2. Save a session — this creates the Project node
    remit.save_session(session={...}, project_id="my-new-project")
    assert remit.returned["status"] == "saved"

    # 3. Now scope is resolved
    remit.get_scope_state(project_id="my-new-project")
    assert remit.returned == {"scope_state": "resolved", "project_exists": True}


def test_a_focus_area_is_uncertain_until_something_is_saved_with_it() -> None:
    remit = _Transcript()
    remit.save_session(session={...}, project_id="my-project")

    # 1. Check scope with a focus area
    remit.get_scope_state(project_id="my-project", focus="auth-refactor")
    assert remit.returned["scope_state"] == "uncertain"

    # 2. Save something with focus — this creates the FocusArea node
    remit.save_context(
        context={"content": "...", "topic": "auth", "scope": "focus", "relevance_score": 1.0},
        project_id="my-project",
        focus="auth-refactor",
    )
    assert remit.returned["status"] == "saved"

    # 3. Focus is now resolved
    remit.get_scope_state(project_id="my-project", focus="auth-refactor")
    assert remit.returned == {"scope_state": "resolved", "project_exists": True}


@pytest.mark.parametrize(
    ("place", "blocked"),
    [
        ({}, {*GIVEN} - {"get_scope_state"}),
        ({"project_id": "unknown"}, {*WRITES}),
        ({"project_id": "app", "focus": "new"}, set[str]()),
        ({"project_id": "app"}, set[str]()),
    ],
)
def test_the_gate_is_the_documents_table(place: dict[str, Any], blocked: set[str]) -> None:
    for tool, arguments in GIVEN.items():
        if tool == "memory_surface" and "focus" in place:
            continue
        answer = new_memory().call(tool, {**arguments, **place})
        assert (answer.get("status") == "blocked_scope") is (tool in blocked), tool


def test_a_project_is_created_by_a_session_and_by_nothing_else() -> None:
    memory = new_memory(projects=())
    for tool, arguments in GIVEN.items():
        if tool != "save_session":
            memory.call(tool, {**arguments, "project_id": "app"})
    assert memory.projects() == []
    memory.call("save_session", {"session": {}, "project_id": "app"})
    assert [project.project_id for project in memory.projects()] == ["app"]


@pytest.mark.parametrize("tool", WRITES)
def test_the_call_that_a_blocked_write_names_unblocks_it(tool: str) -> None:
    memory = new_memory(projects=())
    arguments = {**GIVEN[tool], "project_id": "app", "focus": "auth"}
    answer = memory.call(tool, arguments)
    assert answer["message"] == 'Scope state: uncertain: the project "app" does not exist'
    call = answer["next_step"].removeprefix("Create it first: save_session(").removesuffix(")")
    assert memory.call("save_session", json.loads(call))["status"] == "saved"
    assert memory.call(tool, arguments)["status"] == "saved"


def test_without_a_project_the_answer_names_one_that_would_do() -> None:
    answer = new_memory(projects=()).call("save_session", {"session": {}})
    assert answer["next_step"] == f'Call again with a project_id, such as "{SHOP.project.short_name}".'
    assert '"app"' in new_memory().call("retrieve_context", {})["next_step"]


def test_the_same_id_is_another_project_in_another_repository() -> None:
    store = memory_store()
    shop, blog = new_memory(store), new_memory(store, workspace=BLOG, projects=())
    secret = decide(shop, "Use tabs")["artifact_id"]
    assert blog.call("get_scope_state", {"project_id": "app"})["scope_state"] == "uncertain"
    assert decide(blog, "Use tabs")["status"] == "blocked_scope"
    assert blog.projects() == []
    blog.call("save_session", {"session": {}, "project_id": "app"})
    assert found(blog, "tabs") == []
    assert secret not in recalled(blog)
    with pytest.raises(NotFoundError):
        blog.find(secret)
    with pytest.raises(ArtifactError, match="No decision of this project"):
        decide(blog, "Use spaces", supersedes=[secret])


def test_an_unknown_focus_reads_the_project_only_and_saving_creates_it(memory: Memory) -> None:
    of_project, of_focus = note(memory, "a"), note(memory, "b", "auth")
    answer = memory.call("retrieve_context", {"project_id": "app", "focus": "new", "scope": "focus"})
    ids = [item["id"] for item in answer["items"]]
    assert of_project in ids
    assert of_focus not in ids
    assert (answer["scope_state"], answer["retrieval_status"]) == ("uncertain", "succeeded")
    assert "Saving with this focus creates it" in answer["next_step"]
    note(memory, "c", "new")
    state = memory.call("get_scope_state", {"project_id": "app", "focus": "new"})
    assert state["scope_state"] == "resolved"


def test_what_belongs_to_a_focus_area_needs_one(memory: Memory) -> None:
    with pytest.raises(ArtifactError, match="focus: Field required"):
        decide(memory, "Use X", decision={"scope": "focus"})
    with pytest.raises(ArtifactError, match="focus: Field required"):
        recalled(memory, scope="focus")


def test_the_focus_comes_first_and_a_search_covers_all_of_the_project(memory: Memory) -> None:
    far, near, other = (
        note(memory, "the till prints receipts"),
        note(memory, "receipts are signed", "auth"),
        note(memory, "receipts are blue", "look"),
    )
    assert recalled(memory, focus="auth", keyword="receipts") == [near, far]
    assert recalled(memory, focus="auth", scope="project", topic="receipts") == [far]
    assert sorted(found(memory, "receipts")) == sorted([far, near, other])


def test_each_scope_has_its_limit_and_says_when_there_is_more(memory: Memory) -> None:
    for number in range(21):
        note(memory, f"note {number}")
        note(memory, f"note {number}", "auth")
    for keyword in ({}, {"keyword": "note"}):
        answer = memory.call("retrieve_context", {"project_id": "app", "focus": "auth", **keyword})
        assert [item["scope"] for item in answer["items"]] == ["focus"] * 10 + ["project"] * 20
        assert answer["next_step"].startswith("There is more")


def test_categories_narrow_what_is_found(memory: Memory) -> None:
    decision = decide(memory, "Print receipts")["artifact_id"]
    note(memory, "receipts")
    assert recalled(memory, categories=["decision"]) == [decision]
    assert recalled(memory, categories=["decision"], keyword="receipts") == [decision]


def test_nothing_found_is_empty() -> None:
    memory = new_memory()
    answer = memory.call("memory_surface", {"query": "receipts", "project_id": "app"})
    assert (answer["items"], answer["retrieval_status"]) == ([], "empty")
    assert memory.call("retrieve_context", {"project_id": "new"})["retrieval_status"] == "empty"


def test_another_projects_decision_is_no_duplicate() -> None:
    memory = new_memory(projects=("app", "site"))
    first = decide(memory, "Use SQLite")
    again = decide(memory, "use  sqlite")
    assert again == {"status": "duplicate_skip", "artifact_id": first["artifact_id"]}
    assert decide(memory, "Use SQLite", "site")["status"] == "saved"
    in_focus = decide(memory, "Use SQLite", focus="auth", decision={"scope": "focus"})
    assert in_focus["status"] == "saved"


def test_a_decision_hides_those_that_it_supersedes(memory: Memory) -> None:
    old = decide(memory, "Use SQLite")["artifact_id"]
    new = decide(memory, "Use PostgreSQL", supersedes=[old])["artifact_id"]
    assert recalled(memory, categories=["decision"]) == [new]
    assert old not in found(memory, "sqlite")
    assert [artifact.is_live for artifact in memory.artifacts("app", 2)] == [True, False]
    assert [(r.source, r.relation, r.target) for r in memory.relations(old)] == [(new, "SUPERSEDES", old)]


def test_a_write_that_fails_writes_nothing(memory: Memory) -> None:
    old = decide(memory, "Use SQLite")["artifact_id"]
    with pytest.raises(ArtifactError, match="supersedes: No decision of this project has the id `nothing`"):
        decide(memory, "Use PostgreSQL", supersedes=[old, "nothing"], focus="new")
    assert recalled(memory, categories=["decision"]) == [old]
    assert memory.call("get_scope_state", {"project_id": "app", "focus": "new"})["scope_state"] == "uncertain"


def test_nothing_of_another_project_is_replaced_or_related() -> None:
    memory = new_memory(projects=("app", "site"))
    theirs = decide(memory, "Use SQLite", "site")["artifact_id"]
    with pytest.raises(ArtifactError, match="No decision of this project"):
        decide(memory, "Use PostgreSQL", supersedes=[theirs])
    related = {"entity": {"entity_name": "till"}, "related_entities": [{"entity_id": theirs}]}
    with pytest.raises(ArtifactError, match="Nothing in this project is called"):
        memory.call("upsert_entity_with_deps", {**related, "project_id": "app"})
    assert memory.find(theirs).is_live


def test_a_similar_decision_is_named_and_not_hidden_by_itself() -> None:
    memory = new_memory(model=open_model())
    old = decide(memory, "Use SQLite for orders")["artifact_id"]
    assert "next_step" not in decide(memory, "Use spaces, not tabs")
    answer = decide(memory, "Use PostgreSQL for orders")
    assert f'"Use SQLite for orders" ({old}) is similar' in answer["next_step"]
    assert old in recalled(memory)
    again = json.loads(answer["next_step"].partition("again with ")[2].removesuffix("."))
    assert decide(memory, "Use PostgreSQL for orders", **again)["status"] == "saved"
    assert old not in recalled(memory)


def test_an_entity_has_one_fact_in_a_place(memory: Memory) -> None:
    def upsert(name: str, fact: str, **others: Any) -> str:
        entity = {"entity_name": name, "fact": fact, "scope": "focus" if "focus" in others else "project"}
        arguments = {"entity": entity, "project_id": "app", **others}
        return memory.call("upsert_entity_with_deps", arguments)["artifact_id"]

    login = upsert("login", "is served by auth.py")
    assert upsert(" Login ", "is served by oauth.py") == login
    assert memory.find(login).content["fact"] == "is served by oauth.py"
    assert upsert("login", "is being moved", focus="auth") != login
    till = upsert("till", "sells", related_entities=[{"entity_id": "login", "relationship_type": "READS"}])
    assert [(r.source, r.relation, r.target) for r in memory.relations(till)] == [(till, "READS", login)]
    entity = {"entity": {"entity_name": "till"}, "project_id": "app"}
    memory.call("upsert_entity_with_deps", entity)  # what is not given stays
    item = memory.call("memory_surface", {"query": "sells", "project_id": "app"})["items"][0]
    assert [relation["target"] for relation in item["related"]] == [login]
    with pytest.raises(ArtifactError, match="Nothing in this project is called `printer`"):
        upsert("till", "sells", related_entities=[{"entity_id": "printer"}])


def test_which_database_finds_the_decision_for_sqlite() -> None:
    memory = new_memory(model=open_model())
    sqlite = decide(memory, "Use SQLite for orders")["artifact_id"]
    for title in ("Move the login to OAuth", "Use tabs, not spaces", "Publish releases from CI"):
        decide(memory, title)
    assert found(memory, "which database")[0] == sqlite
    assert found(memory, "SQLite")[0] == sqlite


def test_without_a_common_word_only_a_good_score_counts() -> None:
    memory = new_memory(model=open_model())
    passwords = note(memory, "Passwords are hashed with argon2 before they are stored")
    note(memory, "The build takes four minutes on the old laptop")
    assert found(memory, "how do users log in securely") == [passwords]
    assert found(memory, "when do whales sleep") == []


def test_without_a_model_words_alone_decide(memory: Memory) -> None:
    passwords = note(memory, "Passwords are hashed")
    assert found(memory, "hashing a password") == [passwords]
    assert found(memory, "how do users log in") == []


@pytest.mark.parametrize(
    "text", ["NOT", "a AND b", '"', "name:x", "NEAR(a b)", "x*", "h1", "(", "-", "^a", "{}"]
)
def test_what_looks_like_an_operator_searches_for_itself(memory: Memory, text: str) -> None:
    assert found(memory, f"{text} here") == [] != note(memory, f"write {text} here")
    assert len(found(memory, f"{text} here")) == 1


class _Model:
    """Embeds everything alike."""

    model, fusion, is_slow = "test", Fusion(), False

    def __init__(self) -> None:
        self.vector = struct.pack("<2f", 1, 0)
        self.batches: list[int] = []

    def embed_query(self, text: str) -> bytes:
        del text
        return self.vector

    def embed_tools(self, documents: Sequence[Document]) -> list[bytes]:
        self.batches.append(len(documents))
        return [self.vector] * len(documents)


def test_a_search_embeds_new_artifacts_for_one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _Model()
    memory = new_memory(model=model)
    for number in range(150):
        note(memory, f"note {number}")
    seconds = count(0.0, 0.6)
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))
    assert len(found(memory, "anything")) == 5
    assert model.batches == [64, 64]
    found(memory, "anything")
    assert model.batches == [64, 64, 23]


def test_vectors_of_another_length_are_not_compared_and_replaced() -> None:
    model = _Model()
    memory = new_memory(model=model)
    first = note(memory, "Passwords are hashed")
    assert first in found(memory, "secure login")
    model.vector = struct.pack("<3f", 1, 0, 0)
    assert found(memory, "secure login") == []
    assert found(memory, "passwords") == [first]
    note(memory, "Tokens are short-lived")
    found(memory, "secure login")
    assert first in found(memory, "secure login")


def test_what_is_recalled_is_what_was_saved() -> None:
    memory = new_memory(projects=())
    session = {"objective": "mend the till", "next_actions": ["test it"]}
    id = memory.call("save_session", {"session": session, "project_id": "app"})["artifact_id"]
    (item,) = memory.call("retrieve_context", {"project_id": "app"})["items"]
    about = {"id": id, "kind": "session", "scope": "project", "freshness": "current"}
    assert item == {**about, **session, "updated_at": "2026-09-21T14:13:20+00:00"}


@pytest.mark.parametrize(
    ("validated", "freshness"),
    [
        ({}, "stale"),
        ({"last_validated_at": "2026-09-14T14:13:20"}, "current"),
        ({"last_validated_at": "2026-09-14T14:13:20+00:01"}, "recent"),
        ({"last_validated_at": "2026-08-22T14:13:20Z"}, "recent"),
        ({"last_validated_at": "2026-08-22"}, "stale"),
    ],
)
def test_a_pattern_is_as_fresh_as_its_last_validation(
    memory: Memory, validated: dict[str, str], freshness: str
) -> None:
    memory.call("save_pattern", {"pattern": {"trigger": "a test fails", **validated}, "project_id": "app"})
    answer = memory.call("retrieve_context", {"project_id": "app", "categories": ["pattern"]})
    assert [item["freshness"] for item in answer["items"]] == [freshness]


def test_a_time_without_a_zone_is_utc(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        pattern = {"trigger": "a test fails", "last_validated_at": "1970-01-01T00:00:01"}
        answer = memory.call("save_pattern", {"pattern": pattern, "project_id": "app"})
        assert memory.find(answer["artifact_id"]).dated_at == 1000
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_is_deleted_is_gone_and_nothing_else() -> None:
    memory = new_memory(projects=("app", "site"))
    decision = decide(memory, "Use SQLite")["artifact_id"]
    kept = decide(memory, "Use SQLite", "site")["artifact_id"]
    memory.delete_artifact(decision)
    assert decision not in recalled(memory)
    memory.delete("app")
    assert memory.call("get_scope_state", {"project_id": "app"})["scope_state"] == "uncertain"
    assert memory.find(kept).project_id == "site"
    for gone in (lambda: memory.delete("app"), lambda: memory.delete_artifact(decision)):
        with pytest.raises(NotFoundError):
            gone()


def test_the_memory_of_a_moved_checkout_is_taken_over() -> None:
    store = memory_store()
    moved = new_memory(store, projects=("app", "shared"))
    decision = decide(moved, "Use SQLite")["artifact_id"]
    here = Workspace("/code/till", "/code/till", identify("/code/till"))
    memory = new_memory(store, workspace=here, projects=("shared",))
    assert memory.take_over(SHOP.project) == ["app"]
    assert memory.find(decision).project_id == "app"
    assert [project.project_id for project in moved.projects()] == ["shared"]


def test_a_write_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "remit.sqlite"), durable=True) as store:
        memory = open_memory(store, None, SHOP)
        memory.call("save_session", {"session": {}, "project_id": "app"})
        assert sql(store, "pragma synchronous") == [(2,)]  # full
        with open_store(str(tmp_path / "remit.sqlite")) as other:
            assert [project.project_id for project in open_memory(other, None, SHOP).projects()] == ["app"]


def test_an_unknown_tool_is_refused(memory: Memory) -> None:
    with pytest.raises(NotFoundError, match="memory has no tool `run_hygiene`"):
        memory.call("run_hygiene", {})
