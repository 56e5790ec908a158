"""Tools that are defined in Python: which are available, and why."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from remit.decision import Gate, Verdict
from remit.decision.when import LocationScope
from remit.errors import (
    ArgumentsError,
    ConditionError,
    HiddenToolError,
    NotApprovedError,
    NotFoundError,
    StateError,
    StoreUnavailableError,
    ToolError,
)
from remit.files import locate
from remit.python_tools import (
    DefinedTool,
    DetectedState,
    StateAwareRegistry,
    ToolRegistry,
    location_scope,
    requires,
    tool,
)
from remit.store import Approval, Call, CallQuery, open_store


def names(tools: list[DefinedTool]) -> list[str]:
    return [tool.name for tool in tools]


def available(registry: ToolRegistry, **location: object) -> list[str]:
    return names(registry.tools(location or None))


def called(registry: ToolRegistry, name: str, /, **arguments: object) -> object:
    return asyncio.run(registry.call(name, arguments))


def requirement_list() -> list[str]:
    """List the requirements."""
    return ["R1"]


def requirement_create(title: str) -> str:
    return f"created {title}"


def user_delete(name: str) -> str:
    return f"deleted {name}"


def test_the_documents_registry_works_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    # 1. Define state-aware tool registry
    tool_registry = StateAwareRegistry(
        states={
            "project-loaded": {
                "description": "A supernal project is loaded",
                "detector": lambda: Path("supernal.yaml").exists(),
            },
            "git-initialized": {
                "description": "Git repository exists",
                "detector": lambda: Path(".git").exists(),
            },
        }
    )

    # 2. Register tools with state requirements
    tool_registry.register(
        requirement_list, {"requiredStates": ["project-loaded"], "namespace": "requirement", "name": "list"}
    )
    tool_registry.register(
        requirement_create,
        {
            "requiredStates": ["project-loaded", "git-initialized"],
            "aiEnabled": True,
            "dangerLevel": "moderate",
            "requiresApproval": True,
            "name": "requirement.create",
        },
    )
    tool_registry.register(
        user_delete, {"aiEnabled": False, "dangerLevel": "destructive", "name": "user.delete"}
    )

    # 3. MCP server uses current state
    assert tool_registry.detect_current_states() == []
    assert available(tool_registry) == []
    Path("supernal.yaml").touch()
    current_states = tool_registry.detect_current_states()
    assert current_states == ["project-loaded"]
    tools = tool_registry.get_tools_for_states(current_states)
    assert names(tools) == ["requirement.list"] == available(tool_registry)
    Path(".git").mkdir()
    tools = tool_registry.get_tools_for_states(tool_registry.detect_current_states())
    groups = tool_registry.group_by_namespace(tools)
    assert {namespace: names(group) for namespace, group in groups.items()} == {
        "requirement": ["requirement.list", "requirement.create"]
    }
    assert tool_registry.why("requirement.create").decision.verdict is Verdict.ASK
    assert tool_registry.why("user.delete").decision.gate is Gate.POLICY


def test_a_state_that_is_not_declared_as_it_should_be_is_refused() -> None:
    with pytest.raises(StateError, match="unknown key `detektor`") as misspelled:
        ToolRegistry({"open": {"detektor": lambda: True}})
    assert misspelled.value.hint == "did you mean `detector`?"
    with pytest.raises(StateError, match="state `open` needs a function as its `detector`"):
        ToolRegistry({"open": {"description": "The shop is open"}})
    with pytest.raises(StateError, match="in a circle"):
        ToolRegistry(
            {
                "a": DetectedState(lambda: True, implies=["b"]),
                "b": DetectedState(lambda: True, implies=["a"]),
            }
        )


def test_a_detector_may_be_async_and_states_imply_others() -> None:
    async def is_editing() -> bool:
        await asyncio.sleep(0)
        return True

    registry = ToolRegistry({"project.editing": DetectedState(is_editing, implies=["busy"])})
    registry.register(requirement_list, required_states=["project", "busy"])
    assert set(registry.detect_current_states()) == {"project.editing", "project", "busy"}
    assert names(registry.get_tools_for_states(["project.editing"])) == ["requirement_list"]
    assert registry.get_tools_for_states([]) == []
    with pytest.raises(NotFoundError, match="no state is called `bussy`"):
        registry.get_tools_for_states(["bussy"])


def test_a_detector_that_fails_or_cannot_tell_leaves_its_state_unknown() -> None:
    def broken() -> bool:
        raise ValueError("hunter2")

    def odd() -> bool:
        return cast(bool, "yes")

    registry = ToolRegistry({"broken": broken, "open": lambda: None, "odd": odd})
    for state in ("broken", "open", "odd"):
        registry.register(requirement_list, name=state, required_states=[state])
        registry.register(requirement_list, name=f"not_{state}", when=f"!state('{state}')")
    assert available(registry) == []
    assert "its detector failed: ValueError" in registry.why("broken").decision.full_reason
    assert "hunter2" not in str(registry.why("broken"))
    assert "its detector cannot tell" in registry.why("open").decision.full_reason
    assert "its detector said neither true nor false" in registry.why("odd").decision.full_reason


def test_a_detector_that_hangs_is_left_at_the_time_limit_and_not_started_twice() -> None:
    starts: list[int] = []
    may_end = threading.Event()

    def hangs() -> bool:
        starts.append(1)
        return may_end.wait()

    registry = ToolRegistry({"slow": hangs, "quick": lambda: True}, timeout=0.05)
    registry.register(requirement_list, required_states=["slow"])
    for _ in range(2):
        assert registry.detect_current_states() == ["quick"]
    reason = registry.why("requirement_list").decision.full_reason
    assert "its detector did not answer within 0.05 s" in reason
    may_end.set()
    assert starts == [1]


@tool(namespace="requirement")
@requires("project-loaded")
def list_() -> list[str]:
    """List the requirements."""
    return ["R1"]


@requires("git-initialized")
@requires("project-loaded")
@tool(name="requirement.create", danger="moderate")
async def create(title: str) -> str:
    return f"created {title}"


@tool(name="publishPost")
@location_scope(pages=["/blog", "/posts/**"])
def publish_post() -> None: ...


@pytest.fixture
def supernal(tmp_path: Path) -> ToolRegistry:
    loaded = DetectedState(
        lambda: (tmp_path / "supernal.yaml").exists(), description="A supernal project is loaded"
    )
    registry = ToolRegistry(
        {"project-loaded": loaded, "git-initialized": lambda: (tmp_path / ".git").exists()}
    )
    for function in (list_, create, publish_post):
        registry.register(function)
    return registry


def test_a_tool_of_a_page_is_available_on_that_page_only(supernal: ToolRegistry) -> None:
    assert available(supernal, page="/blog") == ["publishPost"]
    assert names(supernal.get_tools_for_states([], location={"page": "/posts/2026/1"})) == ["publishPost"]
    assert available(supernal, page="/users") == []
    with pytest.raises(StateError, match="a location has no `pages`"):
        available(supernal, pages="/blog")


def test_a_call_asks_the_same_decision_as_the_list(supernal: ToolRegistry, tmp_path: Path) -> None:
    with pytest.raises(HiddenToolError, match=r"`requirement.create`: state `project-loaded` does not hold"):
        called(supernal, "requirement.create", title="x")
    with pytest.raises(HiddenToolError, match="no tool of this name is known here"):
        called(supernal, "requirement.burn")
    (tmp_path / "supernal.yaml").touch()
    (tmp_path / ".git").mkdir()
    assert called(supernal, "requirement.create", title="x") == "created x"
    assert called(supernal, "requirement.list") == ["R1"]
    assert (create.__name__, list_()) == ("create", ["R1"])


def test_why_names_the_gate_and_what_is_missing(supernal: ToolRegistry, tmp_path: Path) -> None:
    why = supernal.why("requirement.list")
    assert why.decision.gate is Gate.STATE
    assert why.decision.full_reason == "needs state project-loaded (false: its detector says so)"
    assert why.decision.unlock == "make this true: A supernal project is loaded"
    assert [gate.gate for gate in why.gates if not gate.is_available] == [Gate.STATE]
    (tmp_path / "supernal.yaml").touch()
    assert supernal.why("requirement.list").decision.is_available
    assert list(supernal.why("requirement.lst").suggestions) == ["requirement.list"]


def test_a_rule_may_depend_on_the_arguments_of_a_call() -> None:
    registry = ToolRegistry()
    registry.register(requirement_create, name="create", when="args.title != 'secret'")
    assert available(registry) == ["create"]
    assert called(registry, "create", title="x") == "created x"
    with pytest.raises(HiddenToolError, match="these arguments are not allowed"):
        called(registry, "create", title="secret")


@tool(name="till.pay", approval=True)
def pay(amount: int = 1) -> str:
    return f"paid {amount}"


@tool(name="till.refund", danger="critical")
def refund() -> str:
    return "refunded"


@pytest.mark.parametrize(
    ("function", "because"),
    [(pay, "needs approval"), (refund, "it is `critical` (its definition says so)")],
)
def test_what_needs_approval_is_listed_and_explained_as_such(
    function: Callable[[], str], because: str
) -> None:
    registry = ToolRegistry()
    registry.register(function)
    (item,) = registry.listed()
    assert (item.decision.gate, item.decision.verdict) == (Gate.DANGER, Verdict.ASK)
    assert because in item.decision.full_reason
    assert registry.tools() == registry.get_tools_for_states([]) == [item.tool]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who is in a project."""
    for name in ("HOME", "REMIT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "REMIT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shop/.git").mkdir(parents=True)
    (tmp_path / ".config/remit").mkdir(parents=True)
    (tmp_path / ".local/share/remit").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path


def refused(registry: ToolRegistry, **options: Any) -> NotApprovedError:
    with pytest.raises(NotApprovedError) as caught:
        asyncio.run(registry.call("till.pay", **options))
    return caught.value


def answer(home: Path, id: str | None, *, approve: bool) -> None:
    with open_store(str(home / ".local/share/remit/remit.sqlite")) as store:
        workspace, now = locate(str(home / "shop")), time.time_ns() // 1_000_000
        assert store.approvals.answer(str(id), workspace, now, is_approved=approve) is not None


@pytest.mark.parametrize("project", [None, "."])
def test_a_call_that_needs_approval_runs_once_after_a_person_approved_it(
    home: Path, project: str | None
) -> None:
    with ToolRegistry(project=project) as registry:
        registry.register(pay)
        waiting = refused(registry)
        assert waiting.hint == f"run `remit approve {waiting.approval_id}`, then call it again"
        assert refused(registry).approval_id == waiting.approval_id
        answer(home, waiting.approval_id, approve=True)
        assert called(registry, "till.pay") == "paid 1"
        again = refused(registry)
        assert again.approval_id not in (None, waiting.approval_id)
        answer(home, again.approval_id, approve=False)
        denied = refused(registry)
        assert (denied.approval_id, denied.hint) == (None, None)
        assert str(denied).endswith(", and a person said no")


@pytest.mark.usefixtures("home")
def test_arguments_are_checked_before_a_person_is_asked() -> None:
    asked: list[Approval] = []

    async def ask(approval: Approval) -> bool | None:
        asked.append(approval)
        return True

    with ToolRegistry() as registry:
        registry.register(pay)
        with pytest.raises(ArgumentsError, match="no parameter `amont`"):
            asyncio.run(registry.call("till.pay", {"amont": 2}, ask=ask))
        assert asked == []
        assert asyncio.run(registry.call("till.pay", {"amount": 2}, ask=ask)) == "paid 2"
    assert [approval.shown for approval in asked] == ['{"amount": 2}']


@pytest.mark.usefixtures("home")
def test_an_application_can_ask_its_own_user_about_a_call() -> None:
    answers: list[bool | None] = [None, False, True]

    async def ask(approval: Approval) -> bool | None:
        assert approval.binding.tool == "till.pay"
        return answers.pop(0)

    with ToolRegistry(project=".") as registry:
        registry.register(pay)
        assert refused(registry, ask=ask).approval_id is not None
        assert refused(registry, ask=ask).approval_id is None
        assert asyncio.run(registry.call("till.pay", ask=ask)) == "paid 1"


def test_an_approval_is_for_the_program_that_asked_and_the_tool_as_it_is_defined(home: Path) -> None:
    with ToolRegistry() as registry, ToolRegistry() as changed:
        registry.register(pay)
        changed.register(pay, description="Pays twice.")
        answer(home, refused(registry).approval_id, approve=True)
        assert refused(changed).approval_id is not None
        assert refused(registry, caller="another").approval_id is not None
        assert called(registry, "till.pay") == "paid 1"


RULES = """
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


def test_the_rules_of_files_count_and_undo_nothing_that_a_tool_says(home: Path) -> None:
    (home / ".config/remit/remit.toml").write_text(RULES)
    with ToolRegistry(project=".") as registry:
        for function in (pay, refund):
            registry.register(function)
        for name in ("bell.ring", "door.open", "door.shut"):
            registry.register(requirement_list, name=name)
        assert available(registry) == ["till.pay", "till.refund", "door.shut"]
        assert registry.why("till.pay").decision.verdict is Verdict.ASK
        # What a file says of a danger is a person's word, and counts before the tool's own.
        assert registry.why("till.refund").decision.verdict is Verdict.VISIBLE


PROJECT = """
[states.open]
file = "open.txt"
[states.sold]
on = "till.ring"
[tools."till.*"]
when = "git.repository"
states = ["open"]
"""


def test_a_registry_of_a_project_has_its_states_and_rules(home: Path) -> None:
    (home / "shop/remit.toml").write_text(PROJECT)
    with ToolRegistry({"awake": lambda: True}, project=str(home / "shop")) as registry:
        registry.register(requirement_list, name="till.ring", required_states=["awake"])
        registry.register(requirement_list, name="bell.ring", required_states=["git-initialized"])
        registry.register(requirement_list, name="till.close", required_states=["sold"])
        assert available(registry) == ["bell.ring"]
        assert "open" in registry.why("till.ring").decision.reason
        (home / "shop/open.txt").touch()
        assert available(registry) == ["till.ring", "bell.ring"]
        assert set(registry.detect_current_states()) >= {"awake", "open", "git-initialized"}
        called(registry, "till.ring")
        assert available(registry) == ["till.ring", "bell.ring", "till.close"]
        with pytest.raises(NotFoundError) as caught:
            registry.register(requirement_list, name="x", required_states=["opn"])
        assert caught.value.hint == "did you mean `open`?"


def test_a_mistake_in_a_projects_file_is_told_to_its_author(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "shop/remit.toml").write_text("blok = []\n")
    with ToolRegistry(project=".") as registry:
        registry.register(pay)
        for _ in range(2):
            available(registry)
    assert len([record for record in caplog.records if "blok" in record.message]) == 1


def test_a_call_of_a_framework_is_recorded_in_the_project(home: Path) -> None:
    call = Call(1, "langchain", "langchain", None, None, "till.pay", "visible", None, "done")
    with ToolRegistry(project=".") as registry:
        registry.record(call)
    with open_store(str(home / ".local/share/remit/remit.sqlite")) as store:
        assert store.calls.find(CallQuery(), locate(str(home / "shop"))) == [call]


@pytest.mark.usefixtures("home")
def test_a_closed_registry_says_so() -> None:
    with ToolRegistry(project=".") as registry:
        registry.register(pay)
    with pytest.raises(StoreUnavailableError, match=r"^this registry is closed$"):
        registry.tools()


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
    assert called(registry, "till.total") == 7
    total = registry.definition("till.total")
    assert total is not None
    assert total.description == "Tell what is in it."
    assert total.source.endswith("test_registry:Till.total")


def test_mistakes_are_told_when_a_tool_is_registered(supernal: ToolRegistry) -> None:
    def act() -> None: ...

    def refusal(error: type[Exception], match: str, **options: Any) -> Any:
        with pytest.raises(error, match=match) as caught:
            supernal.register(act, **options)
        return caught.value

    unknown = refusal(NotFoundError, "no state is called `project-loadd`", required_states=["project-loadd"])
    assert unknown.hint == "did you mean `project-loaded`?"
    broken = refusal(ConditionError, "expected", when="state('project-loaded') &&")
    assert (broken.line, broken.column) == (1, 27)
    assert refusal(ConditionError, "unknown state `x`", when="true && state('x')").column == 9
    refusal(ConditionError, "`pages` is empty", location=LocationScope(pages=()))
    refusal(ToolError, "two tools are called `publishPost`", name="publishPost")
    refusal(ToolError, "`a b` is not a valid tool name", name="a b")
    refusal(ToolError, "`dangerous` is not a known danger", danger="dangerous")
    with pytest.raises(ToolError, match="unknown option `requiredState`") as misspelled:
        supernal.register(act, {"requiredState": ["project-loaded"]})
    assert "`requiredStates`" in (misspelled.value.hint or "")
    with pytest.raises(ToolError, match="`dangerous` is not a known danger"):
        tool(danger="dangerous")
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
    assert called(registry, "greet", name="Ada") == "Hello Ada"


def test_the_items_of_a_generator_are_its_result() -> None:
    def numbers(to: int) -> Iterator[int]:
        yield from range(to)

    async def slow_numbers(to: int) -> AsyncIterator[int]:
        for number in range(to):
            yield number

    registry = ToolRegistry()
    for function in (numbers, slow_numbers):
        registry.register(function)
        assert called(registry, function.__name__, to=3) == [0, 1, 2]
