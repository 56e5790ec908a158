"""Memory as a server of its own: what it declares, lists and answers."""

import subprocess
import sys
from typing import Any

from remit.decision import MEMORY_SERVER, REMIT, Scope, resolve
from remit.memory import Memory, answer, declaration, instructions, offer, with_own_server
from support.builders import CLIENT, SHOP, declared
from support.memory_calls import decide, new_memory, note
from support.stores import memory_store, sql


def _called(memory: Memory, tool: str, prefix: str = "", **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    result = answer(lambda: memory, "tools/call", params, prefix)
    assert result is not None
    return result


def test_a_declared_server_of_its_name_does_not_receive_its_calls() -> None:
    theirs = [declared(MEMORY_SERVER, scope) for scope in (Scope.GLOBAL, Scope.LOCAL, Scope.MANAGED)]
    resolved = resolve(with_own_server([*theirs, declared("git")], CLIENT))
    own = declaration(CLIENT)
    assert own.name == "mcp__remit-memory__*"
    active = [item.declaration for item in resolved if item.shadowed_by is None]
    assert [(item.server, item.source) for item in active if item.server == MEMORY_SERVER] == [
        (MEMORY_SERVER, REMIT)
    ]
    assert {item.server for item in active} == {MEMORY_SERVER, "git"}


def test_it_lists_what_it_offers() -> None:
    result = answer(new_memory, "tools/list", {})
    assert result is not None
    assert [tool["name"] for tool in result["tools"]] == [definition.tool for definition in offer().tools]
    assert offer().tools[0].name == "mcp__remit-memory__get_scope_state"
    assert [tool["name"] for tool in result["tools"] if tool["annotations"]["readOnlyHint"]] == [
        "get_scope_state",
        "retrieve_context",
        "memory_surface",
    ]


def test_it_has_no_other_tools_and_methods() -> None:
    assert answer(new_memory, "tools/call", {"name": "delete_project"}) is None
    assert answer(new_memory, "resources/list", {}) is None


def test_a_result_has_its_content_as_text_too() -> None:
    result = _called(new_memory(), "get_scope_state", project_id="app")
    assert result == {
        "content": [{"type": "text", "text": '{"scope_state": "resolved", "project_exists": true}'}],
        "structuredContent": {"scope_state": "resolved", "project_exists": True},
        "isError": False,
    }


def test_a_blocked_write_is_an_error_and_names_tools_as_the_model_calls_them() -> None:
    result = _called(
        new_memory(), "save_decision", "remit-memory__", decision={"title": "x"}, project_id="new"
    )
    assert result["isError"]
    assert result["structuredContent"]["next_step"].startswith("Create it first: remit-memory__save_session(")
    alone = _called(new_memory(), "save_decision", decision={"title": "x"}, project_id="new")
    assert alone["structuredContent"]["next_step"].startswith("Create it first: save_session(")


def test_a_refused_argument_is_an_error_with_a_call_that_works() -> None:
    result = _called(new_memory(), "save_decision", decision={}, project_id="app")
    assert result["isError"]
    assert result["structuredContent"]["status"] == "failed"
    assert result["structuredContent"]["message"] == "decision.title: Field required"
    assert "A call that works: save_decision(" in result["structuredContent"]["next_step"]


def test_a_failure_is_called_failed() -> None:
    store = memory_store()
    memory = new_memory(store)
    note(memory, "x")
    sql(store, "drop table artifacts_by_word")
    for tool, status in (("retrieve_context", "retrieval_status"), ("save_context", "status")):
        given: dict[str, Any] = (
            {"keyword": "x"} if tool == "retrieve_context" else {"context": {"content": "y"}}
        )
        result = _called(memory, tool, "", project_id="app", **given)
        assert result["isError"]
        assert result["structuredContent"][status] == "failed"


def test_what_is_recalled_has_no_invisible_characters() -> None:
    memory = new_memory()
    note(memory, "read\u202e \U000e0041this")
    (item, _) = _called(memory, "retrieve_context", project_id="app")["structuredContent"]["items"]
    assert item["content"] == "read this"


def test_a_model_is_told_the_project_that_was_used_last() -> None:
    store = memory_store()
    told = instructions(store, SHOP, "remit-memory__")
    assert f"`{SHOP.project.short_name}`" in told
    assert "remit-memory__retrieve_context" in told
    first, last = new_memory(store, projects=("app", "site"), at=1), new_memory(store, projects=(), at=2)
    assert first.projects() == last.projects()
    decide(last, "Use X", "site")
    assert "`site`" in instructions(store, SHOP)


def test_neither_scans_nor_hooks_load_pydantic() -> None:
    uses = "from remit.memory import declaration, sections; declaration('claude-code')"
    code = f"import sys; {uses}; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
