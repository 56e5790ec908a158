"""Memory as a server of its own: what it declares, lists and answers."""

import subprocess
import sys
from typing import Any

from remit.decision import MEMORY_SERVER, REMIT, Declaration, Launch, Resolved, Scope, Status, View
from remit.memory import Memory, answer, instructions, offer, with_own_server
from support.builders import CLIENT, SHOP, declared
from support.memory_calls import decide, new_memory, note
from support.stores import memory_store, sql

_VIEW = View(CLIENT, SHOP)


def _called(memory: Memory, tool: str, prefix: str = "", **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    result = answer(lambda: memory, "tools/call", params, prefix)
    assert result is not None
    return result


def _status(*resolved: Resolved, is_served: bool = False) -> Status | None:
    listed, _ = with_own_server(_VIEW, resolved, is_served)
    return next((item.declaration.status for item in listed if item.declaration.source == REMIT), None)


def _gateway(*more: str, label: str = "remit", status: Status = Status.ITSELF) -> Declaration:
    launch = Launch(command="remit", args=("serve", *more))
    return declared(label, status=status, launch=launch)


def test_a_client_has_it_where_it_starts_a_gateway() -> None:
    assert _status(Resolved(_gateway())) is Status.ENABLED
    assert _status(Resolved(_gateway()), is_served=True) is Status.ENABLED
    assert _status(is_served=True) is Status.UNSERVED
    assert _status(Resolved(declared("git"))) is None
    assert _status(Resolved(_gateway(status=Status.DENIED))) is None
    assert _status(Resolved(_gateway(), declared("remit", Scope.LOCAL))) is None


def test_the_users_own_entry_of_memory_alone_takes_its_place() -> None:
    alone = _gateway("--memory", label=MEMORY_SERVER, status=Status.NESTED)
    assert _status(Resolved(alone), is_served=True) is None
    assert _status(Resolved(alone._replace(project_hash="hash")), is_served=True) is Status.UNSERVED


def test_a_declared_server_of_its_name_does_not_receive_its_calls() -> None:
    declarations = [declared(MEMORY_SERVER, scope) for scope in (Scope.GLOBAL, Scope.LOCAL)]
    resolved = [*map(Resolved, declarations), Resolved(declared("git"))]
    listed, problems = with_own_server(_VIEW, resolved, True)
    assert {(item.declaration.source, item.shadowed_by and item.shadowed_by.source) for item in listed} == {
        (REMIT, None),
        ("/files/local", REMIT),
        ("/files/global", None),  # `git`
    }
    assert [problem.source for problem in problems] == ["/files/global", "/files/local"]
    assert len({item.declaration.key for item in listed}) == len(listed)


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
