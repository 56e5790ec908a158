"""Tools that are defined in Python: which are there, and why."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from remit import ToolRegistry, location_scope, requires, tool
from remit.approvals.approvals import Approval
from remit.bootstrap import open_registry
from remit.decision.decide import Verdict
from remit.decision.gates import Gate
from remit.decision.requirements import LocationScope
from remit.errors import (
    ConditionError,
    HiddenToolError,
    NotApprovedError,
    StateError,
    StoreUnavailableError,
    ToolError,
    UnknownStateError,
)
from remit.python_tools.decorators import DefinedTool
from remit.python_tools.state_registry import DetectedState
from support.sandbox import Sandbox


def names(tools: list[DefinedTool]) -> list[str]:
    return [each.name for each in tools]


@tool(namespace="requirement")
@requires("project-loaded")
def list_() -> list[str]:
    """List the requirements."""
    return ["R1"]


@requires("git-initialized")
@requires("project-loaded")
@tool(name="requirement.create", danger="moderate")
async def create(title: str) -> str:
    """Create a requirement."""
    return f"created {title}"


@tool(name="user.delete", ai_enabled=False, danger="destructive")
def delete_user(name: str) -> str:
    return name


@tool(name="publishPost")
@location_scope(pages=["/blog", "/posts/**"])
def publish_post() -> None: ...


@pytest.fixture
def supernal(tmp_path: Path) -> ToolRegistry:
    registry = ToolRegistry(
        states={
            "project-loaded": DetectedState(
                lambda: (tmp_path / "supernal.yaml").exists(), description="A supernal project is loaded"
            ),
            "git-initialized": DetectedState(lambda: (tmp_path / ".git").exists()),
        }
    )
    for each in (list_, create, delete_user, publish_post):
        registry.register(each)
    return registry


def test_the_tools_of_the_seed_come_and_go_with_its_states(supernal: ToolRegistry, tmp_path: Path) -> None:
    assert names(supernal.tools()) == []
    (tmp_path / "supernal.yaml").touch()
    assert supernal.detect_current_states() == ["project-loaded"]
    assert names(supernal.tools_for_states(supernal.detect_current_states())) == ["requirement.list"]
    (tmp_path / ".git").mkdir()
    assert names(supernal.tools_for_states()) == ["requirement.list", "requirement.create"]
    assert {space: names(tools) for space, tools in supernal.by_namespace().items()} == {
        "requirement": ["requirement.list", "requirement.create"]
    }


def test_a_tool_of_a_page_is_there_on_that_page_only(supernal: ToolRegistry) -> None:
    assert names(supernal.tools(location={"page": "/blog"})) == ["publishPost"]
    assert names(supernal.tools_for_states([], location={"page": "/posts/2026/1"})) == ["publishPost"]
    assert names(supernal.tools(location={"page": "/users"})) == []
    with pytest.raises(StateError, match="a location has no `pages`"):
        supernal.tools(location={"pages": "/blog"})


def test_a_call_asks_the_same_decision_as_the_list(supernal: ToolRegistry, tmp_path: Path) -> None:
    with pytest.raises(HiddenToolError, match=r"`requirement.create`: state `project-loaded` does not hold"):
        asyncio.run(supernal.call("requirement.create", {"title": "x"}))
    with pytest.raises(HiddenToolError, match="switched off for AI"):
        asyncio.run(supernal.call("user.delete", {"name": "ada"}))
    with pytest.raises(HiddenToolError, match="no tool of this name is known here"):
        asyncio.run(supernal.call("requirement.burn"))
    (tmp_path / "supernal.yaml").touch()
    (tmp_path / ".git").mkdir()
    assert asyncio.run(supernal.call("requirement.create", {"title": "x"})) == "created x"
    assert asyncio.run(supernal.call("requirement.list")) == ["R1"]
    assert create.__name__ == "create"
    assert list_() == ["R1"]


def test_why_names_the_gate_and_what_is_missing(supernal: ToolRegistry, tmp_path: Path) -> None:
    why = supernal.why("requirement.list")
    assert why.decision.gate is Gate.STATE
    assert why.decision.full_reason == "needs state project-loaded (false: its detector says so)"
    assert why.decision.unlock == "make this true: A supernal project is loaded"
    off = supernal.why("user.delete").decision
    assert off.gate is Gate.POLICY
    assert off.unlock is not None
    assert off.unlock.startswith("set to true `ai_enabled` in ")
    assert off.unlock.endswith("test_tool_registry:delete_user")
    assert [gate for gate, result in why.gates if not result.passed] == [Gate.STATE]
    (tmp_path / "supernal.yaml").touch()
    assert supernal.why("requirement.list").decision.is_available
    unknown = supernal.why("requirement.lst")
    assert (unknown.tool, unknown.suggestions) == (None, ["requirement.list"])


@tool(name="till.pay", approval=True)
def pay() -> str:
    return "paid"


@tool(name="till.refund", danger="critical")
def refund() -> str:
    return "refunded"


@pytest.mark.parametrize(
    ("function", "because"),
    [(pay, "needs approval: `approval` in "), (refund, "it is `critical` (its definition says so)")],
)
def test_what_needs_approval_is_listed_and_explained_as_such(
    function: Callable[[], str], because: str
) -> None:
    registry = ToolRegistry()
    registry.register(function)
    (item,) = registry.listed()
    assert (item.decision.gate, item.decision.verdict) == (Gate.DANGER, Verdict.ASK)
    assert because in item.decision.full_reason
    assert registry.tools() == registry.tools_for_states([]) == [item.tool]
    why = registry.why(item.tool.name)
    assert why.decision == item.decision
    assert [gate for gate, result in why.gates if not result.passed or result.asks] == [Gate.DANGER]


@pytest.fixture
def here(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    shop = sandbox.project("shop")
    monkeypatch.chdir(shop)
    return shop


def refused(registry: ToolRegistry, **given: Any) -> NotApprovedError:
    with pytest.raises(NotApprovedError) as caught:
        asyncio.run(registry.call("till.pay", **given))
    return caught.value


def answer(place: Path, id: str | None, *, approve: bool) -> None:
    with open_registry() as registry:
        registry.approvals.answer(str(id), registry.at(str(place)), approve=approve)


@pytest.mark.parametrize("project", [None, "."])
def test_a_call_that_needs_approval_runs_once_after_a_person_approved_it(
    here: Path, project: str | None
) -> None:
    with ToolRegistry(project=project) as registry:
        registry.register(pay)
        waiting = refused(registry)
        assert waiting.hint == f"run `remit approve {waiting.approval_id}`, then call it again"
        assert refused(registry).approval_id == waiting.approval_id
        answer(here, waiting.approval_id, approve=True)
        assert asyncio.run(registry.call("till.pay")) == "paid"
        again = refused(registry)
        assert again.approval_id not in (None, waiting.approval_id)
        answer(here, again.approval_id, approve=False)
        denied = refused(registry)
        assert (denied.approval_id, denied.hint) == (None, None)
        assert str(denied).endswith(", and a person said no")


@pytest.mark.usefixtures("here")
def test_an_application_can_ask_its_own_user_about_a_call() -> None:
    words: list[bool | None] = [None, False, True]
    seen: list[str] = []

    async def ask(approval: Approval) -> bool | None:
        seen.append(approval.binding.tool)
        return words.pop(0)

    with ToolRegistry(project=".") as registry:
        registry.register(pay)
        assert refused(registry, ask=ask).approval_id is not None
        assert refused(registry, ask=ask).approval_id is None
        assert asyncio.run(registry.call("till.pay", ask=ask)) == "paid"
    assert seen == ["till.pay"] * 3


@pytest.mark.usefixtures("here")
def test_an_approval_is_for_the_program_that_asked_and_the_tool_as_it_is_defined(here: Path) -> None:
    with ToolRegistry() as registry, ToolRegistry() as changed:
        registry.register(pay)
        changed.register(pay, description="Pays twice.")
        answer(here, refused(registry).approval_id, approve=True)
        assert refused(changed).approval_id is not None
        assert refused(registry, principal="another").approval_id is not None
        assert asyncio.run(registry.call("till.pay")) == "paid"


def test_the_policy_of_a_project_counts_and_undoes_nothing_that_a_tool_says(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = sandbox.project("shop")
    rules = """
