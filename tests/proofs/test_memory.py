"""Memory against a plain model of it, and memory that is killed while it writes."""

import json
import os
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from remit.errors import ScopeError
from remit.gateway.memory_tools import MemoryTools
from remit.memory.results import BatchSaveResult
from support.databases import damage, run_sql, store_variables, unindexed_memory
from support.memory_calls import context, decision, entity, note, one, pattern, session, start
from support.processes import forked_script
from support.sandbox import Sandbox

KILLS = min(200, int(os.environ.get("REMIT_PROOF_KILLS", "5")))
EXAMPLES = 500 if "REMIT_PROOF_EXAMPLES" in os.environ else 10

PROJECTS = st.sampled_from(["shop", "blog", "bank"])
FOCUSES = st.sampled_from([None, "auth", "look"])
WORDS = st.sampled_from(["alpha", "beta", "gamma"])


class AgainstAModel(RuleBasedStateMachine):
    """Any sequence of saves, reads and deletes; the model is projects, their focuses, and what is in them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.sandbox = Sandbox(root=Path(self.folder.name).resolve(), variables={"REMIT_EMBEDDINGS": "none"})
        self.sandbox.project("shop")
        self.memory = self.sandbox.memory()
        self.model: dict[str, dict[str | None, dict[str, str]]] = {}  # project, focus, id, words
        self.count = 0

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    @rule(project=PROJECTS, focus=FOCUSES)
    def save_session(self, project: str, focus: str | None) -> None:
        given = session(self.text(project), save_scope="project" if focus is None else "focus")
        saved = one(self.memory.save("save_session", {"session": given, **place(project, focus)}))
        assert saved.status == "saved"
        self.keep(project, focus, saved.artifact_id, str(given["objective"]))

    @rule(project=PROJECTS, focus=FOCUSES, word=WORDS)
    def save_context(self, project: str, focus: str | None, word: str) -> None:
        text = f"{self.text(project)} {word}"
        saved = note(self.memory, project, text, focus)
        if project not in self.model:
            assert saved.status == "blocked_scope"
            return
        assert saved.status == "saved"
        self.keep(project, focus, saved.artifact_id, text)

    @rule(project=PROJECTS, focus=FOCUSES, word=WORDS)
    def save_pattern(self, project: str, focus: str | None, word: str) -> None:
        """The same pattern in each place of each project: kept once in each."""
        given = pattern(f"when {word}", scope="project" if focus is None else "focus")
        saved = one(self.memory.save("save_pattern", {"pattern": given, **place(project, focus)}))
        if project not in self.model:
            assert saved.status == "blocked_scope"
            return
        here = self.model[project].setdefault(focus, {})
        known = [id for id, text in here.items() if text == f"when {word}"]
        assert saved.status == ("duplicate_skip" if known else "saved")
        assert not known or saved.artifact_id == known[0]
        here[str(saved.artifact_id)] = f"when {word}"

    @rule(project=PROJECTS, word=WORDS)
    def upsert_entity(self, project: str, word: str) -> None:
        """The same names everywhere, with facts that say whose they are."""
        given = {"entity": entity(word, f"of {project}"), "project_id": project}
        saved = one(self.memory.save("upsert_entity_with_deps", given))
        if project in self.model:
            assert saved.status == "saved"
            self.keep(project, None, saved.artifact_id, f"of {project}")
        else:
            assert saved.status == "blocked_scope"

    @rule(project=PROJECTS)
    def save_a_batch(self, project: str) -> None:
        text = self.text(project)
        given: dict[str, Any] = {
            "session": session(text),
            "decisions": [decision(f"Use {text}", f"{text} {self.count}")],
            "project_id": project,
        }
        saved = self.memory.save("store_session_with_learnings", given)
        assert isinstance(saved, BatchSaveResult)
        statuses = [saved.session.status, *(each.status for each in saved.decisions)]
        if project not in self.model:
            assert set(statuses) == {"blocked_scope"}
            return
        assert statuses[0] == "saved"
        self.keep(project, None, saved.session.artifact_id, text)
        for each in saved.decisions:
            self.keep(project, None, each.artifact_id, text)
        self.forget_hidden(project)

    @rule(project=PROJECTS)
    def delete(self, project: str) -> None:
        deleted = self.memory.delete_project({"project_id": project})
        assert deleted.status == ("deleted" if project in self.model else "blocked_scope")
        self.model.pop(project, None)

    @rule(project=PROJECTS)
    def reopen(self, project: str) -> None:
        self.memory.close()
        self.memory = self.sandbox.memory()
        assert self.memory.get_scope_state({"project_id": project}).project_exists == (project in self.model)

    @rule(project=PROJECTS, focus=FOCUSES, word=WORDS)
    def search(self, project: str, focus: str | None, word: str) -> None:
        scope = "project" if focus is None else "focus"
        asked = {"scope": scope, "keyword": word, **place(project, focus)}
        found = self.memory.retrieve_context(asked)
        allowed = self.seen(project, focus)
        assert {str(item["id"]) for item in found.items} <= set(allowed)
        if any(word in text for text in allowed.values()):
            assert found.items
        surfaced = self.memory.memory_surface({"query": word, "project_id": project, "limit": 50})
        everything = {id for here in self.model.get(project, {}).values() for id in here}
        assert {str(match["id"]) for match in surfaced.matches} <= everything

    @invariant()
    def states_are_as_the_diagram_says(self) -> None:
        assert self.memory.get_scope_state({}).scope_state == "unresolved"
        for project in ("shop", "blog", "bank"):
            for focus in (None, "auth", "look"):
                state = self.memory.get_scope_state(place(project, focus)).scope_state
                is_known = project in self.model and (focus is None or focus in self.model[project])
                assert state == ("resolved" if is_known else "uncertain")

    @invariant()
    def everything_is_where_it_was_saved(self) -> None:
        for project in ("shop", "blog", "bank"):
            kept = self.memory.artifacts(project, 10_000)
            expected = {(id, focus) for focus, here in self.model.get(project, {}).items() for id in here}
            assert {(each.id, each.focus) for each in kept} == expected

    @invariant()
    def nobody_reads_without_a_project(self) -> None:
        with pytest.raises(ScopeError):
            self.memory.retrieve_context({"scope": "global"})

    @invariant()
    def there_is_no_orphan(self) -> None:
        assert damage(self.sandbox.database) == []
        homeless = "select key from memory_nodes where home is null and kind not in ('global', 'project')"
        assert run_sql(self.sandbox.database, homeless) == []
        assert unindexed_memory(self.sandbox.database) == 0

    def text(self, project: str) -> str:
        self.count += 1
        return f"{project} number{self.count}"

    def keep(self, project: str, focus: str | None, id: str | None, text: str) -> None:
        places = self.model.setdefault(project, {None: {}})
        places.setdefault(focus, {})[str(id)] = text

    def forget_hidden(self, project: str) -> None:
        """A decision that is like an earlier one replaces it, or is held: take that from memory itself."""
        shown = {each.id for each in self.memory.artifacts(project, 10_000)}
        here = self.model[project][None]
        hidden = [id for id in here if id.startswith("decision") and id not in shown]
        for id in hidden:
            assert self.memory.find(id, project).status in ("superseded", "held")
            del here[id]

    def seen(self, project: str, focus: str | None) -> dict[str, str]:
        places = self.model.get(project, {})
        return {**places.get(None, {}), **(places.get(focus, {}) if focus is not None else {})}


def place(project: str, focus: str | None) -> dict[str, object]:
    return {"project_id": project} if focus is None else {"project_id": project, "focus": focus}


@pytest.mark.proof
def test_memory_does_what_a_plain_model_of_it_does() -> None:
    patient = settings(
        max_examples=EXAMPLES,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(AgainstAModel, settings=patient)


WRITE_UNTIL_KILLED = """
import itertools, os, sys
from remit.bootstrap import open_memory
turn = sys.argv[1]
with open_memory() as memory:
    lists = dict.fromkeys(("actions_taken", "decisions_made", "open_items", "next_actions"), [])
    session = {"objective": turn, **lists, "save_scope": "project"}
    memory.save("save_session", {"session": session, "project_id": turn})
    for number in itertools.count():
        text = f"{turn}-{number}"
        if number % 7 == 6:
            memory.memory_surface({"query": text, "project_id": turn})
        if number % 2:
            given = {"title": f"Use {text}", "rationale": f"{text} it is", "owner": "a", "date": "2026-11-15"}
            given["scope"] = "project"
            made = memory.save("save_decision", {"decision": given, "project_id": turn, "supersedes": []})
        else:
            given = {"content": text, "topic": "t", "scope": "focus", "relevance_score": 1}
            place = {"project_id": turn, "focus": f"f{number % 3}"}
            made = memory.save("save_context", {"context": given, **place})
        os.write(1, f"{turn} {made.artifact_id}\\n".encode())