block = ["bell.ring"]
[tools."till.*"]
approval = false
ai_enabled = true
danger = "safe"
[tools."door.open"]
ai_enabled = false
[tools."door.shut"]
when = "git.repository"
"""
    sandbox.write(sandbox.home / ".config/remit/remit.toml", rules)
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    with ToolRegistry(project=str(shop)) as registry:
        for function in (pay, refund):
            registry.register(function)
        for name in ("bell.ring", "door.open", "door.shut"):
            registry.register(list, name=name)
        assert names(registry.tools()) == ["till.pay", "till.refund", "door.shut"]
        assert registry.why("till.pay").decision.verdict is Verdict.ASK
        # What a file says of a danger is a person's word, and counts before the tool's own.
        assert names(registry.tools_for_states([])) == ["till.pay", "till.refund", "door.shut"]
        assert registry.why("till.refund").decision.verdict is Verdict.VISIBLE


def test_a_projects_invalid_file_hides_every_tool_and_is_named_to_author_and_model(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shop = sandbox.project("shop")
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    file = sandbox.write(shop / "remit.toml", "block = 7\n")
    with ToolRegistry(project=str(shop)) as registry:
        registry.register(delete_user)
        assert registry.tools() == []
        reason = "a configuration file is invalid, so all tools are hidden until it is fixed: `remit.toml`"
        with pytest.raises(HiddenToolError, match=reason) as raised:
            asyncio.run(registry.call("user.delete", {"name": "Anna"}))
        assert raised.value.hint is not None
        (logged,) = caplog.messages  # once
        assert logged.startswith(f"{file}: ")
        assert "block: expected a list of texts, found a number; all tools are hidden" in logged
        sandbox.write(file, "allow = 7\n")
        assert registry.tools() == []
        assert "allow: expected a list of texts" in caplog.messages[-1]
        sandbox.write(file, "")
        assert registry.why("user.delete").decision.gate is Gate.POLICY  # by its own label alone
        assert len(caplog.messages) == 2


def test_a_registry_that_is_closed_says_so(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = sandbox.project("shop")
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    with ToolRegistry(project=str(shop)) as registry:
        registry.register(delete_user)
    with pytest.raises(StoreUnavailableError, match=r"^this registry is closed$"):
        registry.tools()


def test_a_registry_that_is_bound_to_a_project_has_its_states_and_rules(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = sandbox.project("shop")
    sandbox.write(
        shop / "remit.toml",
        """
[states.open]
file = "open.txt"
[tools."till.*"]
when = "git.repository"
states = ["open"]
""",
    )
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    (sandbox.root / "data").mkdir()

    def ring() -> str:
        return "ring"

    with ToolRegistry({"awake": lambda: True}, project=str(shop)) as registry:
        registry.register(ring, name="till.ring", required_states=["awake"], when="env.HOME != ''")
        registry.register(ring, name="bell.ring", required_states=["git-initialized"])
        assert names(registry.tools()) == ["bell.ring"]
        assert "open" in registry.why("till.ring").decision.reason
        (shop / "open.txt").touch()
        assert "env.HOME" in registry.why("till.ring").decision.full_reason
        assert "awake" in registry.detect_current_states()
        with pytest.raises(UnknownStateError) as caught:
            registry.register(ring, name="x", required_states=["opn"])
        assert caught.value.hint == "did you mean `open`?"


class Till:
    """A container of tools."""

    def __init__(self, sum_: int) -> None:
        self._sum = sum_

    @tool
    def total(self) -> int:
        """Tell what is in it."""
        return self._sum

    @tool(namespace="cash")
    @staticmethod
    def coins() -> list[int]:
        return [1, 2, 5]

    def count(self) -> int:
        return 0


def test_an_object_may_bring_many_tools() -> None:
    registry = ToolRegistry()
    assert registry.register_all(Till(7)) == ["cash.coins", "till.total"]
    assert asyncio.run(registry.call("till.total")) == 7
    found = registry.definition("till.total")
    assert found is not None
    assert found.description == "Tell what is in it."
    assert found.source.endswith("test_tool_registry:Till.total")


def test_mistakes_are_told_when_a_tool_is_registered(supernal: ToolRegistry) -> None:
    def act() -> None: ...

    with pytest.raises(UnknownStateError, match="no state is called `project-loadd`") as unknown:
        supernal.register(act, required_states=["project-loadd"])
    assert unknown.value.hint == "did you mean `project-loaded`?"
    with pytest.raises(ConditionError) as broken:
        supernal.register(act, when="state('project-loaded') &&")
    assert (broken.value.line, broken.value.column) == (1, 27)
    with pytest.raises(ConditionError, match="unknown state `x`") as misspelt:
        supernal.register(act, when="true && state('x')")
    assert misspelt.value.column == 9
    with pytest.raises(ConditionError, match="can never be available"):
        supernal.register(act, required_states=["git-initialized"], when="!state('git-initialized')")
    with pytest.raises(ConditionError, match="`pages` is empty"):
        supernal.register(act, location=LocationScope(pages=()))
    with pytest.raises(ToolError, match="two tools are called `publishPost`"):
        supernal.register(publish_post)
    with pytest.raises(ToolError, match="`a b` is not a valid tool name"):
        supernal.register(act, name="a b")
    with pytest.raises(ToolError, match="`dangerous` is not a known danger"):
        tool(danger="dangerous")
    with pytest.raises(UnknownStateError, match="no state is called `x`"):
        supernal.tools_for_states(["x"])
    assert supernal.definition("act") is None


def test_a_partial_or_an_object_is_a_tool_with_the_options_of_its_function() -> None:
    @tool(approval=True)
    def pay(amount: int, till: str) -> str:
        """Pay."""
        return f"{amount} into {till}"

    class Greeter:
        @tool(name="greet", danger="safe")
        async def __call__(self, name: str) -> str:
            """Greet somebody."""
            return f"Hello {name}"

    registry = ToolRegistry()
    registry.register(partial(partial(pay, till="a"), 3))
    registry.register(Greeter())
    paying, greeting = registry.definitions()
    assert (paying.name, paying.description, paying.approval) == ("pay", "Pay.", True)
    assert (greeting.name, greeting.description, greeting.danger) == ("greet", "Greet somebody.", "safe")
    assert asyncio.run(registry.call("greet", {"name": "Ada"})) == "Hello Ada"


def test_the_items_of_a_generator_are_its_result() -> None:
    def count(to: int) -> Iterator[int]:
        yield from range(to)

    async def count_slowly(to: int) -> AsyncIterator[int]:
        for each in range(to):
            yield each

    registry = ToolRegistry()
    for function in (count, count_slowly):
        registry.register(function)
        assert asyncio.run(registry.call(function.__name__, {"to": 3})) == [0, 1, 2]