"""


@pytest.mark.proof
def test_every_acknowledged_write_survives_a_kill_at_any_moment(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    chance = random.Random(11)  # noqa: S311 - chooses moments, not secrets
    acknowledged: list[str] = []
    variables = store_variables(sandbox.database)
    environment = sandbox.environment | variables
    for attempt in range(KILLS):
        command = forked_script(sandbox.root, WRITE_UNTIL_KILLED, f"turn{attempt}")
        with subprocess.Popen(command, env=environment, cwd=shop, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            wanted = chance.randrange(1, 30)
            acknowledged.extend(process.stdout.readline().decode().strip() for _ in range(wanted))
            process.kill()
            acknowledged.extend(process.stdout.read().decode().split("\n")[:-1])
    assert len(acknowledged) >= KILLS
    assert damage(sandbox.database) == []
    assert unindexed_memory(sandbox.database) == 0
    if not variables:
        check_index = "insert into memory_by_word (memory_by_word, rank) values ('integrity-check', 1)"
        run_sql(sandbox.database, check_index)
    with sandbox.memory() as memory:
        for line in acknowledged:
            project, id = line.split()
            assert memory.find(id, project).id == id


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
RIGHT: dict[str, dict[str, Any]] = {
    "get_scope_state": {"project_id": "shop", "focus": "auth"},
    "save_session": {"session": session(), "project_id": "shop"},
    "save_decision": {"decision": decision("Use X"), "project_id": "shop", "supersedes": []},
    "save_pattern": {"pattern": pattern(), "project_id": "shop"},
    "save_context": {"context": context("x"), "project_id": "shop", "focus": "auth"},
    "upsert_entity_with_deps": {
        "entity": entity("e", "f"),
        "project_id": "shop",
        "related_entities": [{"entity_id": "e", "relationship_type": "READS", "properties": {}}],
    },
    "store_session_with_learnings": {"session": session(), "decisions": [decision("Use X")], "patterns": []},
    "retrieve_context": {
        "project_id": "shop",
        "scope": "project",
        "categories": ["decision"],
        "keyword": "x",
    },
    "memory_surface": {"query": "x", "project_id": "shop", "limit": 5},
    "run_hygiene": {"project_id": "shop", "scope": "project", "check_pending_only": False},
    "delete_project": {"project_id": "bank"},
}


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A call that was right until something in it became something else."""
    tool = draw(st.sampled_from(sorted(RIGHT)))
    arguments: dict[str, Any] = json.loads(json.dumps(RIGHT[tool]))
    for _ in range(draw(st.integers(1, 3))):
        target = arguments
        while inner := [cast("dict[str, Any]", it) for it in target.values() if isinstance(it, dict) and it]:
            if draw(st.booleans()):
                break
            target = draw(st.sampled_from(inner))
        key = draw(st.sampled_from(sorted(target) or [""]) | st.text(max_size=8))
        if draw(st.booleans()):
            target[key] = draw(JSON)
        else:
            target.pop(key, None)
    return tool, arguments


@pytest.mark.proof
def test_no_call_however_damaged_breaks_anything(sandbox: Sandbox) -> None:
    sandbox.variables["REMIT_EMBEDDINGS"] = "none"
    sandbox.project("shop")
    with sandbox.memory() as memory:
        start(memory, "shop", "bank")
        tools = MemoryTools(memory)

        @settings(max_examples=EXAMPLES * 20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(damaged())
        def mistreat(call: tuple[str, dict[str, Any]]) -> None:
            before = list(memory.export(None))
            made = anyio.run(lambda: tools.call(*call))
            answer = json.loads(made["content"][0]["text"])
            assert answer.get("code") != "INTERNAL_ERROR", answer
            made["content"][0]["text"].encode()
            if made["isError"] or call[0] in ("get_scope_state", "retrieve_context", "memory_surface"):
                assert list(memory.export(None)) == before

        mistreat()
    assert damage(sandbox.database) == []
